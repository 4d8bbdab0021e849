// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "base/utc_time.hpp"

#include <fmt/format.h>

namespace ib {

std::string utc_text(std::chrono::system_clock::time_point time) {
  const auto milliseconds = std::chrono::floor<std::chrono::milliseconds>(time);
  const auto day = std::chrono::floor<std::chrono::days>(milliseconds);
  const std::chrono::year_month_day date(day);
  const std::chrono::hh_mm_ss clock(milliseconds - day);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}Z", int{date.year()}, unsigned{date.month()}, unsigned{date.day()},
                     clock.hours().count(), clock.minutes().count(), clock.seconds().count(), clock.subseconds().count());
}

}  // namespace ib
