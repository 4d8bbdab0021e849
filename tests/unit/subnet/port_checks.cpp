// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// What is said of a port, and of counters that are beyond their thresholds.
#include "subnet/port_checks.hpp"

#include <limits>

#include "support/catch.hpp"
#include "unit/subnet/swept.hpp"

using namespace ib;
using namespace ib::subnet;
using ibtest::FakeFabric;
using ibtest::Swept;

namespace {

CounterReading reading(std::string_view name, std::uint64_t value, std::uint8_t bits) {
  CounterReading made;
  for (const CounterInfo& info : counter_infos()) made.values.push_back(info.name == name ? CounterValue{value, bits} : CounterValue{});
  return made;
}

}  // namespace

TEST_CASE("a finding is a sentence") {
  CHECK(Finding{.field = "linkSpeedActive", .found = "SDR", .expected = "QDR"}.sentence() == "linkSpeedActive is 'SDR', expected 'QDR'");
  CHECK(Finding{.field = "LID", .found = "0", .expected = "0", .relation = Finding::Relation::not_equal}.sentence() ==
        "LID is '0', but shouldn't be '0'");
  CHECK(Finding{.field = "x", .found = "9", .expected = "5", .relation = Finding::Relation::at_most}.sentence() ==
        "x is '9', expected less than '5'");
  CHECK(no_node_record(Lid{7}).sentence() == "The SA knows no node at LID 7");
}

TEST_CASE("counters are beyond a threshold when they are greater, and a threshold of 0 is none") {
  const ErrorThresholds usual = ErrorThresholds::usual();
  CHECK(check_counters(reading("symbol_error_counter", 10, 16), usual).empty());
  const Findings found = check_counters(reading("symbol_error_counter", 11, 16), usual);
  REQUIRE(found.size() == 1);
  CHECK(found[0].field == "symbolErrorCounter");
  CHECK(found[0].found == "11");
  CHECK_FALSE(found[0].error);
  CHECK(check_counters(reading("symbol_error_counter", 11, 0), usual).empty());  // not known
  CHECK(check_counters(reading("symbol_error_counter", 11, 16), ErrorThresholds::parse("SymbolErrors=0\n")).empty());
}

TEST_CASE("counters add up, and stop at what 64 bits hold") {
  constexpr std::uint64_t greatest = std::numeric_limits<std::uint64_t>::max();
  CounterReading sum;
  add_counters(sum, reading("vl15_dropped", 60, 16));
  add_counters(sum, reading("vl15_dropped", 50, 16));
  CHECK(sum["vl15_dropped"].value == 110);
  CHECK(sum["vl15_dropped"].known());
  CHECK_FALSE(sum["link_downed_counter"].known());
  add_counters(sum, reading("vl15_dropped", greatest, 64));
  CHECK(sum["vl15_dropped"].value == greatest);
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
