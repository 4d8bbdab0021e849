// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// A date and time of day as text.
#pragma once

#include <chrono>
#include <string>

namespace ib {

/// "2001-09-09T01:46:40.000Z": ISO 8601, in UTC, with milliseconds.
std::string utc_text(std::chrono::system_clock::time_point time);

}  // namespace ib
