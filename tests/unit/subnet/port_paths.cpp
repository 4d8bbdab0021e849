// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Paths that the model tells. That packets really arrive by them is seen in sweeps and surveys.
#include "subnet/port_paths.hpp"

#include "support/catch.hpp"
#include "unit/subnet/swept.hpp"

using namespace ib;
using namespace ib::subnet;
using namespace std::chrono_literals;
using ibtest::FakeFabric;
using ibtest::Swept;

namespace {

path::IbDrPath start_of(const FakeFabric& fabric) {
  path::IbDrPath start;
  start.end_port = &fabric.end_port();
  start.sqpn = Qpn{0};
  start.m_key = 7;
  start.retries = 5;
  start.timeout = 70ms;
  return start;
}

}  // namespace

TEST_CASE("GMPs for a port of a switch go to the LID of the switch, for one of a CA to its own") {
  FakeFabric fabric = FakeFabric::fat_tree(2, 1, 2);
  const Swept swept(fabric);
  const path::IbDrPath start = start_of(fabric);
  const PortIndex leaf_port = swept.subnet.port_of(swept.subnet.find_node(Guid{0x6001}), 2);
  const PortIndex host_port = swept.subnet.port(leaf_port).peer;
  for (const PortIndex port : {leaf_port, host_port}) {
    const std::optional<path::Path> path = gmp_path(swept.subnet, port, start);
    REQUIRE(path);
    CHECK(path->directed() == nullptr);
    CHECK(path::complete(*path));
    CHECK(path->ib().dlid == swept.subnet.lid(port));
    CHECK(path->ib().slid == fabric.end_port().lid);
    CHECK(path->ib().dqpn == Qpn{1});
    CHECK(path->ib().qkey == path::qp1_qkey);
    CHECK(path->ib().sl == 0);
    CHECK(path->ib().retries == 5);
    CHECK(path->ib().timeout == 70ms);
  }
  CHECK(gmp_path(swept.subnet, leaf_port, start)->ib().dlid ==
        swept.subnet.lid(swept.subnet.port_of(swept.subnet.port(leaf_port).node, 0)));
  CHECK(lid_path(swept.subnet, host_port, start, Qpn{0})->ib().qkey == 0U);
}

TEST_CASE("SMPs go by the route of the sweep; the start is reached as the sweep reached it") {
  FakeFabric fabric = FakeFabric::fat_tree(2, 1, 2);
  const Swept swept(fabric);
  const path::IbDrPath start = start_of(fabric);
  CHECK(smp_path(swept.subnet, swept.subnet.port(swept.subnet.start).node, start) == path::Path(start));
  const path::Path path = smp_path(swept.subnet, swept.subnet.find_node(Guid{0x6001}), start);  // leaf, spine, leaf
  REQUIRE(path.directed() != nullptr);
  CHECK(path.directed()->hops == 3);
  CHECK(path.directed()->route[1] == 1);
  CHECK(path.directed()->route[2] == 3);
  CHECK(path.directed()->route[3] == 2);
  CHECK(path.ib().m_key == 7);
}

TEST_CASE("a LID that another port claimed before leads to nobody else's counters") {
  FakeFabric fabric = FakeFabric::fat_tree(2, 1, 2);
  fabric.node(3).ports[1].info.lid = fabric.node(2).ports[1].info.lid;
  const Swept swept(fabric);
  std::size_t reachable = 0;
  for (const FakeFabric::NodeId id : {2U, 3U}) {
    const PortIndex port = swept.subnet.port_of(swept.subnet.find_node(fabric.node(id).info.node_guid), 1);
    reachable += gmp_path(swept.subnet, port, start_of(fabric)) ? 1U : 0U;
  }
  CHECK(reachable == 1);
}
