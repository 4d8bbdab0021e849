// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Not every fabric answers directed routes that start at a LID ("combined", IBA 14.2.2).
#pragma once

#include <algorithm>
#include <chrono>

#include "path/path.hpp"

namespace ib::subnet {

/// Makes a request on a route that may not be answered one short try (100 ms). Without an answer, something else is tried first.
inline void make_trial(path::IbPath& path) {
  constexpr path::Duration trial_timeout = std::chrono::milliseconds(100);
  path.retries = 0;
  path.timeout = std::min(path.timeout.value_or(trial_timeout), trial_timeout);
}

}  // namespace ib::subnet
