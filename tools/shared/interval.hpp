// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// --interval and --count: a command that reads counters again and again, and shows what happened in between.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "async/task.hpp"
#include "tools/frame/options.hpp"

namespace ib::tools {

class Session;

struct Interval {
  std::optional<double> seconds;       ///< from one reading to the next; nothing: one reading is all
  std::optional<std::uint64_t> count;  ///< of readings; nothing: until Ctrl-C

  bool repeats() const { return seconds.has_value(); }
};

/// Reads a number of seconds with a fraction: 0.001 … 86400. Throws OptionError.
double parse_seconds(std::string_view text, std::string_view option);

/// Adds --interval and --count.
void add_interval(OptionSet& set, Interval& interval);
/// Throws UsageError for a --count without --interval.
void check_interval(const Interval& interval);

/// Calls `once` as often as the interval says, until Ctrl-C. It gets the seconds since its call before: nothing the first time. Readings
/// are due at whole multiples of the interval from the first one on; one that takes longer delays none but itself.
async::Task<> repeat(Session& session, Interval interval, std::function<async::Task<>(std::optional<double> seconds)> once);

}  // namespace ib::tools
