// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// What is said of a port.
#include "subnet/model/port_checks.hpp"

#include <tuple>

#include "support/catch.hpp"
#include "unit/subnet/swept.hpp"

namespace subnet_port_checks_tests {

using namespace ib;
using namespace ib::subnet;
using ibtest::FakeFabric;
using ibtest::Swept;

TEST_CASE("a finding is a sentence") {
  CHECK(Mismatch{.field = "linkSpeedActive", .found = "SDR", .expected = "QDR"}.sentence() == "linkSpeedActive is 'SDR', expected 'QDR'");
  CHECK(Mismatch{.field = "LID", .found = "0", .expected = "0", .relation = Mismatch::Relation::not_equal}.sentence() ==
        "LID is '0', but shouldn't be '0'");
  CHECK(Mismatch{.field = "x", .found = "9", .expected = "5", .relation = Mismatch::Relation::at_most}.sentence() ==
        "x is '9', expected less than '5'");
  CHECK(Mismatch{.words = "The SA knows no node at LID 7"}.sentence() == "The SA knows no node at LID 7");
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
  const Mismatches found = check_port_state(base.subnet, port0);
  REQUIRE(found.size() == 1);
  CHECK(found[0].sentence() == "portState is 'Down', expected 'Active'");
}

TEST_CASE("the checks of a port that health and the ibcheck commands share") {
  FakeFabric fabric = FakeFabric::fat_tree(1, 1, 1);
  Swept base(fabric);
  const NodeIndex leaf = base.subnet.find_node(fabric.node(0).info.node_guid);
  const PortIndex port0 = base.subnet.port_of(leaf, 0), port1 = base.subnet.port_of(leaf, 1);
  CHECK(is_end_port(base.subnet, port0));
  CHECK_FALSE(is_end_port(base.subnet, port1));
  for (PortIndex at = 0; at < base.subnet.ports().size(); ++at) {
    const Port& port = base.subnet.port(at);
    if (base.subnet.node(port.node).kind() != NodeKind::sw) CHECK(is_end_port(base.subnet, at) == (port.number != 0));
  }
  smp::PortInfo info = base.subnet.port(port1).info();
  for (const auto& [physical, state, is_active] : {std::tuple{smp::PortPhysicalState::link_up, smp::PortState::active, true},
                                                   {smp::PortPhysicalState::link_up, smp::PortState::armed, false},
                                                   {smp::PortPhysicalState::error_recovery, smp::PortState::active, false}}) {
    info.port_physical_state = physical;
    info.port_state = state;
    std::array<std::uint8_t, smp::PortInfo::wire_size> bytes{};
    info.pack(bytes);
    base.subnet.set_port_info(port1, bytes);
    CHECK(is_link_active(base.subnet.port(port1)) == is_active);
    CHECK(is_trained(base.subnet.port(port1)));
  }
}

}  // namespace subnet_port_checks_tests
