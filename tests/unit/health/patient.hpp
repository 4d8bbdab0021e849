// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// A fabric for the checks of lib/health, whose ports count what a test says.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "counters/row.hpp"
#include "health/diagnosis.hpp"
#include "iba-gen/pm.hpp"
#include "iba/registry.hpp"
#include "support/fake_fabric.hpp"
#include "unit/subnet/swept.hpp"

namespace ibtest {

/// A spine, two leaves at its ports 1 and 2, two hosts at ports 1 and 2 of each leaf, whose port 3 leads to the spine. All links are 4x
/// QDR. A subnet manager runs on the spine, another one on host0. Change `fabric`, then sweep(), then count(), then examine().
struct Patient {
  static constexpr FakeFabric::NodeId spine = 0, leaf0 = 1, host0 = 2, host1 = 3, leaf1 = 4, host2 = 5, host3 = 6;

  FakeFabric fabric = FakeFabric::fat_tree(2, 1, 2);
  ib::health::Thresholds thresholds;
  std::unique_ptr<Swept> swept;
  std::unique_ptr<ib::health::Input> input;
  std::map<ib::subnet::PortIndex, ib::health::PortChanges> counts;

  ib::smp::PortInfo& info(FakeFabric::NodeId node, unsigned port) { return fabric.node(node).ports.at(port).info; }

  /// Has all ends of all links support and run at EDR.
  void make_edr() {
    for (FakeFabric::NodeId id = 0; id < fabric.size(); ++id) {
      for (FakeFabric::Port& port : fabric.node(id).ports) {
        port.info.capability_mask |= ib::smp::capability_mask::is_extended_speeds_supported;
        port.info.link_speed_ext_supported = port.info.link_speed_ext_enabled = 3;
        port.info.link_speed_ext_active = 2;
      }
    }
  }

  /// Every linked port is read twice, `seconds` apart.
  void sweep(double seconds = 10) {
    sweep_alone(seconds);
    input->source(ib::health::Source::managers) = {};
    const auto is_seen = [this](FakeFabric::NodeId node) {
      return swept->subnet.find_node(fabric.node(node).info.node_guid) != ib::subnet::none;
    };
    if (is_seen(spine)) manage(spine, 0, ib::smp::SMState::master, 5);
    if (is_seen(host0)) manage(host0, 1, ib::smp::SMState::standby, 4);
  }
  /// Like sweep(), in a fabric of another form: the subnet managers are not looked at.
  void sweep_alone(double seconds = 10) {
    swept = std::make_unique<Swept>(fabric);
    input = std::make_unique<ib::health::Input>(swept->subnet, swept->failures, thresholds);
    input->source(ib::health::Source::managers).state = ib::health::CheckState::skipped;
    for (ib::subnet::PortIndex at = 0; at < swept->subnet.ports().size(); ++at) {
      if (swept->subnet.port(at).peer == ib::subnet::none) continue;
      counts[at].port = at;
      counts[at].seconds = seconds;
    }
  }
  /// Adds a subnet manager that told its SMInfo.
  ib::health::Manager& manage(FakeFabric::NodeId node, unsigned number, ib::smp::SMState state, unsigned priority) {
    ib::health::Manager manager;
    manager.port = port(node, number);
    manager.info.guid = swept->subnet.port_guid(manager.port);
    manager.info.sm_state = state;
    manager.info.priority = static_cast<std::uint8_t>(priority);
    input->managers.push_back(manager);
    return input->managers.back();
  }
  ib::subnet::PortIndex port(FakeFabric::NodeId node, unsigned number) const {
    const FakeFabric& of = fabric;
    return swept->subnet.port_of(swept->subnet.find_node(const_cast<FakeFabric&>(of).node(node).info.node_guid), number);
  }

  static const ib::FieldInfo& counter(std::string_view name) {
    if (const ib::counters::CounterInfo* known = ib::counters::find_counter(name); known != nullptr && known->narrow != nullptr)
      return *known->narrow;
    for (const ib::StructInfo* details : {&ib::pm::PortRcvErrorDetails::info(), &ib::pm::PortXmitDiscardDetails::info(),
                                          &ib::pm::PortExtendedSpeedsCountersRsFec::info(), &ib::pm::PortExtendedSpeedsCounters::info()}) {
      if (const ib::FieldInfo* field = ib::find_field(*details, name); field != nullptr) return *field;
    }
    throw std::invalid_argument("no counter is called " + std::string(name));
  }
  ib::health::CounterChange& count(FakeFabric::NodeId node, unsigned number, std::string_view name, std::uint64_t delta) {
    std::vector<ib::health::CounterChange>& changes = counts.at(port(node, number)).changes;
    changes.push_back({ib::counters::ChangeKind::counted, delta, &counter(name), 0, delta});
    return changes.back();
  }

  /// A counter that was cleared, and holds `now` again.
  ib::health::CounterChange& clear(FakeFabric::NodeId node, unsigned number, std::string_view name, std::uint64_t was, std::uint64_t now) {
    ib::health::CounterChange& change = count(node, number, name, now);
    change.kind = ib::counters::ChangeKind::reset;
    change.delta.reset();
    change.before = was;
    return change;
  }
  /// A counter that was full at both readings.
  ib::health::CounterChange& fill(FakeFabric::NodeId node, unsigned number, std::string_view name, std::uint64_t most) {
    ib::health::CounterChange& change = count(node, number, name, most);
    change.kind = ib::counters::ChangeKind::saturated;
    change.delta.reset();
    change.before = most;
    change.is_full = true;
    return change;
  }
  /// Reads a port without a link, which sweep() leaves out.
  void read(FakeFabric::NodeId node, unsigned number, double seconds = 10) {
    ib::health::PortChanges& of = counts[port(node, number)];
    of.port = port(node, number);
    of.seconds = seconds;
  }

  ib::health::Diagnosis examine() {
    for (auto& [at, of] : counts) input->counts.add(of);
    return ib::health::examine(*input, {});
  }
  /// The checks of the findings, in their order.
  std::vector<std::string> found() { return checks_of(examine()); }
  static std::vector<std::string> checks_of(const ib::health::Diagnosis& diagnosis) {
    std::vector<std::string> ids;
    for (const ib::health::Finding& finding : diagnosis.findings) ids.emplace_back(finding.check->id);
    return ids;
  }
};

using Found = std::vector<std::string>;

}  // namespace ibtest
