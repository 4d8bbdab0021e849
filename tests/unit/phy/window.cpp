// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// What was counted between two readings.
#include "phy/port_row.hpp"

#include <limits>

#include "support/catch.hpp"

namespace phy_window_tests {

using namespace ib;
using namespace ib::phy;

namespace {

PortRow row(std::uint64_t milliseconds, std::uint64_t errors, std::uint32_t downs, std::uint64_t bits = 0) {
  PortRow made;
  made.set(Part::statistics);
  made.set(Part::physical);
  made.milliseconds_since_clear = milliseconds;
  made.raw_errors = {errors, errors};
  made.received_bits = bits;
  made.corrected_blocks = errors;
  made.link_down_events = downs;
  return made;
}

}  // namespace

TEST_CASE("a window has the device's own time, the ratio of errors to bits, and rates") {
  const Window window = window_between(row(1000, 10, 1, 1000), row(5000, 30, 3, 5000), 7);
  CHECK(window.seconds == 4);
  CHECK(window.raw_ber == Approx(40.0 / 4000));
  CHECK(window.raw_errors_per_second == 10);
  CHECK(window.corrected_blocks_per_second == 5);
  CHECK(window.link_downs == 2);
  CHECK(window_between(row(0, 10, 1), row(0, 10, 1), 7).seconds == 7);
  CHECK_FALSE(window_between(row(1, 10, 1, 5), row(2, 12, 1, 5), 7).raw_ber);
}

TEST_CASE("counters that were cleared, that are full, or that were not read twice, say nothing") {
  const Window cleared = window_between(row(5000, 10, 1, 1000), row(1000, 30, 3, 5000), 7);
  CHECK_FALSE(cleared.raw_ber);
  CHECK_FALSE(cleared.link_downs);
  CHECK_FALSE(window_between(row(1, 10, 5, 0), row(2, 10, 3, 1), 7).link_downs);
  CHECK_FALSE(window_between(row(1, 10, std::numeric_limits<std::uint32_t>::max()), row(2, 10, 3, 1), 7).link_downs);
  CHECK_FALSE(window_between(PortRow{}, row(2, 10, 3, 1), 7).link_downs);
}

}  // namespace phy_window_tests
