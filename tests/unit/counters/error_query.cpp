// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Which counters are errors, what is read because of them, and what has grown.
#include "counters/error_query.hpp"

#include "base/file.hpp"
#include "support/catch.hpp"
#include "support/temporary_directory.hpp"

namespace counters_error_query_tests {

using namespace ib;
using namespace ib::counters;
using namespace std::chrono_literals;

namespace {

constexpr std::size_t symbols = column_of("symbol_error_counter"), discards = column_of("port_xmit_discards"),
                      data = column_of("port_xmit_data");

CounterRow row(std::uint64_t symbol_errors, std::uint64_t discarded, async::Time time = {}) {
  CounterRow made{.port = 1, .known = CounterRow::all_counters, .error_time = time, .traffic_time = time};
  made.counters[symbols] = symbol_errors;
  made.counters[discards] = discarded;
  return made;
}

}  // namespace

TEST_CASE("a counter of errors is an error above its threshold, unless it is suppressed") {
  ErrorQuery query;
  CHECK(query.errors_of(row(0, 0)).empty());
  CHECK(query.errors_of(row(1, 1)) == std::vector{symbols, discards});
  query.take(ErrorThresholds::parse("SymbolErrorCounter=10\nPortXmitData=7"));
  CHECK(query.thresholds.all().size() == 1);
  CHECK(query.errors_of(row(10, 0)).empty());
  CHECK(query.errors_of(row(11, 1)) == std::vector{symbols, discards});
  query.suppress("PortXmitDiscards");
  query.suppress("QP1Dropped");
  query.suppress("NoSuchCounter");
  CHECK(query.suppressed == std::vector<std::string>{"PortXmitDiscards"});
  CHECK(query.errors_of(row(11, 1)) == std::vector{symbols});
  for (int more = 0; more < 64; ++more) query.suppress("VL15Dropped");
  CHECK(query.suppressed.size() == 64);
  CHECK(query.skipped.size() == 1);
}

TEST_CASE("a file of thresholds may have any other lines, and the last line of a counter applies") {
  const ibtest::TemporaryDirectory directory;
  const std::string file = directory.file("thresholds");
  ErrorQuery query;
  CHECK_FALSE(query.read_thresholds(file));
  CHECK(query.given.empty());
  replace_file(file, as_bytes("nonsense\nSymbolErrorCounter=0x10\n PortRcvErrors=4\nPortXmitDiscards =3\nSymbolErrorCounter=5x\n"));
  REQUIRE(query.read_thresholds(file));
  REQUIRE(query.given.size() == 2);
  CHECK(query.given[0].value == 16);
  CHECK(query.threshold_of("symbol_error_counter") == 5);
  CHECK(query.threshold_of("port_xmit_discards") == 0);
}

TEST_CASE("details are read where their sum is an error, and nothing is cleared without a request") {
  ErrorQuery query;
  query.details = true;
  const ReadingPlan plan = query.plan();
  PmaReading reading;
  reading.row = row(0, 3);
  CHECK(plan.further(reading).ports);
  CHECK(plan.further(reading).discard_details);
  CHECK_FALSE(plan.further(reading).error_details);
  reading.row = row(0, 0);
  CHECK_FALSE(plan.further(reading).ports);
  CHECK_FALSE(plan.clear);
  query.clear_counts = true;
  const ReadingPlan clears = query.plan();
  CHECK(clears.clear(*find_counter("PortXmitData")));
  CHECK_FALSE(clears.clear(*find_counter("SymbolErrorCounter")));
  CHECK_FALSE(clears.clear_details);
}

TEST_CASE("growth has the counters of errors that grew beyond their thresholds, and then data") {
  ErrorQuery query;
  query.data = true;
  const CounterRow before = row(5, 9, async::Time(0s)), now = row(9, 0, async::Time(2s));
  const PortChanges grown = query.growth({&before, now, {}});
  CHECK(grown.seconds == 2);
  const auto errors = ErrorQuery::errors_in(grown);
  REQUIRE(errors.size() == 2);
  CHECK(errors[0].counter->name == "symbol_error_counter");
  CHECK(errors[0].delta == 4U);
  CHECK(errors[1].kind == ChangeKind::reset);
  CHECK(grown.changes.size() > 2);
  CHECK(grown.find(columns[data].field) != nullptr);
}

}  // namespace counters_error_query_tests
