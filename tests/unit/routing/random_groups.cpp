// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Random multicast tables on random fabrics: faults of groups are those that a walk of copies along the cables of the model meets.
#include <tuple>

#include "routing/multicast.hpp"
#include "support/catch.hpp"
#include "unit/routing/random_fabric.hpp"

namespace routing_random_groups_tests {

using namespace ib;
using namespace ib::routing;
using ibtest::PortIndex;
using ibtest::Random;
using ibtest::RandomFabric;

namespace {

constexpr Lid group{0xc001};

/// A fabric, and the ports of one group by switch.
struct Site {
  explicit Site(Random& random) : made(random), network(made.subnet), tables(network.switches().size()) {
    const unsigned one_of = 1 + ibtest::below(random, 4);
    for (std::size_t at = 0; at < made.switches.size(); ++at) {
      const subnet::NodeIndex node = made.switches[at];
      PortSet ports;
      for (unsigned port = 1; port <= made.subnet.node(node).info.num_ports; ++port) {
        const bool has_link = made.subnet.port(made.subnet.node(node).first_port + port).peer != subnet::none;
        if (ibtest::below(random, has_link ? one_of : 30) != 0) continue;
        ports.add(port);
        entry[at].insert(made.subnet.node(node).first_port + port);
      }
      tables.set_known(static_cast<SwitchIndex>(at));
      if (entry.contains(at)) tables.add(static_cast<SwitchIndex>(at), group, ports);
    }
    tables.finish();
  }
  struct Made : RandomFabric {
    explicit Made(Random& random) { ibtest::cable(*this, random); }
  } made;
  Network network;
  MulticastTables tables;
  std::map<std::size_t, std::set<PortIndex>> entry;  ///< output ports by switch
};

bool carries(const subnet::Subnet& subnet, PortIndex port) {
  const PortIndex peer = subnet.port(port).peer;
  const auto is_bad = [&subnet](PortIndex of) { return subnet.port(of).has_info && subnet.port(of).state() == smp::PortState::init; };
  return peer != subnet::none && !is_bad(port) && !is_bad(peer);
}

/// The host ports that get a copy of what `from` sends, and whether a copy comes to a switch that another one reached before.
std::set<PortIndex> receivers(const Site& site, PortIndex from) {
  const subnet::Subnet& subnet = site.made.subnet;
  std::set<PortIndex> got, sent{from};
  std::vector<PortIndex> queue{from};
  while (!queue.empty()) {
    const PortIndex sender = queue.back();
    queue.pop_back();
    if (!carries(subnet, sender)) continue;
    const PortIndex in = subnet.port(sender).peer;
    const subnet::NodeIndex node = subnet.port(in).node;
    if (subnet.node(node).kind() != subnet::NodeKind::sw) {
      got.insert(in);
      continue;
    }
    const auto entry = site.entry.find(site.made.switch_of(node));
    if (entry == site.entry.end()) continue;
    for (const PortIndex out : entry->second) {
      if (out != in && sent.insert(out).second) queue.push_back(out);
    }
  }
  return got;
}

/// Whether the links that entries name make a tree, or several: each takes two parts together that were apart.
bool is_forest(const Site& site) {
  const subnet::Subnet& subnet = site.made.subnet;
  std::map<std::size_t, std::size_t> part;
  for (const auto& [at, ports] : site.entry) part[at] = at;
  std::set<std::set<PortIndex>> links;
  for (const auto& [at, ports] : site.entry) {
    for (const PortIndex port : ports) {
      if (!carries(subnet, port) || subnet.node(subnet.port(subnet.port(port).peer).node).kind() != subnet::NodeKind::sw) continue;
      const std::size_t other = site.made.switch_of(subnet.port(subnet.port(port).peer).node);
      if (!part.contains(other) || !links.insert({port, subnet.port(port).peer}).second) continue;
      const std::size_t from = part[at], to = part[other];
      if (from == to) return false;
      for (auto& [any, of] : part) of = of == from ? to : of;
    }
  }
  return true;
}

/// The members as the entries tell them.
std::vector<PortIndex> members(const Site& site) {
  std::vector<PortIndex> found;
  for (const auto& [at, ports] : site.entry) {
    for (const PortIndex port : ports) {
      const PortIndex peer = site.made.subnet.port(port).peer;
      if (carries(site.made.subnet, port) && site.made.subnet.lid(peer).value != 0 &&
          site.made.subnet.node(site.made.subnet.port(peer).node).kind() != subnet::NodeKind::sw)
        found.push_back(peer);
    }
  }
  return found;
}

}  // namespace

TEST_CASE("faults of random groups are those that single packets meet") {
  Random random(11);
  std::map<Fault, unsigned> met;
  for (unsigned round = 0; round < 400; ++round) {
    CAPTURE(round);
    const Site site(random);
    const subnet::Subnet& subnet = site.made.subnet;
    Multicast multicast(site.network, site.tables, {});
    multicast.add(group);
    std::uint64_t lost = 0;
    const std::vector<PortIndex> ends = members(site);
    for (const PortIndex from : ends) {
      const std::set<PortIndex> got = receivers(site, from);
      for (const PortIndex to : ends) lost += to != from && !got.contains(to) ? 1 : 0;
    }
    std::set<PortIndex> dead;
    std::set<std::size_t> without;
    for (const auto& [at, ports] : site.entry) {
      for (const PortIndex port : ports) {
        if (!carries(subnet, port)) {
          dead.insert(port);
        } else if (const subnet::NodeIndex node = subnet.port(subnet.port(port).peer).node;
                   subnet.node(node).kind() == subnet::NodeKind::sw) {
          if (!site.entry.contains(site.made.switch_of(node))) without.insert(site.made.switch_of(node));
        }
      }
    }
    bool has_loop = false;
    std::uint64_t found_lost = 0;
    std::set<PortIndex> found_dead;
    std::set<std::size_t> found_without;
    for (const Cause* cause : multicast.findings()) {
      ++met[cause->fault];
      CHECK(cause->lids == std::vector<std::uint16_t>{group.value});
      if (cause->fault == Fault::loop) has_loop = true;
      if (cause->fault == Fault::not_reached) found_lost += cause->pairs;
      if (cause->fault == Fault::dead_port) found_dead.insert(site.network.port_of(cause->port_id));
      if (cause->fault == Fault::no_entry) found_without.insert(site.network.switch_at(cause->port_id));
    }
    CHECK(has_loop == !is_forest(site));
    CHECK(multicast.is_tree(group) == !has_loop);
    CHECK(found_lost == lost);
    CHECK(found_dead == dead);
    CHECK(found_without == without);
    CHECK(multicast.not_read().empty());
  }
  CHECK(met.size() == 4);
}

}  // namespace routing_random_groups_tests
