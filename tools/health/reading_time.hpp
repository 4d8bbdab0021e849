// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The times of readings that were kept in a file. A window that cannot be is refused: what a clock that was not set yet has written, or
// one that is set now, would make a window of decades, in which no number of errors is too great.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "async/clock.hpp"
#include "async/loop.hpp"
#include "snapshot/stored_fabric.hpp"

namespace ib::tools::health {

using WallTime = std::chrono::system_clock::time_point;

inline constexpr std::chrono::hours longest_window{24 * 365 * 10};

/// Why a reading cannot have been made at `milliseconds` since 1970; empty if it can.
std::string why_impossible(std::optional<std::int64_t> milliseconds, WallTime now);

/// The time of this run at which a stored fabric was complete. It may be before the run's zero. Throws UsageError where the file has no
/// such time, or an impossible one.
async::Time time_of(snapshot::StoredFabric& stored, async::Loop& loop);

/// The time of this run that is `milliseconds` since 1970, which are possible.
async::Time time_of(std::int64_t milliseconds, async::Loop& loop);

}  // namespace ib::tools::health
