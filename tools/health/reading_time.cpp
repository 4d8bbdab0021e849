// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "tools/health/reading_time.hpp"

#include <fmt/format.h>

#include "base/error.hpp"
#include "base/escape.hpp"

namespace ib::tools::health {

std::string why_impossible(std::optional<std::int64_t> milliseconds, WallTime now) {
  constexpr std::int64_t day = 86400000;  // milliseconds
  const std::int64_t present = std::chrono::duration_cast<std::chrono::milliseconds>(now.time_since_epoch()).count();
  if (!milliseconds) return "it does not say when it was written";
  if (*milliseconds <= 0) return "it is dated before 1970, or its clock was not set";
  if (*milliseconds > present) return "it is dated in the future: check the clocks of both hosts";
  const std::int64_t age = present - *milliseconds;
  if (age > std::chrono::milliseconds(longest_window).count())
    return fmt::format("it is dated {} days ago, as if its clock had not been set", age / day);
  return {};
}

async::Time time_of(std::int64_t milliseconds, async::Loop& loop) {
  const WallTime then{std::chrono::milliseconds(milliseconds)};
  return loop.now() - std::chrono::duration_cast<async::Duration>(loop.clock().wall_time() - then);
}

async::Time time_of(snapshot::StoredFabric& stored, async::Loop& loop) {
  const std::optional<std::int64_t> ended = stored.ended();
  const std::string why = why_impossible(ended, loop.clock().wall_time());
  if (!why.empty()) throw UsageError(fmt::format("{} cannot begin a window: {}", in_quotes(stored.file()), why));
  return time_of(*ended, loop);
}

}  // namespace ib::tools::health
