// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// One attribute of several ports: its sum, and what its counters have counted since it was read before.
#include "counters/readings.hpp"

#include "iba-gen/pm.hpp"
#include "iba/generic.hpp"
#include "iba/registry.hpp"
#include "support/catch.hpp"

namespace counters_port_readings_tests {

using namespace ib;
using namespace ib::counters;

namespace {

const StructInfo& attribute() { return pm::PortCounters::info(); }
const FieldInfo& field(std::string_view name) { return *find_field(attribute(), name); }

PortReading reading(std::int32_t port, std::uint8_t link_downs, std::uint32_t data, async::Time time) {
  std::vector<std::uint8_t> bytes(attribute().bytes);
  write_number(bytes, *find_path(attribute(), "port_select"), static_cast<std::uint8_t>(port));
  write_number(bytes, *find_path(attribute(), "link_downed_counter"), link_downs);
  write_number(bytes, *find_path(attribute(), "port_xmit_data"), data);
  return {port, std::move(bytes), time};
}

}  // namespace

TEST_CASE("the sum of ports stops at the greatest value of a counter") {
  const async::Time early{std::chrono::seconds(1)}, late{std::chrono::seconds(2)};
  const PortReading sum = sum_of({reading(1, 200, 5, late), reading(2, 100, 7, early)}, attribute());
  CHECK(sum.port == 255);
  CHECK(sum.time == late);
  CHECK(read_number(sum.bytes, field("port_select")) == 255);
  CHECK(read_number(sum.bytes, field("link_downed_counter")) == 255);
  CHECK(read_number(sum.bytes, field("port_xmit_data")) == 12);
}

TEST_CASE("what a counter has counted between two readings") {
  const PortReading before = reading(1, 3, 100, async::Time{std::chrono::seconds(1)});
  const PortReading now = reading(1, 3, 300, async::Time{std::chrono::seconds(5)});
  const CounterChange change = change_of(before, now, field("port_xmit_data"), 0);
  CHECK(change.now == 300);
  CHECK(change.delta == 200);
  CHECK(change.per_second == 50.0);
  const CounterChange first = change_of(std::nullopt, now, field("port_xmit_data"), 0);
  CHECK(first.now == 300);
  CHECK_FALSE(first.delta);
}

TEST_CASE("each counter of an attribute, by element, and no selector") {
  std::size_t counters = 0;
  each_counter(pm::PortXmitDataSL::info(), [&](const FieldInfo& each, std::uint32_t index) {
    CHECK_FALSE(is_selector(each));
    CHECK(index < std::max<std::uint32_t>(each.count, 1));
    ++counters;
  });
  CHECK(counters == 16);
}

}  // namespace counters_port_readings_tests
