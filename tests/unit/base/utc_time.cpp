// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "base/utc_time.hpp"

#include "support/catch.hpp"

namespace base_utc_time_tests {

using namespace std::chrono_literals;

TEST_CASE("a date and time of day is text in UTC") {
  using Time = std::chrono::system_clock::time_point;
  CHECK(ib::utc_text(Time{}) == "1970-01-01T00:00:00.000Z");
  CHECK(ib::utc_text(Time(1'000'000'000s)) == "2001-09-09T01:46:40.000Z");
  CHECK(ib::utc_text(Time(951'782'400s + 1'999us)) == "2000-02-29T00:00:00.001Z");
  CHECK(ib::utc_text(Time(-1ms)) == "1969-12-31T23:59:59.999Z");
}

}  // namespace base_utc_time_tests
