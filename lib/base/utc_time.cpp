// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "base/utc_time.hpp"

#include <fmt/format.h>

#include <ctime>

namespace ib {

std::string utc_text(std::chrono::system_clock::time_point time) {
  constexpr int first_year = 1900;
  const auto second = std::chrono::floor<std::chrono::seconds>(time);
  const auto milliseconds = std::chrono::duration_cast<std::chrono::milliseconds>(time - second).count();
  const std::time_t seconds = std::chrono::system_clock::to_time_t(second);
  std::tm utc{};
  ::gmtime_r(&seconds, &utc);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}Z", utc.tm_year + first_year, utc.tm_mon + 1, utc.tm_mday, utc.tm_hour,
                     utc.tm_min, utc.tm_sec, milliseconds);
}

}  // namespace ib
