// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// What two readings of a port come to.
#include "health/port_counts.hpp"

#include "iba-gen/pm.hpp"
#include "support/catch.hpp"

namespace health_port_counts_tests {

using namespace ib;
using namespace ib::health;
using namespace std::chrono_literals;
using counters::PmaReading;
using Kind = counters::CounterChange::Kind;

namespace {

const counters::CounterKey key{Guid{0x100}, 0, 3};

template <class T>
std::vector<std::uint8_t> packed(const T& value) {
  std::vector<std::uint8_t> bytes(T::wire_size);
  value.pack(bytes);
  return bytes;
}

PmaReading reading(async::Time time, const pm::PortCounters& counters) {
  PmaReading reading;
  reading.port = 3;
  reading.select = 3;
  reading.counters = packed(counters);
  reading.counters_time = time;
  return reading;
}

struct Readings {
  counters::CounterHistory history;
  PortCounts take(const PmaReading& now, std::optional<double> octets_per_second = {}) {
    return counts_of(now, counters::take(history, key, now, octets_per_second));
  }
};

}  // namespace

TEST_CASE("counters that stand still are not kept") {
  Readings readings;
  pm::PortCounters counters;
  counters.symbol_error_counter = 7;
  counters.link_downed_counter = 3;
  CHECK_FALSE(readings.take(reading(async::Time(1s), counters)).seconds);
  counters.symbol_error_counter = 12;
  counters.port_xmit_data = 1000;  // no error
  const PortCounts counts = readings.take(reading(async::Time(11s), counters));
  CHECK(counts.seconds == 10.0);
  REQUIRE(counts.movements.size() == 1);
  CHECK(counts.delta("symbol_error_counter") == 5);
  CHECK(counts.find("symbol_error_counter")->before == 7U);
  CHECK(counts.delta("link_downed_counter") == 0);
}

TEST_CASE("a counter that is full is kept with one reading") {
  Readings readings;
  pm::PortCounters counters;
  counters.symbol_error_counter = 0xffff;
  counters.port_rcv_errors = 0xfffe;
  const PortCounts once = readings.take(reading(async::Time(1s), counters));
  REQUIRE(once.movements.size() == 1);
  CHECK(once.movements.front().is_stuck);
  CHECK(once.delta("symbol_error_counter") == 0);
  counters.port_rcv_errors = 0xffff;
  CHECK(readings.take(reading(async::Time(2s), counters)).delta("port_rcv_errors") == 1);  // at least
}

TEST_CASE("counters that were cleared, and impossible ones, count nothing") {
  Readings readings;
  pm::PortCountersExt counters;
  const auto extended = [&](async::Time time) {
    PmaReading now = reading(time, {});
    now.counters.clear();
    now.support.capability_mask = pm::capability_mask::is_extended_width_supported;
    now.support.capability_mask2 = pm::capability_mask2::is_additional_port_counters_extended_supported;
    now.extended = packed(counters);
    now.extended_time = time;
    return now;
  };
  counters.symbol_error_counter = 5;
  counters.link_downed_counter = 9;
  readings.take(extended(async::Time(1s)));
  counters.symbol_error_counter = ~std::uint64_t{0} - 39;  // it went below zero
  counters.link_downed_counter = 1;
  const PortCounts counts = readings.take(extended(async::Time(2s)));
  REQUIRE(counts.movements.size() == 2);
  CHECK(counts.find("symbol_error_counter")->change.kind == Kind::implausible);
  CHECK(counts.find("link_downed_counter")->change.kind == Kind::reset);
  CHECK(counts.delta("symbol_error_counter") == 0);
  CHECK(counts.delta("link_downed_counter") == 0);
}

TEST_CASE("details count from zero where their sum did, and not what is of another time") {
  Readings readings;
  pm::PortCounters counters;
  readings.take(reading(async::Time(1s), counters));
  counters.port_rcv_errors = 4;
  PmaReading now = reading(async::Time(2s), counters);
  pm::PortRcvErrorDetails details;
  details.port_local_physical_errors = 4;
  details.port_malformed_packet_errors = 9;  // more than there were errors
  now.error_details = packed(details);
  const PortCounts counts = readings.take(now);
  CHECK(counts.has_error_details);
  CHECK(counts.delta("port_local_physical_errors") == 4);
  CHECK(counts.find("port_malformed_packet_errors") == nullptr);
  counters.port_rcv_errors = 6;
  PmaReading later = reading(async::Time(3s), counters);
  details.port_local_physical_errors = 5;
  details.port_malformed_packet_errors = 10;
  later.error_details = packed(details);
  const PortCounts both = readings.take(later);
  CHECK(both.delta("port_local_physical_errors") == 1);
  CHECK(both.delta("port_malformed_packet_errors") == 1);
}

}  // namespace health_port_counts_tests
