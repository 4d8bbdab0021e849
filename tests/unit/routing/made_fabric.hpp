// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Models of subnets made by hand, with tables that a test fills or that are computed for shortest ways.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <utility>
#include <vector>

#include "base/bytes.hpp"
#include "routing/network.hpp"
#include "routing/tables.hpp"
#include "routing/unicast.hpp"
#include "subnet/model/model.hpp"

namespace ibtest {

struct MadeFabric {
  ib::subnet::Subnet subnet;
  std::vector<ib::subnet::NodeIndex> switches;               ///< in the order in which they were added
  std::map<std::pair<std::size_t, unsigned>, unsigned> lft;  ///< output ports by switch (its place in `switches`) and LID
  unsigned last_lid = 0;

  ib::subnet::NodeIndex add_node(ib::smp::NodeType type, unsigned ports) {
    ib::smp::NodeInfo info;
    info.node_type = type;
    info.num_ports = static_cast<std::uint8_t>(ports);
    info.node_guid = ib::Guid{0x1000 + subnet.nodes().size()};
    info.port_guid = info.node_guid;
    return subnet.add_node(info);
  }
  std::size_t add_switch(unsigned ports) {
    switches.push_back(add_node(ib::smp::NodeType::switch_, ports));
    return switches.size() - 1;
  }
  void set_port(ib::subnet::NodeIndex node, unsigned number, unsigned lid, unsigned lmc = 0,
                ib::smp::PortState state = ib::smp::PortState::active) {
    std::array<std::uint8_t, 64> info{};
    info[16] = static_cast<std::uint8_t>(lid >> 8);
    info[17] = static_cast<std::uint8_t>(lid);
    info[32] = static_cast<std::uint8_t>(state);
    info[33] = 0x50;
    info[34] = static_cast<std::uint8_t>(lmc);
    subnet.set_port_info(subnet.node(node).first_port + number, info);
    last_lid = std::max(last_lid, lid + (1U << lmc) - 1);
  }
  void set_switch_lid(std::size_t at, unsigned lid) { set_port(switches[at], 0, lid); }
  void link(ib::subnet::NodeIndex a, unsigned port_a, ib::subnet::NodeIndex b, unsigned port_b) {
    subnet.link(subnet.node(a).first_port + port_a, subnet.node(b).first_port + port_b);
  }
  void link_switches(std::size_t a, unsigned port_a, std::size_t b, unsigned port_b) { link(switches[a], port_a, switches[b], port_b); }
  /// Adds a host (or router) at a port of a switch.
  ib::subnet::NodeIndex add_host(std::size_t at, unsigned port, unsigned lid, unsigned lmc = 0,
                                 ib::smp::NodeType type = ib::smp::NodeType::channel_adapter) {
    const ib::subnet::NodeIndex node = add_node(type, 1);
    link(node, 1, switches[at], port);
    set_port(node, 1, lid, lmc);
    return node;
  }
  void describe(ib::subnet::NodeIndex node, std::string_view text) {
    std::copy(text.begin(), text.end(), subnet.node(node).description_bytes.begin());
    subnet.node(node).has_description = true;
  }

  /// The tables as lft has them. All are read.
  ib::routing::LinearTables tables() const {
    ib::routing::LinearTables found(switches.size(), ib::Lid{static_cast<std::uint16_t>(last_lid)});
    for (std::size_t at = 0; at < switches.size(); ++at) found.clear(static_cast<std::uint32_t>(at));
    for (const auto& [key, port] : lft)
      found.set_entry(static_cast<std::uint32_t>(key.first), ib::Lid{static_cast<std::uint16_t>(key.second)},
                      static_cast<std::uint8_t>(port));
    return found;
  }
};

/// Fills tables with shortest ways. Of several ports with ways of one length, the one whose turn it is by the LID.
inline void route_shortest(const ib::routing::Network& network, ib::routing::LinearTables& tables) {
  using namespace ib::routing;
  const std::vector<DestinationLid> destinations = network.destinations(true);
  const Distances distances(network, destinations);
  for (SwitchIndex at = 0; at < network.switches().size(); ++at) tables.clear(at);
  std::vector<std::uint8_t> ports;
  for (const DestinationLid& to : destinations) {
    const SwitchIndex end = to.is_switch() ? to.at : network.hosts()[to.host].leaf;
    if (end == none) continue;
    for (SwitchIndex at = 0; at < network.switches().size(); ++at) {
      if (at == end) {
        tables.set_entry(at, to.lid, to.is_switch() ? std::uint8_t{0} : network.hosts()[to.host].leaf_port);
        continue;
      }
      ports.clear();
      for (unsigned port = 1; port < network.switches()[at].slots; ++port) {
        const Wire& wire = network.wire(network.port_id(at, port));
        if (wire.to == Wire::To::switch_port && distances.between(wire.index, end) + 1 == distances.between(at, end))
          ports.push_back(static_cast<std::uint8_t>(port));
      }
      if (!ports.empty()) tables.set_entry(at, to.lid, ports[to.lid.value % ports.size()]);
    }
  }
}

/// A fat tree of three levels of switches of 2k ports (k down, k up), all of its pods or `pods` of them: k·k hosts a pod.
inline void make_fat_tree(MadeFabric& made, unsigned k, unsigned pods) {
  std::vector<std::size_t> cores;
  unsigned lid = 1;
  for (unsigned i = 0; i < k * k; ++i) cores.push_back(made.add_switch(2 * k));
  for (unsigned pod = 0; pod < pods; ++pod) {
    std::vector<std::size_t> leaves, spines;
    for (unsigned i = 0; i < k; ++i) leaves.push_back(made.add_switch(2 * k));
    for (unsigned i = 0; i < k; ++i) spines.push_back(made.add_switch(2 * k));
    for (unsigned i = 0; i < k; ++i) {
      for (unsigned j = 0; j < k; ++j) {
        made.link_switches(leaves[i], k + 1 + j, spines[j], 1 + i);
        made.link_switches(spines[i], k + 1 + j, cores[i * k + j], 1 + pod);
        made.add_host(leaves[i], 1 + j, lid++);
      }
    }
  }
  for (std::size_t at = 0; at < made.switches.size(); ++at) made.set_switch_lid(at, lid++);
}

}  // namespace ibtest
