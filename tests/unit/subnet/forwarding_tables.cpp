// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Forwarding tables of one switch: which blocks they have, and what is read of them; P_Key and SLtoVL tables.
#include "subnet/sweep/smp_tables.hpp"

#include "subnet/model/port_paths.hpp"
#include "support/catch.hpp"
#include "unit/subnet/swept.hpp"

namespace subnet_forwarding_tables_tests {

using namespace ib;
using namespace ib::subnet;
using ibtest::FakeFabric;
using ibtest::Swept;

namespace {

constexpr FakeFabric::NodeId leaf0 = 1, host2 = 5;

/// A spine, two leaves, two hosts on each, swept.
struct Bench {
  Bench() {
    start.end_port = &fabric.end_port();
    start.sqpn = Qpn{0};
  }
  const Subnet& subnet() const { return sweep.subnet; }
  NodeIndex node(FakeFabric::NodeId id) { return subnet().find_node(fabric.node(id).info.node_guid); }
  path::Path path_to(FakeFabric::NodeId id) { return smp_path(subnet(), node(id), start); }

  FakeFabric fabric = FakeFabric::fat_tree(2, 1, 2);
  Swept sweep{fabric};
  path::IbDrPath start;
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
    std::size_t blocks;
  };
  const std::vector<Case> cases{{49152, 22, 1},       {49152, 63, 1},       {49152, 64, 2},
                                {49152, 0xbfff, 768}, {64, 1000, 1},        {0xffff, 0xffff, 768},
                                {0, 500, 0},          {49152, 0xffff, 768}, {1, 0, 1}};
  for (const Case& c : cases) {
    CAPTURE(c.cap, c.top);
    const smp::SwitchInfo info = switch_info(c.cap, c.top);
    CHECK(LinearTable(info).unknown_blocks().size() == c.blocks);
  }
  const LinearTable table(switch_info(49152, 22));
  CHECK(table.end() == 23);
  CHECK_FALSE(table.covers(Lid{23}));
}

TEST_CASE("a multicast table has blocks up to MulticastFDBTop, or all of its capacity where the switch has no top") {
  struct Case {
    unsigned cap, top, ports;
    std::size_t blocks;
  };
  const std::vector<Case> cases{{1024, 0, 36, 32 * 3},    {1024, 0xbfff, 36, 0}, {1024, 0xc000, 36, 3},      {1024, 0xc020, 15, 2},
                                {1024, 0xc020, 16, 4},    {64, 0xfffe, 8, 2},    {0xffff, 0, 255, 512 * 16}, {1024, 5, 8, 32},
                                {0xffff, 0xffff, 8, 512}, {0, 0, 36, 0}};
  for (const Case& c : cases) {
    CAPTURE(c.cap, c.top, c.ports);
    const smp::SwitchInfo info = switch_info(0, 0, c.cap, c.top);
    CHECK(MulticastTable(info, c.ports).unknown_blocks().size() == c.blocks);
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

TEST_CASE("the size of a P_Key table comes from the NodeInfo, or from the enforcement capacity of a switch") {
  Bench bench;
  const auto capacity = [&](FakeFabric::NodeId id, unsigned port) {
    const Node& node = bench.subnet().node(bench.node(id));
    return pkey_capacity(node.info, node.switch_info(), port);
  };
  bench.sweep.subnet.node(bench.node(host2)).info.partition_cap = 33;
  CHECK(capacity(host2, 1) == 33);
  CHECK(capacity(leaf0, 0) == 32);
  CHECK(capacity(leaf0, 2) == 0);  // no enforcement
}

}  // namespace subnet_forwarding_tables_tests
