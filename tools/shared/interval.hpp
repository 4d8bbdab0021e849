// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The options --interval and --count, for commands that read counters repeatedly and print the differences.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "async/task.hpp"
#include "report/sink.hpp"

namespace ib::tools {

class Emit;
class OptionSet;
class Stack;
class Targets;

struct Interval {
  std::optional<double> seconds;       ///< the time between two readings; absent: only one reading
  std::optional<std::uint64_t> count;  ///< the number of readings; absent: until Ctrl-C

  bool repeats() const { return seconds.has_value(); }
};

/// Reads a number of seconds with a fraction: 0.001 … 86400. Throws OptionError.
double parse_seconds(std::string_view text, std::string_view option);

void add_interval(OptionSet& set, Interval& interval);
void check_interval(const Interval& interval);
/// Throws UsageError where the readings repeat and TARGET is a pattern of names: only one node is watched.
void require_one_target(Targets& targets, const Interval& interval);

/// "2001-09-09T01:46:40.000Z": ISO 8601, in UTC, with milliseconds.
std::string utc_text(std::chrono::system_clock::time_point time);

/// One of several readings.
struct Round {
  std::string time;               ///< when it began: utc_text()
  std::optional<double> seconds;  ///< since the reading before began; absent for the first one
};

/// Calls `once` for each reading, which in JSON is an element of the list `readings`. Readings begin at whole multiples of the interval
/// after the first one. If a reading takes longer than the interval, the multiples that have passed meanwhile are left out.
async::Task<> repeat(Stack& stack, Emit& emit, Interval interval, std::function<async::Task<>(Round round)> once);

/// Begins one of several readings in JSON, an object with `time` and `seconds`.
void begin_round(report::Sink& sink, const Round& round);

}  // namespace ib::tools
