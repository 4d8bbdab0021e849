// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// What a port has counted between two rows: wraps, saturation of each part, resets, jumps that no link explains, and what is not known.
#include "counters/difference.hpp"

#include "iba-gen/pm.hpp"
#include "iba/registry.hpp"
#include "support/catch.hpp"

namespace counters_difference_tests {

using namespace ib;
using namespace ib::counters;
using namespace std::chrono_literals;
namespace {

constexpr double edr = 103125e6 / 8;  // octets a second

template <class T>
std::vector<std::uint8_t> packed(const T& value) {
  std::vector<std::uint8_t> bytes(T::wire_size);
  value.pack(bytes);
  return bytes;
}

template <class T>
void take(CounterRow& row, const T& attribute, async::Time time = {}, PmaSupport support = {}) {
  row.take(support, T::info(), packed(attribute), time);
}

CounterRow narrow(async::Time time, const pm::PortCounters& counters) {
  CounterRow row{.port = 3};
  take(row, counters, time);
  return row;
}

CounterRow wide(async::Time time, const pm::PortCountersExt& counters) {
  CounterRow row{.port = 3};
  take(row, counters, time,
       {pm::capability_mask::is_extended_width_supported | pm::capability_mask::port_counters_xmit_wait_supported,
        pm::capability_mask2::is_additional_port_counters_extended_supported});
  return row;
}

PortChanges errors(const CounterRow& before, const CounterRow& now, std::optional<double> octets_per_second = {}) {
  return RowDifference(&before, now, octets_per_second).errors();
}

}  // namespace

TEST_CASE("a change knows wrap, saturation and reset") {
  CHECK(change_of(100, 350, 64).kind == ChangeKind::counted);
  CHECK(change_of(100, 350, 64).delta == 250U);
  CHECK(change_of(100, 100, 32).delta == 0U);
  CHECK(change_of(0xffffffffffffff00, 0x100, 64).delta == 0x200U);
  CHECK(change_of(~std::uint64_t{0} - 1, ~std::uint64_t{0}, 64).kind == ChangeKind::counted);
  CHECK(change_of(1'000'000, 100, 64).kind == ChangeKind::reset);
  CHECK_FALSE(change_of(1'000'000, 100, 64).delta);
  CHECK(change_of(0xfffffff0, 100, 32).kind == ChangeKind::reset);  // narrow ones do not wrap
  CHECK(change_of(3, 255, 8).kind == ChangeKind::saturated);
  CHECK(change_of(3, 255, 8).delta == 252U);  // at least
  CHECK(change_of(255, 255, 8).kind == ChangeKind::saturated);
  CHECK_FALSE(change_of(255, 255, 8).delta);
  CHECK(change_of(255, 4, 8).kind == ChangeKind::reset);
  CHECK(change_of(1, 15, 4).kind == ChangeKind::saturated);
}

TEST_CASE("a counter below zero has counted nothing, and was not cleared") {
  constexpr std::uint64_t zero = 0;
  CHECK(change_of(5, zero - 40, 64).kind == ChangeKind::implausible);          // it goes below zero
  CHECK(change_of(zero - 40, zero - 50, 64).kind == ChangeKind::implausible);  // it sinks there
  CHECK(change_of(zero - 50, zero - 40, 64).delta == 10U);
  CHECK(change_of(zero - 50, 3, 64).delta == 53U);
}

TEST_CASE("traffic above the rate of the link is implausible, also since a counter was cleared") {
  const FieldInfo& data = *find_field(pm::PortCountersExt::info(), "port_xmit_data");
  const FieldInfo& wait = *find_field(pm::PortCountersExt::info(), "port_xmit_wait");
  constexpr std::uint64_t jump = ~std::uint64_t{0} / 4, a_second = static_cast<std::uint64_t>(edr / 4);
  CHECK(change_of(0, a_second, data, 1.0, edr).kind == ChangeKind::counted);
  CHECK(change_of(0, jump, data, 1.0, edr).kind == ChangeKind::implausible);
  CHECK_FALSE(change_of(0, jump, data, 1.0, edr).delta);
  CHECK(change_of(0, jump, wait, 1.0, edr).kind == ChangeKind::counted);  // ticks of a length of the device's own
  CHECK(change_of(jump, a_second, data, 1.0, edr).kind == ChangeKind::reset);
  CHECK(change_of(jump, jump / 2, data, 1.0, edr).kind == ChangeKind::implausible);
  // Where the link or the time is not known, nothing of that is checked.
  CHECK(change_of(0, jump, data, 1.0, {}).kind == ChangeKind::counted);
  CHECK(change_of(jump, jump / 2, data, {}, edr).kind == ChangeKind::reset);
}

TEST_CASE("a full link is plausible, though its readings were timed a quarter short") {
  const FieldInfo& data = *find_field(pm::PortCountersExt::info(), "port_xmit_data");
  for (const double seconds : {0.1, 1.0, 10.0, 20.0}) {
    CAPTURE(seconds);
    const auto carried = static_cast<std::uint64_t>(edr / 4 * seconds);
    CHECK(change_of(0, carried, data, seconds * 0.75, edr).kind == ChangeKind::counted);
  }
}

TEST_CASE("a row takes each counter from the widest attribute, and compares it with itself") {
  pm::PortCountersExt counters;
  counters.symbol_error_counter = 1ULL << 40U;
  const CounterRow before = wide(async::Time(1s), counters);
  CHECK(before.is_wide(column_of("symbol_error_counter")));
  CHECK(before.value(column_of("symbol_error_counter")) == 1ULL << 40U);
  CHECK_FALSE(before.is_known(column_of("qp1_dropped")));  // which this PMA does not count
  counters.symbol_error_counter += 4;
  const CounterRow now = wide(async::Time(5s), counters);
  CHECK(RowDifference(&before, now, {}).change(column_of("symbol_error_counter")).delta == 4U);
  CHECK(RowDifference(&before, now, {}).error_seconds() == 4.0);
  CHECK(RowDifference(&before, now, {}).traffic().seconds == 4.0);
  pm::PortCounters other;
  other.symbol_error_counter = 9;
  const CounterRow in_other = narrow(async::Time(9s), other);
  CHECK(RowDifference(&before, in_other, {}).change(column_of("symbol_error_counter")).kind == ChangeKind::unknown);
  CHECK(errors(before, in_other).changes.empty());
}

TEST_CASE("a stopped clock, or only a single reading, gives no seconds") {
  const CounterRow row = narrow(async::Time(5s), {});
  CHECK_FALSE(RowDifference(&row, row, {}).error_seconds());
  CHECK_FALSE(RowDifference(nullptr, row, {}).error_seconds());
  CHECK_FALSE(RowDifference(nullptr, row, {}).errors().seconds);
}

TEST_CASE("counters that stand still are not kept") {
  pm::PortCounters counters;
  counters.symbol_error_counter = 7;
  counters.link_downed_counter = 3;
  const CounterRow before = narrow(async::Time(1s), counters);
  counters.symbol_error_counter = 12;
  counters.port_xmit_data = 1000;  // no error
  const PortChanges changes = errors(before, narrow(async::Time(11s), counters));
  CHECK(changes.port == 3);
  CHECK(changes.seconds == 10.0);
  REQUIRE(changes.changes.size() == 1);
  CHECK(changes.delta("symbol_error_counter") == 5);
  CHECK(changes.find("symbol_error_counter")->before == 7U);
  CHECK(changes.find("symbol_error_counter")->now == 12U);
  CHECK(changes.delta("link_downed_counter") == 0);
}

TEST_CASE("a counter that is full is kept with one reading") {
  pm::PortCounters counters;
  counters.symbol_error_counter = 0xffff;
  counters.port_rcv_errors = 0xfffe;
  const CounterRow before = narrow(async::Time(1s), counters);
  const PortChanges once = RowDifference(nullptr, before, {}).errors();
  REQUIRE(once.changes.size() == 1);
  CHECK(once.changes.front().is_full);
  CHECK(once.delta("symbol_error_counter") == 0);
  counters.port_rcv_errors = 0xffff;
  CHECK(errors(before, narrow(async::Time(2s), counters)).delta("port_rcv_errors") == 1);  // at least
}

TEST_CASE("counters that were cleared, and impossible ones, count nothing") {
  pm::PortCountersExt counters;
  counters.symbol_error_counter = 5;
  counters.link_downed_counter = 9;
  const CounterRow before = wide(async::Time(1s), counters);
  counters.symbol_error_counter = ~std::uint64_t{0} - 39;  // it went below zero
  counters.link_downed_counter = 1;
  const PortChanges changes = errors(before, wide(async::Time(2s), counters));
  REQUIRE(changes.changes.size() == 2);
  CHECK(changes.find("symbol_error_counter")->kind == ChangeKind::implausible);
  CHECK(changes.find("link_downed_counter")->kind == ChangeKind::reset);
  CHECK(changes.delta("symbol_error_counter") == 0);
  CHECK(changes.delta("link_downed_counter") == 0);
}

TEST_CASE("counting starts again for a node that restarted or was cleared") {
  const auto row = [](unsigned second, std::uint64_t data, std::uint64_t packets) {
    pm::PortCountersExt counters;
    counters.port_xmit_data = data;
    counters.port_xmit_pkts = packets;
    return wide(async::Time(std::chrono::seconds(second)), counters);
  };
  const auto began_anew = [](const CounterRow& before, const CounterRow& now) { return RowDifference(&before, now, {}).began_anew(); };
  CHECK_FALSE(began_anew(row(0, 1000, 100), row(1, 1100, 110)));
  CHECK_FALSE(began_anew(row(1, 1100, 110), row(2, 3, 111)));  // one of them was reset
  CHECK(began_anew(row(2, 3, 111), row(3, 1, 0)));
  CHECK(began_anew(row(3, 5000, 1), row(4, 2, 1)));     // what a restart itself counts does not speak against it
  CHECK_FALSE(began_anew(row(4, 0, 0), row(5, 7, 0)));  // nothing had been counted
}

TEST_CASE("details count from zero where their sum did, and not what is of another time") {
  pm::PortCounters counters;
  const CounterRow first = narrow(async::Time(1s), counters);
  counters.port_rcv_errors = 4;
  CounterRow second = narrow(async::Time(2s), counters);
  pm::PortRcvErrorDetails details;
  details.port_local_physical_errors = 4;
  details.port_malformed_packet_errors = 9;  // more than there were errors
  take(second, details);
  const PortChanges changes = errors(first, second);
  CHECK(changes.delta("port_local_physical_errors") == 4);
  CHECK(changes.find("port_malformed_packet_errors") == nullptr);
  counters.port_rcv_errors = 6;
  CounterRow third = narrow(async::Time(3s), counters);
  details.port_local_physical_errors = 5;
  details.port_malformed_packet_errors = 10;
  take(third, details);
  const PortChanges both = errors(second, third);
  CHECK(both.delta("port_local_physical_errors") == 1);
  CHECK(both.delta("port_malformed_packet_errors") == 1);
}

TEST_CASE("details count though their sum is full, and say where one of them is full") {
  pm::PortCounters counters;
  counters.port_xmit_discards = 0xffff;
  pm::PortXmitDiscardDetails details;
  const auto row = [&](std::chrono::seconds time) {
    CounterRow made = narrow(async::Time(time), counters);
    take(made, details);
    return made;
  };
  details.port_neighbor_mtu_discards = 10;
  const CounterRow before = row(1s);
  details.port_neighbor_mtu_discards = 17;
  const CounterRow now = row(2s);
  const PortChanges changes = errors(before, now);
  CHECK(changes.delta("port_neighbor_mtu_discards") == 7);
  CHECK(changes.has_discard_details);
  CHECK_FALSE(changes.lacks_discard_details);
  details.port_sw_hoq_limit_discards = 0xffff;
  CHECK(errors(now, row(3s)).lacks_discard_details);
}

TEST_CASE("a lane whose counter is full does not hide the blocks of the others") {
  pm::PortExtendedSpeedsCounters lanes;
  const auto row = [&](std::chrono::seconds time) {
    CounterRow made = narrow(async::Time(time), {});
    take(made, lanes);
    return made;
  };
  lanes.fec_uncorrectable_block_ctr_lane[0] = 0xffffffff;
  lanes.fec_uncorrectable_block_ctr_lane[1] = 10;
  const CounterRow before = row(1s);
  lanes.fec_uncorrectable_block_ctr_lane[1] = 5010;
  const CounterRow now = row(2s);
  const PortChanges changes = errors(before, now);
  REQUIRE(changes.find("fec_uncorrectable_block_ctr_lane") != nullptr);
  CHECK(changes.find("fec_uncorrectable_block_ctr_lane")->kind == ChangeKind::saturated);  // so many, or more
  CHECK(changes.delta("fec_uncorrectable_block_ctr_lane") == 5000);
  lanes.fec_uncorrectable_block_ctr_lane[0] = 3;
  CHECK(errors(now, row(3s)).find("fec_uncorrectable_block_ctr_lane")->kind == ChangeKind::reset);
}

TEST_CASE("the layout for RS-FEC has counters of its own, and corrections are no errors") {
  const auto row = [](const auto& speeds) {
    CounterRow made = narrow(async::Time(1s), {});
    take(made, speeds);
    return made;
  };
  pm::PortExtendedSpeedsCountersRsFec port;
  port.port_fec_uncorrectable_block_ctr = 7;
  port.port_fec_corrected_symbol_ctr = 100;
  const CounterRow before = row(port);
  CHECK(errors(row(pm::PortExtendedSpeedsCounters()), before).changes.empty());
  port.port_fec_uncorrectable_block_ctr = 8;
  port.port_fec_corrected_symbol_ctr = 1000;
  const PortChanges changes = errors(before, row(port));
  CHECK(changes.delta("port_fec_uncorrectable_block_ctr") == 1);
  CHECK(changes.changes.size() == 1);
}

TEST_CASE("data and packets have a rate; a change that is not known has none, and is not kept") {
  pm::PortCountersExt counters;
  const CounterRow before = wide(async::Time(1s), counters);
  counters.port_xmit_data = 300;
  counters.symbol_error_counter = 9;
  const CounterRow now = wide(async::Time(4s), counters);
  const PortChanges changes = RowDifference(&before, now, {}).traffic();
  CHECK(changes.port == 3);
  CHECK(changes.seconds == 3.0);
  REQUIRE(changes.find("port_xmit_data") != nullptr);
  CHECK(changes.find("port_xmit_data")->per_second == 100.0);
  CHECK(changes.find("port_rcv_data")->per_second == 0.0);
  CHECK(changes.find("symbol_error_counter") == nullptr);
  CHECK(RowDifference(nullptr, now, {}).traffic().changes.empty());
  CHECK_FALSE(RowDifference(nullptr, now, {}).change(column_of("port_xmit_data")).per_second);
}

TEST_CASE("the changes of ports add up, and what is unknown of one is unknown of the sum") {
  const auto change = [](std::uint64_t from, std::uint64_t to, std::chrono::seconds time) {
    pm::PortCounters counters;
    counters.port_xmit_pkts = static_cast<std::uint32_t>(from);
    const CounterRow before = narrow(async::Time(1s), counters);
    counters.port_xmit_pkts = static_cast<std::uint32_t>(to);
    const CounterRow now = narrow(async::Time(1s) + time, counters);
    return RowDifference(&before, now, {}).change(column_of("port_xmit_pkts"));
  };
  CounterChange sum;
  sum.add(change(10, 30, 2s));
  sum.add(change(100, 130, 1s));
  CHECK(sum.counter->name == "port_xmit_pkts");
  CHECK(sum.kind == ChangeKind::counted);
  CHECK(sum.now == 160);
  CHECK(sum.delta == 50U);
  CHECK(sum.per_second == 40.0);  // each for the time between its own readings
  sum.add(change(5, 1, 1s));
  CHECK(sum.kind == ChangeKind::reset);
  CHECK_FALSE(sum.delta);
  CHECK_FALSE(sum.per_second);
  CounterChange unknown;
  unknown.counter = sum.counter;
  sum.add(unknown);
  CHECK(sum.kind == ChangeKind::unknown);
}

}  // namespace counters_difference_tests
