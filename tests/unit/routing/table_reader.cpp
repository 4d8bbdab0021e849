// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Reading the tables of all switches: each block once, what failed, what a switch told before it fell silent, and adaptive routing.
#include "routing/tables.hpp"

#include <optional>

#include "iba-gen/mlx.hpp"
#include "support/catch.hpp"
#include "unit/subnet/swept.hpp"

namespace routing_table_reader_tests {

using namespace ib;
using namespace ib::routing;
using ibtest::FakeFabric;
using ibtest::Swept;
using subnet::Failure;

namespace {

// A fat tree in the order of its nodes: their LIDs are one more.
constexpr FakeFabric::NodeId spine = 0, leaf0 = 1, leaf1 = 4;
constexpr Lid group{0xc005};

FakeFabric with_group() {
  FakeFabric fabric = FakeFabric::fat_tree(2, 1, 2);
  for (const FakeFabric::NodeId id : {spine, leaf0, leaf1}) fabric.node(id).switch_info.multicast_fdb_cap = 1024;
  fabric.node(leaf0).mft[group.value] = {1, 2, 3};
  fabric.node(spine).mft[group.value] = {1, 2};
  fabric.node(leaf1).mft[group.value] = {1, 3};
  return fabric;
}

struct Bench {
  Bench() {
    start.end_port = &fabric.end_port();
    start.sqpn = Qpn{0};
  }
  std::vector<Failure> read(bool with_multicast = true, bool with_adaptive = false) {
    linear.emplace(network.switches().size(), network.last_lid());
    multicast.emplace(network.switches().size());
    adaptive = unread_adaptive_routing(network);
    TablesToRead to{.linear = &*linear};
    if (with_multicast) to.multicast = &*multicast;
    if (with_adaptive) to.adaptive = &adaptive;
    const std::uint64_t before = sweep.sent();
    std::vector<Failure> failures = sweep.loop.run(read_tables(*sweep.rpc, network, to, start));
    sent = sweep.sent() - before;
    multicast->finish();
    return failures;
  }
  SwitchIndex at(FakeFabric::NodeId id) { return network.switch_of(node(id)); }
  subnet::NodeIndex node(FakeFabric::NodeId id) { return sweep.subnet.find_node(fabric.node(id).info.node_guid); }

  FakeFabric fabric = with_group();
  Swept sweep{fabric};
  path::IbDrPath start;
  Network network{sweep.subnet};
  std::optional<LinearTables> linear;
  std::optional<MulticastTables> multicast;
  AdaptiveRouting adaptive;
  std::uint64_t sent{};
};

}  // namespace

TEST_CASE("the tables of all switches are read, each block once, and say what the switches said") {
  Bench bench;
  CHECK(bench.read().empty());
  CHECK(bench.sent == 3 * (1 + 1024 / 32));
  for (const FakeFabric::NodeId id : {spine, leaf0, leaf1}) {
    CHECK(bench.linear->is_known(bench.at(id)));
    CHECK(bench.multicast->is_known(bench.at(id)));
    for (std::uint16_t lid = 1; lid <= 7; ++lid) CHECK(bench.linear->out_port(bench.at(id), Lid{lid}) == bench.fabric.node(id).lft[lid]);
  }
  REQUIRE(bench.multicast->entries(group).size() == 3);
  CHECK(bench.multicast->entries(Lid{0xc006}).empty());
  CHECK(bench.read(false).empty());
  CHECK(bench.sent == 3);
  CHECK_FALSE(bench.multicast->is_known(bench.at(spine)));
}

TEST_CASE("the entries of a switch are those for LIDs that ports have, by ports that it has") {
  Bench bench;
  bench.fabric.node(leaf1).lft[3] = 9;    // the leaf has 3 ports
  bench.fabric.node(leaf1).lft[40] = 1;   // nobody has this LID
  bench.fabric.node(leaf1).lft[1] = 255;  // no way to the spine
  CHECK(bench.read().empty());
  std::vector<unsigned> lids, ports;
  for (const ForwardingEntry& entry : entries_of(bench.network, *bench.linear, bench.at(leaf1))) {
    lids.push_back(entry.lid.value);
    ports.push_back(entry.port);
    CHECK(entry.owner == bench.sweep.subnet.find_lid(entry.lid));
  }
  CHECK(lids == std::vector<unsigned>{2, 4, 5, 6, 7});
  CHECK(ports == std::vector<unsigned>{3, 3, 0, 1, 2});
}

TEST_CASE("a switch that is silent, or falls silent, is one failure; its earlier answers are kept") {
  Bench bench;
  bench.fabric.node(spine).faults.answers_left = bench.fabric.node(spine).answered + 10;
  bench.fabric.node(leaf1).faults.status = mad::status::invalid_attribute_or_modifier;
  bench.fabric.node(leaf1).faults.status_attribute = smp::LinearForwardingTable::attribute_id;
  const std::vector<Failure> failures = bench.read();
  REQUIRE(failures.size() == 2);
  for (const Failure& failure : failures) {
    const bool silent = failure.node == bench.node(spine);
    CHECK(failure.kind == (silent ? Failure::Kind::no_answer : Failure::Kind::refused));
    CHECK(failure.attribute == (silent ? "MulticastForwardingTable" : "LinearForwardingTable"));
    REQUIRE(failure.error);
  }
  CHECK(bench.linear->is_known(bench.at(spine)));
  CHECK_FALSE(bench.multicast->is_known(bench.at(spine)));
  CHECK(bench.multicast->entries(group).size() == 3);  // also that of leaf1, which refused the other table only
  CHECK_FALSE(bench.linear->is_known(bench.at(leaf1)));
  CHECK_FALSE(bench.linear->is_known(bench.at(leaf1), Lid{6}));
  CHECK(bench.linear->is_known(bench.at(leaf0)));
}

TEST_CASE("a silent switch costs one chain of tries, whatever number of blocks its table has") {
  Bench bench;
  bench.sweep.subnet.node(bench.node(spine)).switch_info_bytes[6] = 0xbf;  // LinearFDBTop
  bench.fabric.node(spine).faults.silent = true;
  const std::size_t before = bench.fabric.requests_to(spine);
  CHECK(bench.read(false, true).size() == 1);
  CHECK(bench.fabric.requests_to(spine) - before < 12);
  CHECK(bench.adaptive[bench.at(spine)] == Adaptive::not_read);
}

TEST_CASE("whether adaptive routing is on is requested of switches of Mellanox, once each, and is no failure where it is not answered") {
  Bench bench;
  bench.fabric.node(leaf0).adaptive_routing = true;
  bench.fabric.node(leaf1).adaptive_routing = false;
  CHECK(bench.read(false, true).empty());  // the spine refuses the attribute
  CHECK(bench.sent == 3 * 2);
  CHECK(bench.adaptive[bench.at(leaf0)] == Adaptive::on);
  CHECK(bench.adaptive[bench.at(leaf1)] == Adaptive::off);
  CHECK(bench.adaptive[bench.at(spine)] == Adaptive::off);

  bench.fabric.node(leaf0).faults.ignores = mlx::AdaptiveRoutingInfo::attribute_id;
  bench.sweep.subnet.node(bench.node(leaf1)).info.vendor_id = 0x66a;  // QLogic
  CHECK(bench.read(false, true).empty());
  CHECK(bench.linear->is_known(bench.at(leaf0)));
  CHECK(bench.adaptive[bench.at(leaf0)] == Adaptive::not_read);
  CHECK(bench.adaptive[bench.at(leaf1)] == Adaptive::off);
}

TEST_CASE("a switch that does not answer for one table gets requests for the other one") {
  Bench bench;
  const bool ignores_linear = GENERATE(true, false);
  bench.fabric.node(leaf0).faults.ignores =
      ignores_linear ? smp::LinearForwardingTable::attribute_id : smp::MulticastForwardingTable::attribute_id;
  const std::vector<Failure> failures = bench.read();
  REQUIRE(failures.size() == 1);
  CHECK(failures[0].attribute == (ignores_linear ? "LinearForwardingTable" : "MulticastForwardingTable"));
  CHECK(bench.linear->is_known(bench.at(leaf0)) == !ignores_linear);
  CHECK(bench.multicast->is_known(bench.at(leaf0)) == ignores_linear);
  CHECK(bench.sent < 3 * (1 + 1024 / 32) + 64);  // a chain of tries for what was on its way, none for the other blocks
}

}  // namespace routing_table_reader_tests
