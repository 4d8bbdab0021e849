// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "tools/shared/interval.hpp"

#include <fmt/format.h>

#include <charconv>

#include "async/signals.hpp"
#include "base/escape.hpp"
#include "counters/difference.hpp"
#include "tools/frame/emit.hpp"
#include "tools/frame/options.hpp"
#include "tools/frame/stack.hpp"
#include "tools/frame/targets.hpp"

namespace ib::tools {
namespace {

using Once = std::function<async::Task<>(Round round)>;

async::Task<> repeat_on(async::Loop& loop, Interval interval, Once once) {
  const auto pause = std::chrono::duration_cast<async::Duration>(std::chrono::duration<double>(interval.seconds.value_or(0)));
  const async::Time start = loop.now();
  std::optional<async::Time> last;
  for (std::uint64_t done = 0; done != interval.count; ++done) {
    if (last) {
      const async::Duration passed = loop.now() - start;
      co_await loop.sleep_for((passed / pause + 1) * pause - passed);
    }
    Round round;
    const async::Time now = loop.now();
    if (last) round.seconds = counters::seconds_between(*last, now);
    round.time = utc_text(loop.clock().wall_time());
    last = now;
    co_await once(round);
  }
}

}  // namespace

double parse_seconds(std::string_view text, std::string_view option) {
  constexpr double least = 0.001, most = 86400;
  double value = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (code != std::errc() || end != text.data() + text.size() || !(value >= least && value <= most))
    throw OptionError(fmt::format("{}: {} is not a number of seconds from 0.001 to 86400", option, in_quotes(text)));
  return value;
}

void add_interval(OptionSet& set, Interval& interval) {
  set.value("--interval", "SECONDS", "Read again and again, and print what was counted in between, and its rates. Nothing is reset.",
            [&interval](std::string_view text) { interval.seconds = parse_seconds(text, "--interval"); });
  set.number("--count", interval.count, "COUNT", "With --interval: end after this many readings. Without it they go on until Ctrl-C.",
             {.low = 1});
}

void check_interval(const Interval& interval) {
  if (interval.count && !interval.seconds) throw UsageError("--count, of readings, needs --interval");
}

void require_one_target(Targets& targets, const Interval& interval) {
  if (interval.repeats() && targets.has_pattern()) throw UsageError("--interval watches one node, and TARGET is a pattern of names");
}

async::Task<> repeat(Stack& stack, Emit& emit, Interval interval, Once once) {
  if (emit.json()) emit.sink().begin_array("readings");
  if (interval.repeats()) stack.require_fabric("--interval");
  async::Task<> rounds = repeat_on(stack.loop(), interval, std::move(once));
  async::Interrupt interrupt(stack.loop());
  co_await async::until_interrupted(stack.loop(), interrupt, std::move(rounds));
  if (emit.json()) emit.sink().end_array();
}

std::string utc_text(std::chrono::system_clock::time_point time) {
  const auto milliseconds = std::chrono::floor<std::chrono::milliseconds>(time);
  const auto day = std::chrono::floor<std::chrono::days>(milliseconds);
  const std::chrono::year_month_day date(day);
  const std::chrono::hh_mm_ss clock(milliseconds - day);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}Z", int{date.year()}, unsigned{date.month()}, unsigned{date.day()},
                     clock.hours().count(), clock.minutes().count(), clock.seconds().count(), clock.subseconds().count());
}

void begin_round(report::Sink& sink, const Round& round) {
  sink.begin_object();
  sink.value("time", round.time);
  sink.value("seconds", round.seconds);
}

}  // namespace ib::tools
