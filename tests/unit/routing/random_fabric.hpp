// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Random fabrics with random faults, and a walk of single packets along the cables of the model. It knows nothing of lib/routing but the
// names of faults, and so is a second opinion on it.
#pragma once

#include <algorithm>
#include <map>
#include <optional>
#include <random>
#include <set>

#include "unit/routing/made_fabric.hpp"

namespace ibtest {

using ib::Lid;
using ib::routing::Fault;
using ib::routing::LinearTables;
using ib::routing::Network;
using ib::routing::SwitchIndex;
using ib::subnet::PortIndex;

using Random = std::mt19937;

inline unsigned below(Random& random, unsigned limit) { return static_cast<unsigned>(random() % limit); }

/// A fabric, and which entries of its tables were read.
struct RandomFabric : MadeFabric {
  std::set<std::size_t> cut;  ///< switches of whose tables only the entries in lft were read

  LinearTables read_tables() const {
    LinearTables found(switches.size(), Lid{static_cast<std::uint16_t>(last_lid)});
    for (std::size_t at = 0; at < switches.size(); ++at) {
      if (!cut.contains(at)) found.clear(static_cast<SwitchIndex>(at));
    }
    for (const auto& [key, port] : lft)
      found.set_entry(static_cast<SwitchIndex>(key.first), Lid{static_cast<std::uint16_t>(key.second)}, static_cast<std::uint8_t>(port));
    return found;
  }
  std::size_t switch_of(ib::subnet::NodeIndex node) const {
    return static_cast<std::size_t>(std::ranges::find(switches, node) - switches.begin());
  }
};

/// The free ports of the switches, in random order.
class FreePorts {
 public:
  FreePorts(const RandomFabric& fabric, Random& random) {
    for (std::size_t at = 0; at < fabric.switches.size(); ++at) {
      for (unsigned port = 1; port <= fabric.subnet.node(fabric.switches[at]).info.num_ports; ++port) free_.emplace_back(at, port);
    }
    std::shuffle(free_.begin(), free_.end(), random);
  }
  std::optional<std::pair<std::size_t, unsigned>> take() {
    if (free_.empty()) return std::nullopt;
    const auto one = free_.back();
    free_.pop_back();
    return one;
  }

 private:
  std::vector<std::pair<std::size_t, unsigned>> free_;
};

inline void cable(RandomFabric& fabric, Random& random) {
  const unsigned switches = 1 + below(random, 7);
  for (unsigned at = 0; at < switches; ++at) fabric.add_switch(2 + below(random, 7));
  unsigned lid = 1 + below(random, 3);
  for (std::size_t at = 0; at < switches; ++at) {
    if (below(random, 4) != 0) fabric.set_switch_lid(at, lid++);
  }
  FreePorts ports(fabric, random);
  for (unsigned hosts = below(random, 9); hosts > 0; --hosts) {
    const auto port = ports.take();
    if (!port) break;
    const unsigned lmc = below(random, 5) == 0 ? 1 + below(random, 2) : 0;
    lid = (lid + (1U << lmc) - 1) & ~((1U << lmc) - 1);
    fabric.add_host(port->first, port->second, lid, lmc);
    lid += 1U << lmc;
  }
  for (unsigned links = below(random, 14); links > 0; --links) {
    const auto one = ports.take(), other = ports.take();
    if (!one || !other) break;
    if (one->first != other->first) fabric.link_switches(one->first, one->second, other->first, other->second);
    if (below(random, 12) == 0) fabric.set_port(fabric.switches[one->first], one->second, 0, 0, ib::smp::PortState::init);
  }
  if (below(random, 6) == 0) {  // a cable between two hosts
    const auto one = fabric.add_node(ib::smp::NodeType::channel_adapter, 1), other = fabric.add_node(ib::smp::NodeType::router, 1);
    fabric.link(one, 1, other, 1);
    fabric.set_port(one, 1, lid++);
    fabric.set_port(other, 1, lid++);
  }
}

/// Shortest ways with some wrong entries, or nothing but random entries.
inline void route(RandomFabric& fabric, Random& random) {
  const Network network(fabric.subnet);
  LinearTables shortest(fabric.switches.size(), Lid{static_cast<std::uint16_t>(fabric.last_lid)});
  route_shortest(network, shortest);
  const unsigned wrong = below(random, 3) == 0 ? 1 : 4 + below(random, 60);  // one entry of so many
  for (std::size_t at = 0; at < fabric.switches.size(); ++at) {
    const unsigned ports = fabric.subnet.node(fabric.switches[at]).info.num_ports;
    for (unsigned lid = 1; lid <= fabric.last_lid; ++lid) {
      const std::uint8_t port = shortest.out_port(static_cast<SwitchIndex>(at), Lid{static_cast<std::uint16_t>(lid)});
      if (below(random, wrong) == 0) {
        const unsigned any = below(random, ports + 3);
        if (any <= ports + 1) fabric.lft[{at, lid}] = any;
      } else if (port != LinearTables::no_entry) {
        fabric.lft[{at, lid}] = port;
      }
    }
    if (below(random, 8) == 0) fabric.cut.insert(at);
  }
}

/// Where a packet went.
struct Walk {
  Fault fault = Fault::arrives;
  PortIndex at{};                  ///< the port where it ended
  std::vector<PortIndex> senders;  ///< the ports that sent it
  std::vector<std::size_t> cycle;  ///< of switches, the lowest first
  std::size_t links = 0;
  std::size_t before_cycle{};  ///< how many ports had sent it before it came into the cycle
};

class Walker {
 public:
  explicit Walker(const RandomFabric& fabric) : fabric_(fabric), subnet_(fabric.subnet) {}

  Walk walk(PortIndex from, Lid dlid) const {
    Walk way;
    const PortIndex owner = subnet_.find_lid(dlid);
    std::map<std::size_t, std::size_t> seen;  // switches, and how many ports had sent before
    std::vector<std::size_t> order;
    bool at_switch = is_switch(subnet_.port(from).node);
    PortIndex here = from;  // the port that sends next, or port 0 of the switch that holds the packet
    for (;;) {
      if (at_switch) {
        const ib::subnet::NodeIndex node = subnet_.port(here).node;
        const PortIndex port0 = subnet_.node(node).first_port;
        if (owner == port0) return way;
        const std::size_t at = fabric_.switch_of(node);
        if (seen.contains(at)) return looped(way, seen, order, at);
        seen[at] = way.senders.size();
        order.push_back(at);
        const auto entry = fabric_.lft.find({at, dlid.value});
        const bool known = entry != fabric_.lft.end();
        if (!known && fabric_.cut.contains(at)) return ended(way, Fault::not_read, port0);
        if (!known || entry->second > subnet_.node(node).info.num_ports) return ended(way, Fault::no_entry, port0);
        if (entry->second == 0) return ended(way, Fault::wrong_node, port0);
        here = port0 + entry->second;
      }
      const PortIndex peer = subnet_.port(here).peer;
      if (peer == ib::subnet::none || !is_active(here) || !is_active(peer)) return ended(way, Fault::dead_port, here);
      way.senders.push_back(here);
      ++way.links;
      at_switch = is_switch(subnet_.port(peer).node);
      if (!at_switch) {
        if (peer == owner) return way;
        return ended(way, Fault::wrong_node, here);
      }
      here = peer;
    }
  }

 private:
  bool is_switch(ib::subnet::NodeIndex node) const { return subnet_.node(node).kind() == ib::subnet::NodeKind::sw; }
  bool is_active(PortIndex port) const { return !subnet_.port(port).has_info || subnet_.port(port).state() == ib::smp::PortState::active; }

  static Walk ended(Walk way, Fault fault, PortIndex at) {
    way.fault = fault;
    way.at = at;
    return way;
  }
  static Walk looped(Walk way, const std::map<std::size_t, std::size_t>& seen, const std::vector<std::size_t>& order, std::size_t at) {
    way.fault = Fault::loop;
    way.cycle.assign(std::ranges::find(order, at), order.end());
    std::ranges::rotate(way.cycle, std::ranges::min_element(way.cycle));
    way.before_cycle = seen.at(at);
    return way;
  }

  const RandomFabric& fabric_;
  const ib::subnet::Subnet& subnet_;
};

}  // namespace ibtest
