// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// What each link carries. Counted beside it: every pair is followed alone.
#include "routing/unicast.hpp"

#include <map>
#include <set>

#include "support/catch.hpp"
#include "unit/routing/made_fabric.hpp"

namespace routing_load_tests {

using namespace ib;
using namespace ib::routing;
using ibtest::MadeFabric;

namespace {

struct Counted {
  std::uint64_t routes{};
  std::set<unsigned> lids;
};

/// Follows each pair of hosts alone.
std::map<PortId, Counted> follow_all(const Network& network, const LinearTables& tables) {
  std::map<PortId, Counted> found;
  for (const DestinationLid& to : network.destinations(false)) {
    for (HostIndex from = 0; from < network.hosts().size(); ++from) {
      if (from == to.host) continue;
      std::vector<PortId> way{network.port_id_of_host(from)};
      for (int i = 0; i < 20; ++i) {
        const Wire& wire = network.wire(way.back());
        if (wire.to != Wire::To::switch_port) break;
        const unsigned port = tables.out_port(wire.index, to.lid);
        if (port == 255 || port >= network.switches()[wire.index].slots) break;
        way.push_back(network.port_id(wire.index, port));
      }
      const Wire& end = network.wire(way.back());
      if (end.to != Wire::To::host || end.index != to.host) continue;
      for (const PortId port_id : way) {
        ++found[port_id].routes;
        found[port_id].lids.insert(to.lid.value);
      }
    }
  }
  return found;
}

void check_load(const MadeFabric& made, LinearTables tables) {
  const Network network(made.subnet);
  Load load(network);
  RouteTree tree(network, tables, false);
  for (const DestinationLid& to : network.destinations(false)) {
    tree.find(to);
    load.add(tree);
  }
  load.finish();
  std::map<PortId, Counted> counted = follow_all(network, tables);
  for (PortId port_id = 0; port_id < network.port_id_count(); ++port_id) {
    CAPTURE(port_id);
    CHECK(load.routes(port_id) == counted[port_id].routes);
    CHECK(load.lids(port_id) == counted[port_id].lids.size());
  }
}

}  // namespace

TEST_CASE("routes and LIDs of every link equal the result of following all pairs one by one") {
  MadeFabric made;
  ibtest::make_fat_tree(made, 3, 4);
  const Network network(made.subnet);
  LinearTables tables(network.switches().size(), Lid{static_cast<std::uint16_t>(made.last_lid)});
  ibtest::route_shortest(network, tables);
  SECTION("healthy") { check_load(made, tables); }
  SECTION("with losses of all kinds") {
    tables.set_entry(9, Lid{5}, 255);
    tables.set_entry(12, Lid{7}, 1);
    tables.set_entry(0, Lid{20}, 1);
    tables.set_entry(1, Lid{20}, 1);
    tables.set_entry(16, Lid{30}, 0);
    check_load(made, tables);
  }
}

TEST_CASE("a fat tree has tiers, and the links of each are counted up and down") {
  MadeFabric made;
  ibtest::make_fat_tree(made, 2, 4);
  const Network network(made.subnet);
  LinearTables tables(network.switches().size(), Lid{static_cast<std::uint16_t>(made.last_lid)});
  ibtest::route_shortest(network, tables);
  Load load(network);
  RouteTree tree(network, tables, false);
  for (const DestinationLid& to : network.destinations(false)) {
    tree.find(to);
    load.add(tree);
  }
  load.finish();
  const auto tiers = load.tiers();
  REQUIRE(tiers.size() == 4);
  std::size_t directions = 0;
  std::uint64_t sum = 0;
  for (const LoadSummary& tier : tiers) {
    CHECK(tier.directions == 16);
    directions += tier.directions;
    sum += tier.sum;
  }
  CHECK(directions == load.switch_links().directions);
  CHECK(sum == load.switch_links().sum);
  CHECK(tiers[0].sum == tiers[1].sum);  // what goes up comes down
  CHECK(tiers[0].sum == 16 * 14);       // each host to all but itself and its neighbour
  CHECK(load.host_links().sum == 2 * 16 * 15);
  CHECK(load.host_links().mean() == 15);
}

TEST_CASE("a ring has no tiers, and links that carry nothing are counted") {
  MadeFabric made;
  for (unsigned at = 0; at < 3; ++at) made.add_switch(3);
  for (unsigned at = 0; at < 3; ++at) {
    made.link_switches(at, 2, (at + 1) % 3, 3);
    made.add_host(at, 1, at + 1);
  }
  made.lft = {{{0, 1}, 1}, {{1, 2}, 1}, {{2, 3}, 1}, {{0, 2}, 2}, {{0, 3}, 2}, {{1, 3}, 2}, {{1, 1}, 2}, {{2, 1}, 2}, {{2, 2}, 2}};
  const Network network(made.subnet);
  const LinearTables tables = made.tables();
  Load load(network);
  RouteTree tree(network, tables, false);
  for (const DestinationLid& to : network.destinations(false)) {
    tree.find(to);
    load.add(tree);
  }
  load.finish();
  CHECK(load.tiers().empty());
  const LoadSummary links = load.switch_links();
  CHECK(links.directions == 6);
  CHECK(links.unused == 3);
  CHECK(links.least == 0);
  CHECK(links.greatest == 3);
  CHECK(links.mean() == 1.5);
}

namespace {

/// Three leaves with `hosts` hosts each, and two spines.
struct TwoTiers : MadeFabric {
  explicit TwoTiers(unsigned hosts) {
    for (int i = 0; i < 5; ++i) add_switch(9);
    unsigned lid = 1;
    for (unsigned leaf = 0; leaf < 3; ++leaf) {
      for (unsigned i = 0; i < hosts; ++i) add_host(leaf, i + 1, lid++);
      for (unsigned i = 0; i < 2; ++i) link_switches(leaf, 8 + i, 3 + i, 1 + leaf);
    }
  }
  using Tiers = std::optional<std::vector<std::uint32_t>>;
  Tiers tiers() const { return tiers_of(Network(subnet)); }
};
const TwoTiers::Tiers two_tiers = std::vector<std::uint32_t>{0, 0, 0, 1, 1};

}  // namespace

TEST_CASE("tiers: Aggregation Nodes are no hosts") {
  TwoTiers made(1);
  REQUIRE(made.tiers() == two_tiers);
  for (unsigned at = 0; at < 5; ++at) made.describe(made.add_host(at, 7, 20 + at), "Mellanox Technologies Aggregation Node");
  CHECK(made.tiers() == two_tiers);
}

TEST_CASE("tiers: a host on a spine makes no leaf of it, and a leaf with few hosts is one") {
  TwoTiers few(2);
  few.add_host(3, 7, 20);
  CHECK(few.tiers() == two_tiers);
  TwoTiers made(4);
  made.add_host(3, 7, 20);
  CHECK(made.tiers() == two_tiers);
  made.add_switch(9);
  made.link_switches(5, 8, 3, 4);
  made.add_host(5, 1, 21);
  CHECK(made.tiers() == std::vector<std::uint32_t>{0, 0, 0, 1, 1, 0});
}

TEST_CASE("when a switch is balanced") {
  const auto unbalanced = [](std::vector<unsigned> uses, unsigned in_use, bool deeper) {
    SwitchUse found;
    found.in_use = in_use;
    for (unsigned at = 0; at < uses.size(); ++at) found.ports.push_back({at + 1, uses[at]});
    return is_unbalanced(found, deeper);
  };
  CHECK_FALSE(unbalanced({}, 0, false));
  CHECK_FALSE(unbalanced({3, 4, 3}, 3, false));
  CHECK(unbalanced({3, 5, 3}, 3, false));
  CHECK(unbalanced({9, 9, 0, 0}, 4, true));  // too small to look deeper
  CHECK_FALSE(unbalanced({9, 9, 0, 0}, 14, true));
  CHECK(unbalanced({9, 9, 1, 0}, 14, true));
  CHECK_FALSE(unbalanced({9, 9, 9, 9, 9, 9, 9, 4, 4, 4, 4, 4, 4, 5}, 14, true));  // two halves
  CHECK(unbalanced({9, 9, 9, 9, 9, 9, 9, 4, 4, 4, 4, 4, 4, 6}, 14, true));
}

}  // namespace routing_load_tests
