// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The families of guilbaults' infiniband-exporter 0.0.6, of links that are Active. Data are words of 32 bits there. A counter that was read
// and is 0 has a sample here, so that its first increase can be seen; theirs has none.
#include <fmt/format.h>

#include <algorithm>
#include <compare>
#include <set>
#include <string>

#include "iba-gen/mad.hpp"
#include "iba-gen/pm.hpp"
#include "metrics/families.hpp"
#include "subnet/names.hpp"
#include "subnet/rate.hpp"

namespace ib::metrics {
namespace {

using subnet::PortIndex;

/// Whether a link still runs at the rate that the sweep found.
bool has_swept_rate(const View& view, PortIndex port, PortIndex peer) {
  return !view.states->has_other_rate(port) && !view.states->has_other_rate(peer);
}

bool is_active(const View& view, PortIndex port) {
  const PortStates::State state = view.states->of(port);
  return state.logical == static_cast<std::uint8_t>(smp::PortState::active) && state.is_link_up();
}

/// The labels of a port. The local GUID has no leading zeros, the remote one 16 digits, as ibqueryerrors prints them; so do names with
/// blanks at their ends.
Sample port_sample(const View& view, Item item, PortIndex port, PortIndex peer, Exposition& out) {
  const SweptFabric& fabric = *view.reading->fabric;
  const subnet::Port &here = fabric.subnet.port(port), &there = fabric.subnet.port(peer);
  return out.sample()
      .label("component", item.kind == Items::switches ? "switch" : "ca")
      .label("local_name", subnet::name_of(fabric.subnet.node(here.node), &fabric.names))
      .label("local_guid", fmt::format("0x{:x}", device_guid(fabric.subnet, port).value))
      .label("local_port", here.number)
      .label("remote_guid", device_guid(fabric.subnet, peer))
      .label("remote_port", there.number)
      .label("remote_name", subnet::name_of(fabric.subnet.node(there.node), &fabric.names));
}

void write_link_counter(const View& view, const Exported&, const Family& family, Item item, Exposition& out) {
  each_linked_row(view, item, [&](const PortRow& row, PortIndex peer) {
    if (!row.is_known(family.column) || !is_active(view, row.port)) return;
    port_sample(view, item, row.port, peer, out).value(row.value(family.column));
  });
}

void write_speed(const View& view, const Exported&, const Family&, Item item, Exposition& out) {
  constexpr double megabits_per_gigabit = 1000;
  each_linked_port(view, item, [&](PortIndex port, PortIndex peer) {
    subnet::Speed speed = subnet::active_rate(view.reading->fabric->subnet, port).speed;
    if (speed == subnet::Speed::unknown || !is_active(view, port) || !has_swept_rate(view, port, peer)) return;
    if (speed == subnet::Speed::fdr10) speed = subnet::Speed::qdr;  // ibqueryerrors does not distinguish them
    port_sample(view, item, port, peer, out).value(subnet::lane_mbps(speed) / megabits_per_gigabit);
  });
}

void write_width(const View& view, const Exported&, const Family&, Item item, Exposition& out) {
  each_linked_port(view, item, [&](PortIndex port, PortIndex peer) {
    const unsigned lanes = subnet::active_rate(view.reading->fabric->subnet, port).lanes;
    if (lanes == 0 || !is_active(view, port) || !has_swept_rate(view, port, peer)) return;
    port_sample(view, item, port, peer, out).value(std::uint64_t{lanes});
  });
}

bool is_whole(const std::vector<DeviceReading>& readings) { return std::ranges::none_of(readings, has_failed); }

void write_ok(const View& view, const Exported&, const Family&, Item, Exposition& out) {
  const bool ok = view.reading && is_whole(view.reading->switches) && is_whole(view.reading->hcas);
  out.sample().value(std::uint64_t{ok ? 1U : 0U});
}

void write_duration(const View& view, const Exported&, const Family&, Item, Exposition& out) {
  if (view.reading) out.sample().value(std::chrono::duration<double>(view.reading->took).count());
}

/// A request for counters that failed in a reading, in the words of ibqueryerrors, from whose stderr these labels come.
struct FailedRequest {
  std::string portid, name;  ///< "Lid 17"
  unsigned port{};
  auto operator<=>(const FailedRequest&) const = default;
};

/// The failed requests of a reading that `is_wanted` accepts, each once.
template <class IsWanted>
std::set<FailedRequest> failed_requests(const View& view, IsWanted is_wanted) {
  std::set<FailedRequest> found;
  if (!view.reading) return found;
  const SweptFabric& fabric = *view.reading->fabric;
  for (const subnet::Failure& failure : view.reading->failures) {
    if (failure.node == subnet::none || !is_wanted(failure)) continue;
    const subnet::Node& node = fabric.subnet.node(failure.node);
    const unsigned least = node.kind() == subnet::NodeKind::sw ? 0 : 1;
    const unsigned port = std::max(failure.port < 0 ? 0U : static_cast<unsigned>(failure.port), least);
    if (port >= node.slots) continue;
    const Lid lid = fabric.subnet.lid(fabric.subnet.end_port_of(node.first_port + port));
    found.insert({fmt::format("Lid {}", lid.value), std::string(subnet::name_of(node, &fabric.names)), port});
  }
  return found;
}

/// Nodes that did not answer.
void write_silent(const View& view, const Exported&, const Family&, Item, Exposition& out) {
  std::set<std::string> portids;
  for (const FailedRequest& request :
       failed_requests(view, [](const subnet::Failure& failure) { return failure.kind == subnet::Failure::Kind::no_answer; }))
    portids.insert(request.portid);
  for (const std::string& portid : portids) out.sample().label("portid", portid).value(std::uint64_t{1});
}

void write_failed_requests(const View& view, std::string_view attribute, std::string_view counter_name, Exposition& out) {
  const auto is_wanted = [attribute](const subnet::Failure& failure) { return failure.attribute == attribute; };
  for (const FailedRequest& request : failed_requests(view, is_wanted)) {
    out.sample()
        .label("counter_name", counter_name)
        .label("local_name", request.name)
        .label("portid", request.portid)
        .label("port", request.port)
        .value(std::uint64_t{1});
  }
}

void write_no_capabilities(const View& view, const Exported&, const Family&, Item, Exposition& out) {
  write_failed_requests(view, mad::ClassPortInfo::info().title, "classportinfo", out);
}

void write_no_counters(const View& view, const Exported&, const Family&, Item, Exposition& out) {
  write_failed_requests(view, pm::PortCounters::info().title, "IB_GSI_PORT_COUNTERS", out);
  write_failed_requests(view, pm::PortCountersExt::info().title, "IB_GSI_PORT_COUNTERS_EXT", out);
}

}  // namespace

void add_guilbaults_families(std::vector<Family>& to, const Exported& exported) {
  const Items items = exported.hcas ? Items::switches_and_hcas : Items::switches;
  constexpr std::uint8_t nodes = select_switch | select_hca;
  for (std::size_t at = 0; at < columns().size(); ++at) {
    const Column& column = columns()[at];
    if (column.guilbaults.empty() || (column.source != Source::counters && !exported.details)) continue;
    const auto by = static_cast<std::uint8_t>(nodes | (column.is_traffic ? select_data : select_errors));
    to.push_back({fmt::format("infiniband_{}_total", column.guilbaults), fmt::format("{}.", column.help), Type::counter, items, by,
                  write_link_counter, at});
  }
  to.push_back({"infiniband_speed", "Gb/s of a lane.", Type::gauge, items, nodes, write_speed});
  to.push_back({"infiniband_width", "Lanes of the link.", Type::gauge, items, nodes, write_width});
  to.push_back({"infiniband_scrape_ok", "1 if all devices were read.", Type::gauge, Items::exporter, 0, write_ok});
  to.push_back({"infiniband_scrape_duration_seconds", "Time that the last reading took.", Type::gauge, Items::exporter, 0, write_duration});
  to.push_back({"infiniband_ibqueryerrors_duration_seconds", "Time that the last reading took: ibqueryerrors is not run.", Type::gauge,
                Items::exporter, 0, write_duration});
  const auto failed = [&](std::string_view name, std::string_view help, WriteItem write) {
    to.push_back({std::string(name), std::string(help), Type::gauge, Items::exporter, 0, write});
  };
  failed("infiniband_mad_rpc_failed_error", "1: the port did not answer.", write_silent);
  failed("infiniband_query_cap_mask_error", "1: ClassPortInfo was not read.", write_no_capabilities);
  failed("infiniband_print_error", "1: PortCounters or PortCountersExtended was not read.", write_no_counters);
}

}  // namespace ib::metrics
