// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Thresholds of error counters: the file of infiniband-diags, and the numbers that hold without one.
#include "counters/error_query.hpp"

#include <limits>

#include "base/error.hpp"
#include "support/catch.hpp"

namespace counters_thresholds_tests {

using namespace ib;
using namespace ib::counters;

namespace {

CounterRow row(std::string_view name, std::uint64_t value, unsigned bits) {
  const std::size_t column = column_of(name);
  CounterRow made;
  if (bits != 0) made.known = std::uint64_t{1} << column;
  if (bits == 64) made.wide = 1U << column;
  made.counters[column] = value;
  return made;
}

}  // namespace

TEST_CASE("a counter has a name in the IBA, of libibmad, of perfquery and of iba-defs") {
  for (const char* name : {"portXmitDiscards", "PortXmitDiscards", "XmtDiscards", "port_xmit_discards", "PORTXMITDISCARDS"}) {
    CAPTURE(name);
    REQUIRE(find_counter(name) != nullptr);
    CHECK(find_counter(name)->name == "port_xmit_discards");
  }
  CHECK(find_counter("PortUnicastXmitPkts")->name == "port_unicast_xmit_pkts");  // only in PortCountersExtended
  for (const char* name : {"", "portSelect", "NoSuchCounter", "PortXmitDiscard"}) CHECK(find_counter(name) == nullptr);
}

TEST_CASE("thresholds stand one a line, numbers in C notation, and the last one wins") {
  const auto thresholds = ErrorThresholds::parse(
      "# thresholds\n"
      "\n"
      "SymbolErrors=30\n"
      "  LinkDowned = 5 \r\n"
      "#VL15Dropped=1\n"
      "portRcvErrors=0x10\n"
      "SymbolErrorCounter=31");
  CHECK(thresholds.bad_lines().empty());
  REQUIRE(thresholds.all().size() == 3);
  CHECK(thresholds.all()[0].counter->name == "symbol_error_counter");
  CHECK(thresholds.find("symbol_error_counter") == 31);
  CHECK(thresholds.find("link_downed_counter") == 5);
  CHECK(thresholds.find("port_rcv_errors") == 16);
  CHECK_FALSE(thresholds.find("vl15_dropped").has_value());
}

TEST_CASE("an invalid line is reported with its number, and the others apply") {
  const auto thresholds = ErrorThresholds::parse("NoSuchCounter=5\nLinkDowned\nLinkDowned=many\nLinkDowned=-1\nLinkDowned=7\n=3\n");
  REQUIRE(thresholds.bad_lines().size() == 5);
  CHECK(thresholds.bad_lines()[0].number == 1);
  CHECK(thresholds.bad_lines()[0].why == "no counter is called 'NoSuchCounter'");
  CHECK(thresholds.bad_lines()[1].why == "not a line NAME=NUMBER");
  CHECK(thresholds.bad_lines()[2].why == "'many' is not a number");
  CHECK(thresholds.find("link_downed_counter") == 7);
}

TEST_CASE("a site's file changes the usual thresholds that it names, and leaves the others") {
  ErrorThresholds thresholds = ErrorThresholds::usual();
  CHECK(thresholds.find("symbol_error_counter") == 10);
  CHECK(thresholds.find("port_xmit_discards") == 100);
  CHECK_FALSE(thresholds.find("port_xmit_data").has_value());
  CHECK_FALSE(thresholds.find("port_xmit_wait").has_value());
  thresholds.add(ErrorThresholds::parse("XmtDiscards=7\nPortXmitWait=1000\nwhat\n"));
  CHECK(thresholds.find("symbol_error_counter") == 10);
  CHECK(thresholds.find("port_xmit_discards") == 7);
  CHECK(thresholds.find("port_xmit_wait") == 1000);
  CHECK(thresholds.bad_lines().size() == 1);
}

TEST_CASE("a file of thresholds that cannot be read is a system error") {
  CHECK_THROWS_AS(ErrorThresholds::read("/nonexistent/thresholds"), ib::SysError);
  CHECK_THROWS_AS(ErrorThresholds::read("/dev/zero"), ib::UsageError);
}

TEST_CASE("counters exceed a threshold when they are greater, and a threshold of 0 means no threshold") {
  const ErrorThresholds usual = ErrorThresholds::usual();
  CHECK(check_counters(row("symbol_error_counter", 10, 16), usual).empty());
  const subnet::Mismatches found = check_counters(row("symbol_error_counter", 11, 16), usual);
  REQUIRE(found.size() == 1);
  CHECK(found[0].field == "symbolErrorCounter");
  CHECK(found[0].found == "11");
  CHECK_FALSE(found[0].error);
  CHECK(check_counters(row("symbol_error_counter", 11, 0), usual).empty());  // not known
  CHECK(check_counters(row("symbol_error_counter", 11, 16), ErrorThresholds::parse("SymbolErrors=0\n")).empty());
}

TEST_CASE("counters add up, and stop at what 64 bits hold") {
  constexpr std::uint64_t greatest = std::numeric_limits<std::uint64_t>::max();
  CounterRow sum;
  sum.add(row("vl15_dropped", 60, 16));
  sum.add(row("vl15_dropped", 50, 16));
  CHECK(sum.count(column_of("vl15_dropped")) == 110U);
  CHECK_FALSE(sum.count(column_of("link_downed_counter")).has_value());
  sum.add(row("vl15_dropped", greatest, 64));
  CHECK(sum.count(column_of("vl15_dropped")) == greatest);
}

}  // namespace counters_thresholds_tests
