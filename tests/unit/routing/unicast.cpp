// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Which pairs arrive, over how many links, and why the others do not.
#include "routing/unicast.hpp"

#include "support/catch.hpp"
#include "unit/routing/made_fabric.hpp"

namespace routing_unicast_tests {

using namespace ib;
using namespace ib::routing;
using ibtest::MadeFabric;

namespace {

using Lids = std::vector<std::uint16_t>;

/// Two leaves A (0) and B (1), each linked by its ports 5 and 6 to the spine S (2); hosts 1, 2 on A and 3, 4 on B.
struct Tree : MadeFabric {
  Tree() {
    add_switch(6);
    add_switch(6);
    add_switch(4);
    for (unsigned lid = 1; lid <= 4; ++lid) add_host(lid <= 2 ? 0 : 1, (lid - 1) % 2 + 1, lid);
    link_switches(0, 5, 2, 1);
    link_switches(0, 6, 2, 2);
    link_switches(1, 5, 2, 3);
    link_switches(1, 6, 2, 4);
    for (std::size_t at = 0; at < 3; ++at) set_switch_lid(at, 10 + static_cast<unsigned>(at));
    lft = {{{0, 1}, 1},  {{0, 2}, 2},  {{0, 3}, 5},  {{0, 4}, 6},  {{1, 1}, 5},  {{1, 2}, 6},  {{1, 3}, 1},
           {{1, 4}, 2},  {{2, 1}, 1},  {{2, 2}, 2},  {{2, 3}, 3},  {{2, 4}, 4},  {{0, 10}, 0}, {{0, 11}, 5},
           {{0, 12}, 5}, {{1, 10}, 5}, {{1, 11}, 0}, {{1, 12}, 5}, {{2, 10}, 1}, {{2, 11}, 3}, {{2, 12}, 0}};
  }
};

struct Result {
  explicit Result(const MadeFabric& made, bool with_switches = false) : Result(made, made.tables(), with_switches) {}
  Result(const MadeFabric& made, const LinearTables& tables, bool with_switches = false)
      : network(made.subnet), destinations(network.destinations(with_switches)), unicast(network, destinations) {
    RouteTree tree(network, tables, with_switches);
    for (const DestinationLid& to : destinations) {
      tree.find(to);
      unicast.add(tree);
    }
  }
  std::vector<std::uint64_t> hops() const { return {unicast.hops().begin(), unicast.hops().end()}; }
  std::uint64_t lost() const { return unicast.pairs() - unicast.arrived(); }
  /// The only cause.
  const Cause& cause() const {
    const auto found = unicast.findings();
    REQUIRE(found.size() == 1);
    return *found[0];
  }

  Network network;
  std::vector<DestinationLid> destinations;
  Unicast unicast;
};

void check_cause(const Result& of, Fault fault, std::size_t at, unsigned port, const Lids& lids, std::uint64_t pairs, Pair example) {
  const Cause& cause = of.cause();
  CHECK(cause.fault == fault);
  CHECK(cause.port_id == of.network.port_id(static_cast<SwitchIndex>(at), port));
  CHECK(cause.lids == lids);
  CHECK(cause.pairs == pairs);
  CHECK(cause.example == example);
  CHECK(of.lost() == pairs);
}

}  // namespace

TEST_CASE("in a healthy tree all pairs arrive, two hosts of a switch over two links") {
  const Result result{Tree()};
  CHECK(result.unicast.pairs() == 12);
  CHECK(result.unicast.arrived() == 12);
  CHECK(result.hops() == std::vector<std::uint64_t>{0, 0, 4, 0, 8});
  CHECK(result.unicast.longer() == 0);
  CHECK(result.unicast.findings().empty());
}

TEST_CASE("with switches at both ends there are pairs of one link and of two") {
  const Result result(Tree(), true);
  CHECK(result.unicast.pairs() == 7 * 6);
  CHECK(result.unicast.arrived() == 42);
  // host to own switch and back: 8; host to spine and back, leaf to spine and back: 1 + 1; …
  CHECK(result.hops() == std::vector<std::uint64_t>{0, 8 + 4, 4 + 8 + 2, 8, 8});
}

TEST_CASE("no entry: 255 and ports that the switch does not have are one cause") {
  Tree tree;
  tree.lft[{2, 1}] = 255;
  tree.lft[{2, 2}] = 5;
  check_cause(Result(tree), Fault::no_entry, 2, 0, {1, 2}, 4, {Lid{3}, Lid{1}});
}

TEST_CASE("a LID beyond the end of the table has no entry") {
  Tree tree;
  LinearTables tables = tree.tables();
  smp::SwitchInfo info;
  info.linear_fdb_cap = 64;
  info.linear_fdb_top = 3;
  subnet::LinearTable table(info);
  std::array<std::uint8_t, 64> block{};
  block.fill(9);
  block[1] = 1, block[2] = 2, block[3] = 3;
  table.set_block(0, block);
  tables.set(2, table);
  check_cause(Result(tree, tables), Fault::no_entry, 2, 0, {4}, 2, {Lid{1}, Lid{4}});
}

TEST_CASE("a dead port has no link, or one that is not Active at either end") {
  Tree tree;
  SECTION("no link") {
    tree.lft[{1, 3}] = 4;
    check_cause(Result(tree), Fault::dead_port, 1, 4, {3}, 3, {Lid{4}, Lid{3}});
  }
  SECTION("Armed at the other end") {
    tree.set_port(tree.switches[2], 1, 0, 0, smp::PortState::armed);
    const Result result(tree);
    const auto found = result.unicast.findings();
    REQUIRE(found.size() == 2);
    CHECK(found[0]->port_id == result.network.port_id(0, 5));
    CHECK(found[0]->lids == Lids{3});
    CHECK(found[1]->port_id == result.network.port_id(2, 1));
    CHECK(found[1]->pairs == 2);
    CHECK(result.lost() == 4);
  }
  SECTION("a host with a link in Init neither sends nor receives") {
    tree.set_port(tree.switches[0], 1, 0, 0, smp::PortState::init);
    const Result result(tree);
    CHECK(result.lost() == 6);
    const auto found = result.unicast.findings();
    REQUIRE(found.size() == 2);
    CHECK(result.network.is_host_port(found[0]->port_id) != result.network.is_host_port(found[1]->port_id));
  }
}

TEST_CASE("the nodes behind an Active port without an answering peer are unknown, and not a finding") {
  Tree tree;
  tree.lft[{1, 3}] = 4;
  tree.set_port(tree.switches[1], 4, 0);
  const Result result(tree);
  CHECK(result.unicast.findings().empty());
  REQUIRE(result.unicast.not_read().size() == 1);
  const Cause& cause = *result.unicast.not_read()[0];
  CHECK(cause.port_id == result.network.port_id(1, 4));
  CHECK(cause.lids == Lids{3});
  CHECK(result.unicast.unknown() == 3);
}

TEST_CASE("a loop is named by its switches, and costs also the pairs that only run into it") {
  Tree tree;
  tree.lft[{2, 3}] = 1;
  const Result result(tree);
  const Cause& cause = result.cause();
  CHECK(cause.fault == Fault::loop);
  CHECK(cause.cycle == std::vector<SwitchIndex>{0, 2});
  CHECK(cause.lids == Lids{3});
  CHECK(cause.pairs == 2);
  tree.lft[{1, 3}] = 5;  // the switch of LID 3 sends it away too
  const Result more(tree);
  CHECK(more.cause().pairs == 3);
  CHECK(more.cause().example == Pair{Lid{1}, Lid{3}});
}

TEST_CASE("packets end at a wrong node: another host, or the switch itself") {
  Tree tree;
  SECTION("another host") {
    tree.lft[{1, 3}] = 2;
    check_cause(Result(tree), Fault::wrong_node, 1, 2, {3}, 3, {Lid{4}, Lid{3}});
  }
  SECTION("port 0") {
    tree.lft[{2, 4}] = 0;
    check_cause(Result(tree), Fault::wrong_node, 2, 0, {4}, 2, {Lid{1}, Lid{4}});
  }
}

TEST_CASE("entries that were not read leave their pairs open and are no finding") {
  const Tree tree;
  LinearTables tables(3, Lid{12});
  for (const std::size_t at : {0U, 1U}) {
    tables.clear(static_cast<SwitchIndex>(at));
    for (const auto& [key, port] : tree.lft) {
      if (key.first == at)
        tables.set_entry(static_cast<SwitchIndex>(at), Lid{static_cast<std::uint16_t>(key.second)}, static_cast<std::uint8_t>(port));
    }
  }
  const Result result(tree, tables);
  CHECK(result.unicast.findings().empty());
  CHECK(result.unicast.arrived() == 4);
  CHECK(result.unicast.unknown() == 8);
  REQUIRE(result.unicast.not_read().size() == 1);
  CHECK(result.unicast.not_read()[0]->port_id == result.network.port_id(2, 0));
  CHECK(result.unicast.not_read()[0]->lids == Lids{1, 2, 3, 4});
}

TEST_CASE("each LID of an LMC of 2 is a destination of its own") {
  MadeFabric made;
  made.add_switch(3);
  made.add_host(0, 1, 4, 2);
  made.add_host(0, 2, 8, 2);
  made.add_host(0, 3, 12, 0);
  for (unsigned lid = 4; lid <= 12; ++lid) made.lft[{0, lid}] = lid / 4;
  made.lft[{0, 6}] = 3;
  const Result result(made);
  CHECK(result.destinations.size() == 9);
  CHECK(result.unicast.pairs() == 4 * 2 + 4 * 2 + 2);
  check_cause(result, Fault::wrong_node, 0, 3, {6}, 2, {Lid{8}, Lid{6}});
}

TEST_CASE("a router sends and receives as a CA does") {
  MadeFabric made;
  made.add_switch(2);
  made.add_host(0, 1, 1);
  made.add_host(0, 2, 2, 0, smp::NodeType::router);
  made.lft = {{{0, 1}, 1}, {{0, 2}, 2}};
  CHECK(Result(made).unicast.arrived() == 2);
  made.lft[{0, 2}] = 255;
  check_cause(Result(made), Fault::no_entry, 0, 0, {2}, 1, {Lid{1}, Lid{2}});
}

TEST_CASE("a switch of 254 ports has all of them") {
  MadeFabric made;
  made.add_switch(254);
  for (unsigned port = 1; port <= 254; ++port) {
    made.add_host(0, port, port);
    made.lft[{0, port}] = port;
  }
  CHECK(Result(made).unicast.arrived() == 254 * 253);
  made.lft[{0, 254}] = 255;
  check_cause(Result(made), Fault::no_entry, 0, 0, {254}, 253, {Lid{1}, Lid{254}});
}

TEST_CASE("of a LID that two ports claim, the first claim counts") {
  MadeFabric made;
  made.add_switch(3);
  made.add_host(0, 1, 1);
  made.add_host(0, 2, 2);
  made.add_host(0, 3, 2);
  made.lft = {{{0, 1}, 1}, {{0, 2}, 3}};
  const Result result(made);
  CHECK(result.destinations.size() == 2);
  check_cause(result, Fault::wrong_node, 0, 3, {2}, 2, {Lid{1}, Lid{2}});
}

TEST_CASE("two hosts on one cable reach only each other") {
  MadeFabric made;
  made.add_switch(2);
  made.add_host(0, 1, 1);
  const auto a = made.add_node(smp::NodeType::channel_adapter, 1), b = made.add_node(smp::NodeType::channel_adapter, 1);
  made.link(a, 1, b, 1);
  made.set_port(a, 1, 2);
  made.set_port(b, 1, 3);
  const Result result(made);
  CHECK(result.unicast.pairs() == 6);
  CHECK(result.hops() == std::vector<std::uint64_t>{0, 2});
  std::uint64_t wrong = 0;
  for (const Cause* cause : result.unicast.findings()) wrong += cause->fault == Fault::wrong_node ? cause->pairs : 0;
  CHECK(wrong == 2);
}

TEST_CASE("a way that goes round is longer than the shortest one") {
  MadeFabric made;  // a ring of three switches
  for (unsigned at = 0; at < 3; ++at) made.add_switch(3);
  for (unsigned at = 0; at < 3; ++at) {
    made.link_switches(at, 2, (at + 1) % 3, 3);
    made.add_host(at, 1, at + 1);
  }
  made.lft = {{{0, 1}, 1}, {{1, 2}, 1}, {{2, 3}, 1}, {{0, 2}, 3}, {{2, 2}, 3}, {{0, 3}, 3}, {{1, 1}, 3}, {{1, 3}, 2}, {{2, 1}, 2}};
  const Result result(made);
  CHECK(result.unicast.arrived() == 6);
  CHECK(result.hops() == std::vector<std::uint64_t>{0, 0, 0, 5, 1});
  CHECK(result.unicast.longer() == 1);
}

}  // namespace routing_unicast_tests
