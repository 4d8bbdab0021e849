// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Forwarding tables: which blocks are read of which tables, and where packets go by them.
#include "subnet/forwarding.hpp"

#include <set>

#include "subnet/port_paths.hpp"
#include "subnet/smp_tables.hpp"
#include "support/catch.hpp"
#include "unit/subnet/swept.hpp"

using namespace ib;
using namespace ib::subnet;
using ibtest::FakeFabric;
using ibtest::Swept;

namespace {

// A fat tree in the order of its nodes: their LIDs are one more.
constexpr FakeFabric::NodeId spine = 0, leaf0 = 1, host0 = 2, host1 = 3, leaf1 = 4, host2 = 5;
constexpr Lid group{0xc005};

/// A spine, two leaves, two hosts on each, swept. The multicast tables join hosts 0, 1 and 2 in one group.
struct Bench {
  explicit Bench(void (*change)(FakeFabric&) = nullptr) : fabric(FakeFabric::fat_tree(2, 1, 2)) {
    for (const FakeFabric::NodeId id : {spine, leaf0, leaf1}) fabric.node(id).switch_info.multicast_fdb_cap = 1024;
    fabric.node(leaf0).mft[group.value] = {1, 2, 3};
    fabric.node(spine).mft[group.value] = {1, 2};
    fabric.node(leaf1).mft[group.value] = {1, 3};
    if (change != nullptr) change(fabric);
    sweep = std::make_unique<Swept>(fabric);
    start.end_port = &fabric.end_port();
    start.sqpn = Qpn{0};
    tables = read({true, true, {}});
  }
  ForwardingTables read(const ForwardingWanted& wanted) {
    const std::uint64_t before = sweep->sent();
    const SurveyOptions options(start, SurveyWay::smp);
    ForwardingTables found = sweep->loop.run(read_forwarding(*sweep->rpc, sweep->subnet, switches_of(sweep->subnet), wanted, options));
    sent = sweep->sent() - before;
    return found;
  }
  const Subnet& subnet() const { return sweep->subnet; }
  NodeIndex node(FakeFabric::NodeId id) { return subnet().find_node(fabric.node(id).info.node_guid); }
  PortIndex port(FakeFabric::NodeId id, unsigned number) { return subnet().port_of(node(id), number); }
  Trace way(FakeFabric::NodeId from, unsigned number, unsigned lid) {
    return trace(subnet(), tables, port(from, number), Lid{static_cast<std::uint16_t>(lid)});
  }
  path::Path path_to(FakeFabric::NodeId id) { return smp_path(subnet(), node(id), start); }

  FakeFabric fabric;
  std::unique_ptr<Swept> sweep;
  path::IbDrPath start;
  ForwardingTables tables;
  std::uint64_t sent{};
};

smp::SwitchInfo switch_info(unsigned linear_cap, unsigned linear_top, unsigned multicast_cap = 0, unsigned multicast_top = 0) {
  smp::SwitchInfo info;
  info.linear_fdb_cap = static_cast<std::uint16_t>(linear_cap);
  info.linear_fdb_top = static_cast<std::uint16_t>(linear_top);
  info.multicast_fdb_cap = static_cast<std::uint16_t>(multicast_cap);
  info.multicast_fdb_top = static_cast<std::uint16_t>(multicast_top);
  return info;
}

}  // namespace

TEST_CASE("a linear table has blocks up to its top and within its capacity, whatever the switch says of them") {
  struct Case {
    unsigned cap, top;
    std::size_t blocks, claims;
  };
  const std::vector<Case> cases{{49152, 22, 1, 0},       {49152, 63, 1, 0},       {49152, 64, 2, 0},
                                {49152, 0xbfff, 768, 0}, {64, 1000, 1, 1},        {0xffff, 0xffff, 768, 2},
                                {0, 500, 0, 0},          {49152, 0xffff, 768, 1}, {1, 0, 1, 0}};
  for (const Case& c : cases) {
    CAPTURE(c.cap, c.top);
    const smp::SwitchInfo info = switch_info(c.cap, c.top);
    CHECK(LinearTable(info).unknown_blocks().size() == c.blocks);
    CHECK(false_table_claims(info).size() == c.claims);
  }
  const LinearTable table(switch_info(49152, 22));
  CHECK(table.end() == 23);
  CHECK_FALSE(table.covers(Lid{23}));
}

TEST_CASE("a multicast table has blocks up to MulticastFDBTop, or all of its capacity where the switch has no top") {
  struct Case {
    unsigned cap, top, ports;
    std::size_t blocks, claims;
  };
  const std::vector<Case> cases{
      {1024, 0, 36, 32 * 3, 0},    {1024, 0xbfff, 36, 0, 0}, {1024, 0xc000, 36, 3, 0},      {1024, 0xc020, 15, 2, 0},
      {1024, 0xc020, 16, 4, 0},    {64, 0xfffe, 8, 2, 1},    {0xffff, 0, 255, 512 * 16, 1}, {1024, 5, 8, 32, 1},
      {0xffff, 0xffff, 8, 512, 1}, {0, 0, 36, 0, 0}};
  for (const Case& c : cases) {
    CAPTURE(c.cap, c.top, c.ports);
    const smp::SwitchInfo info = switch_info(0, 0, c.cap, c.top);
    CHECK(MulticastTable(info, c.ports).unknown_blocks().size() == c.blocks);
    CHECK(false_table_claims(info).size() == c.claims);
  }
  CHECK(MulticastTable(switch_info(0, 0, 0xffff), 8).end() == 0xffff);  // the permissive LID is none
}

TEST_CASE("of a range of LIDs only its blocks are read") {
  const LinearTable one(switch_info(49152, 1000), {Lid{130}, Lid{130}});
  CHECK(one.unknown_blocks() == std::vector<std::uint32_t>{2});
  CHECK(one.covers(Lid{130}));
  CHECK_FALSE(one.covers(Lid{129}));
  CHECK(LinearTable(switch_info(49152, 1000), {Lid{127}, Lid{128}}).unknown_blocks() == std::vector<std::uint32_t>{1, 2});
  CHECK(LinearTable(switch_info(49152, 1000), {Lid{2000}, Lid{3000}}).unknown_blocks().empty());
  const MulticastTable group_block(switch_info(0, 0, 1024), 36, {Lid{0xc021}, Lid{0xc021}});
  CHECK(group_block.unknown_blocks() == std::vector<std::uint32_t>{1, 1U << 28 | 1, 2U << 28 | 1});
  CHECK(MulticastTable(switch_info(0, 0, 1024), 36, {Lid{1}, Lid{5}}).unknown_blocks().empty());
}

TEST_CASE("the tables of all switches are read, each block once, and say what the switches said") {
  Bench bench;
  CHECK(bench.tables.failures.empty());
  CHECK(bench.tables.linear.size() == 3);
  CHECK(bench.sent == 3 * (1 + 1024 / 32));
  const LinearTable& linear = *bench.tables.linear_of(bench.node(leaf0));
  CHECK(linear.complete());
  for (std::uint16_t lid = 0; lid < linear.end(); ++lid) CHECK(linear.out_port(Lid{lid}) == bench.fabric.node(leaf0).lft[lid]);
  CHECK(linear.out_port(Lid{900}) == no_out_port);
  const MulticastTable& multicast = *bench.tables.multicast_of(bench.node(leaf0));
  CHECK(multicast.complete());
  CHECK(multicast.members(group) == std::vector<std::uint8_t>{1, 2, 3});
  CHECK(multicast.mask(group, 0) == 0xe);
  CHECK(multicast.members(Lid{0xc006}).empty());
  CHECK(bench.read({true, false, {Lid{1}, Lid{1}}}).linear.size() == 3);
  CHECK(bench.sent == 3);
}

TEST_CASE("members beyond the first 16 ports stand in further positions of the port mask") {
  FakeFabric fabric = FakeFabric::fat_tree(1, 1, 40);
  fabric.node(1).switch_info.multicast_fdb_cap = 64;
  fabric.node(1).switch_info.multicast_fdb_top = 0xc03f;
  fabric.node(1).mft[0xc03f] = {0, 15, 16, 31, 32, 40};
  Swept sweep(fabric);
  path::IbDrPath start;
  start.end_port = &fabric.end_port();
  start.sqpn = Qpn{0};
  const NodeIndex leaf = sweep.subnet.find_node(fabric.node(1).info.node_guid);
  MulticastTable table(sweep.subnet.node(leaf).switch_info(), sweep.subnet.node(leaf).info.num_ports);
  CHECK(table.positions() == 3);
  CHECK(sweep.loop.run(read_table(*sweep.rpc, smp_path(sweep.subnet, leaf, start), table)) == nullptr);
  CHECK(table.members(Lid{0xc03f}) == std::vector<std::uint8_t>{0, 15, 16, 31, 32, 40});
  CHECK(table.mask(Lid{0xc03f}, 1) == 0x8001);
}

TEST_CASE("a switch that is silent, or falls silent, is one failure; what it told is kept") {
  Bench bench;
  bench.fabric.node(spine).faults.answers_left = bench.fabric.node(spine).answered + 10;
  bench.fabric.node(leaf1).faults.status = mad::status::invalid_attribute_or_modifier;
  bench.fabric.node(leaf1).faults.status_attribute = smp::LinearForwardingTable::attribute_id;
  const ForwardingTables found = bench.read({true, true, {}});
  REQUIRE(found.failures.size() == 2);
  for (const Failure& failure : found.failures) {
    const bool silent = failure.node == bench.node(spine);
    CHECK(failure.kind == (silent ? Failure::Kind::no_answer : Failure::Kind::refused));
    CHECK(failure.attribute == (silent ? "MulticastForwardingTable" : "LinearForwardingTable"));
    REQUIRE(failure.error);
  }
  CHECK(found.linear_of(bench.node(spine))->complete());
  const MulticastTable& partial = *found.multicast_of(bench.node(spine));
  CHECK_FALSE(partial.complete());
  CHECK(partial.unknown_blocks().size() == 32 - 9);
  CHECK(partial.is_known(group));
  CHECK_FALSE(partial.is_known(Lid{0xc3ff}));
  CHECK(found.linear_of(bench.node(leaf0))->complete());
  // The tables of those that went wrong end a trace where they are needed.
  CHECK(trace(bench.subnet(), found, bench.port(host0, 1), Lid{6}).hops.size() == 4);
  CHECK(trace(bench.subnet(), found, bench.port(host0, 1), Lid{6}).end == TraceEnd::not_known);
}

TEST_CASE("a silent switch costs one chain of tries, whatever number of blocks its table has") {
  Bench bench([](FakeFabric& fabric) { fabric.node(spine).switch_info.linear_fdb_top = 0xbfff; });
  bench.fabric.node(spine).faults.silent = true;
  const std::size_t before = bench.fabric.requests_to(spine);
  CHECK(bench.read({true, false, {}}).failures.size() == 1);
  CHECK(bench.fabric.requests_to(spine) - before < 12);
}

TEST_CASE("a trace goes as the linear tables say") {
  Bench bench;
  const Trace across = bench.way(host0, 1, 6);
  CHECK(across.arrived());
  const std::vector<Hop> expected{{bench.node(host0), none, bench.port(host0, 1)},
                                  {bench.node(leaf0), bench.port(leaf0, 1), bench.port(leaf0, 3)},
                                  {bench.node(spine), bench.port(spine, 1), bench.port(spine, 2)},
                                  {bench.node(leaf1), bench.port(leaf1, 3), bench.port(leaf1, 1)},
                                  {bench.node(host2), bench.port(host2, 1), none}};
  CHECK(across.hops == expected);
  CHECK(bench.way(host0, 1, 3).hops == std::vector<Hop>{{bench.node(host0), none, none}});  // itself
  CHECK(bench.way(host0, 1, 1).hops.size() == 3);                                           // the spine
  CHECK(bench.way(leaf0, 2, 6).hops.front() == Hop{bench.node(leaf0), none, bench.port(leaf0, 3)});
  for (unsigned lid = 1; lid <= 7; ++lid) CHECK(bench.way(host0, 1, lid).arrived());
}

TEST_CASE("the next hop of a switch is a port of it and what is linked there") {
  Bench bench([](FakeFabric& fabric) { fabric.set_link(leaf1, 2, false); });
  const auto next = [&](FakeFabric::NodeId id, unsigned lid) {
    return next_hop(bench.subnet(), bench.tables, bench.node(id), Lid{static_cast<std::uint16_t>(lid)});
  };
  CHECK(next(spine, 6).end == TraceEnd::arrived);
  CHECK(next(spine, 6).out == bench.port(spine, 2));
  CHECK(next(spine, 6).peer == bench.port(leaf1, 3));
  CHECK(next(spine, 1).end == TraceEnd::arrived);  // its own
  CHECK(next(spine, 1).out == bench.port(spine, 0));
  CHECK(next(spine, 1).peer == none);
  CHECK(next(leaf1, 7).end == TraceEnd::no_link);
  CHECK(next(leaf1, 7).out == bench.port(leaf1, 2));
  CHECK(next(leaf1, 700).end == TraceEnd::no_entry);
  CHECK(next(leaf1, 700).out == none);
}

TEST_CASE("a trace names what is wrong with a way, and where") {
  struct Case {
    std::uint8_t entry;  // of the spine for host 2
    TraceEnd end;
    std::size_t hops;
  };
  for (const Case& c : {Case{255, TraceEnd::no_entry, 3}, Case{77, TraceEnd::no_such_port, 3}, Case{0, TraceEnd::wrong_port, 3},
                        Case{1, TraceEnd::loop, 4}}) {
    Bench bench;
    CAPTURE(name(c.end));
    bench.fabric.node(spine).lft[6] = c.entry;
    bench.tables = bench.read({true, false, {}});
    const Trace way = bench.way(host0, 1, 6);
    CHECK(way.end == c.end);
    REQUIRE(way.hops.size() == c.hops);
    CHECK(way.hops[2].node == bench.node(spine));
    CHECK(way.hops.back().node == bench.node(c.end == TraceEnd::loop ? leaf0 : spine));
  }
  Bench bench;
  CHECK(bench.way(host0, 1, 500).end == TraceEnd::no_entry);  // above the top
  CHECK(bench.way(host0, 1, 0xc005).end == TraceEnd::no_entry);
  bench.tables.linear.at(bench.node(leaf1)).set_block(0, std::vector<std::uint8_t>(64, 2));
  CHECK(bench.way(host0, 1, 6).end == TraceEnd::wrong_port);  // host 3 gets it
  CHECK(bench.way(host0, 1, 6).hops.size() == 5);
  bench.tables.linear.erase(bench.node(spine));
  CHECK(bench.way(host0, 1, 6).end == TraceEnd::no_table);

  Bench unlinked([](FakeFabric& fabric) { fabric.set_link(leaf1, 1, false); });
  const Trace down = unlinked.way(host0, 1, 6);
  CHECK(down.end == TraceEnd::no_link);
  CHECK(down.hops.back().out == unlinked.port(leaf1, 1));
  PortIndex slow = unlinked.port(spine, 2);
  std::array<std::uint8_t, 64> info = unlinked.subnet().port(slow).info_bytes;
  info[32] = static_cast<std::uint8_t>((info[32] & 0xf0U) | 2U);  // Initialize
  unlinked.sweep->subnet.set_port_info(slow, info);
  CHECK(unlinked.way(host0, 1, 7).end == TraceEnd::not_active);
}

TEST_CASE("an entry outside of the range that was read is not known, and not missing") {
  Bench bench;
  const ForwardingTables part = bench.read({true, true, {Lid{1}, Lid{3}}});
  const auto end_of = [&](unsigned lid) {
    return next_hop(bench.subnet(), part, bench.node(spine), Lid{static_cast<std::uint16_t>(lid)}).end;
  };
  CHECK(end_of(3) == TraceEnd::arrived);
  CHECK(end_of(6) == TraceEnd::not_known);
  CHECK(end_of(700) == TraceEnd::no_entry);
  const MulticastTrace tree = trace_multicast(bench.subnet(), part, bench.port(host0, 1), group);
  REQUIRE(tree.faults.size() == 1);
  CHECK(tree.faults[0].end == TraceEnd::not_known);
}

TEST_CASE("a multicast packet reaches the members of its group, each by one way") {
  Bench bench;
  const MulticastTrace found = trace_multicast(bench.subnet(), bench.tables, bench.port(host0, 1), group);
  CHECK(found.faults.empty());
  std::set<NodeIndex> reached;
  for (const MulticastTrace::Step& step : found.steps) CHECK(reached.insert(step.node).second);
  CHECK(reached == std::set<NodeIndex>{bench.node(host0), bench.node(leaf0), bench.node(host1), bench.node(spine), bench.node(leaf1),
                                       bench.node(host2)});
  const std::vector<Hop> way = found.way_to(bench.subnet(), bench.node(host2));
  CHECK(way == bench.way(host0, 1, 6).hops);
  CHECK(found.way_to(bench.subnet(), bench.node(6)).empty());
}

TEST_CASE("a multicast trace names loops, dead ends and missing entries, and goes on elsewhere") {
  FakeFabric fabric = FakeFabric::fat_tree(2, 2, 1);  // spines 0 and 1, a leaf 2 with host 3, a leaf 4 with host 5
  for (const FakeFabric::NodeId id : {0U, 1U, 2U, 4U}) {
    fabric.node(id).switch_info.multicast_fdb_cap = 32;
    fabric.node(id).mft[group.value] = {1, 2};
    fabric.node(id).mft[0xc001] = {0, 2, 9};
  }
  for (const FakeFabric::NodeId id : {2U, 4U}) fabric.node(id).mft[group.value] = {1, 2, 3};
  fabric.node(2).mft[0xc002] = {2};
  Swept sweep(fabric);
  path::IbDrPath start;
  start.end_port = &fabric.end_port();
  const ForwardingWanted wanted{false, true, {}};
  const SurveyOptions options(start, SurveyWay::smp);
  ForwardingTables tables = sweep.loop.run(read_forwarding(*sweep.rpc, sweep.subnet, switches_of(sweep.subnet), wanted, options));
  const auto node = [&](FakeFabric::NodeId id) { return sweep.subnet.find_node(fabric.node(id).info.node_guid); };
  const auto from_host = [&](Lid mlid) { return trace_multicast(sweep.subnet, tables, sweep.subnet.port_of(node(3), 1), mlid); };

  const MulticastTrace loop = from_host(group);
  CHECK(loop.steps.size() == 6);
  REQUIRE(loop.faults.size() == 2);
  CHECK(loop.faults[0].end == TraceEnd::loop);
  CHECK(loop.faults[0].node == node(4));
  CHECK(loop.faults[0].port == sweep.subnet.port_of(node(4), 3));
  CHECK(loop.faults[1].node == node(1));

  const MulticastTrace dead = from_host(Lid{0xc001});  // host, leaf, spine, leaf, back to where it came from
  CHECK(dead.steps.size() == 4);
  REQUIRE(dead.faults.size() == 3);
  for (const MulticastTrace::Fault& fault : dead.faults) CHECK(fault.end == TraceEnd::no_such_port);

  const MulticastTrace missing = from_host(Lid{0xc002});
  REQUIRE(missing.faults.size() == 1);
  CHECK(missing.faults[0].end == TraceEnd::no_entry);
  CHECK(missing.faults[0].node == node(0));

  CHECK(from_host(Lid{0xd000}).faults.at(0).end == TraceEnd::no_entry);  // beyond the table
  tables.multicast.erase(node(2));
  CHECK(from_host(group).faults.at(0).end == TraceEnd::no_table);
}

TEST_CASE("P_Key and SL to VL tables are read block by block") {
  Bench bench;
  const auto read = [&](FakeFabric::NodeId id, unsigned port) {
    const Node& node = bench.subnet().node(bench.node(id));
    const std::size_t capacity = pkey_capacity(node.info, node.switch_info(), port);
    return bench.sweep->loop.run(read_pkey_table(*bench.sweep->rpc, bench.path_to(id), port, capacity));
  };
  bench.fabric.node(host2).info.partition_cap = 33;
  bench.sweep->subnet.node(bench.node(host2)).info.partition_cap = 33;
  const std::uint64_t before = bench.sweep->sent();
  const std::vector<std::uint16_t> pkeys = read(host2, 1);
  CHECK(bench.sweep->sent() - before == 2);
  CHECK(pkeys.size() == 33);
  CHECK(pkeys[0] == default_pkey.value);
  CHECK(pkeys[32] == 0);
  CHECK(read(leaf0, 0).size() == 32);
  CHECK(read(leaf0, 2).empty());  // no enforcement

  bench.fabric.node(leaf0).sl_to_vl[{2, 1}] = {7, 6, 5, 4, 3, 2, 1, 0, 7, 6, 5, 4, 3, 2, 1, 0};
  const smp::NodeInfo leaf = bench.subnet().node(bench.node(leaf0)).info;
  const auto mappings = bench.sweep->loop.run(read_sl_to_vl_tables(*bench.sweep->rpc, bench.path_to(leaf0), leaf, 1));
  REQUIRE(mappings.size() == 4);  // from ports 0…3
  CHECK(mappings[1].sl_to_vl[9] == 1);
  CHECK(mappings[2].sl_to_vl[0] == 7);
  CHECK_THROWS_AS(bench.sweep->loop.run(read_sl_to_vl_tables(*bench.sweep->rpc, bench.path_to(leaf0), leaf, 9)), mad::MadStatusError);
}
