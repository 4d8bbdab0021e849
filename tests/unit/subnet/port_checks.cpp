// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// What is said of a port.
#include "subnet/port_checks.hpp"

#include "support/catch.hpp"
#include "unit/subnet/swept.hpp"

namespace subnet_port_checks_tests {

using namespace ib;
using namespace ib::subnet;
using ibtest::FakeFabric;
using ibtest::Swept;

TEST_CASE("a finding is a sentence") {
  CHECK(Finding{.field = "linkSpeedActive", .found = "SDR", .expected = "QDR"}.sentence() == "linkSpeedActive is 'SDR', expected 'QDR'");
  CHECK(Finding{.field = "LID", .found = "0", .expected = "0", .relation = Finding::Relation::not_equal}.sentence() ==
        "LID is '0', but shouldn't be '0'");
  CHECK(Finding{.field = "x", .found = "9", .expected = "5", .relation = Finding::Relation::at_most}.sentence() ==
        "x is '9', expected less than '5'");
  CHECK(no_node_record(Lid{7}).sentence() == "The SA knows no node at LID 7");
}

TEST_CASE("port 0 of a switch has no link, and a state where it is enhanced") {
  FakeFabric fabric = FakeFabric::fat_tree(1, 1, 1);
  fabric.node(0).switch_info.enhanced_port0 = 0;
  Swept base(fabric);
  const NodeIndex leaf = base.subnet.find_node(fabric.node(0).info.node_guid);
  REQUIRE(base.subnet.node(leaf).kind() == NodeKind::sw);
  smp::PortInfo info = base.subnet.port(base.subnet.port_of(leaf, 0)).info();
  info.port_state = smp::PortState::down;
  info.port_physical_state = smp::PortPhysicalState::disabled;
  info.link_width_supported = 8;
  std::array<std::uint8_t, smp::PortInfo::wire_size> bytes{};
  info.pack(bytes);
  const PortIndex port0 = base.subnet.port_of(leaf, 0);
  base.subnet.set_port_info(port0, bytes);
  CHECK(check_port_state(base.subnet, port0).empty());
  CHECK(check_link_width(base.subnet, port0).empty());
  CHECK(check_link_speed(base.subnet, port0).empty());
  smp::SwitchInfo switch_info = base.subnet.node(leaf).switch_info();
  switch_info.enhanced_port0 = 1;
  switch_info.pack(base.subnet.node(leaf).switch_info_bytes);
  const Findings found = check_port_state(base.subnet, port0);
  REQUIRE(found.size() == 1);
  CHECK(found[0].sentence() == "portState is 'Down', expected 'Active'");
}

}  // namespace subnet_port_checks_tests
