// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "tools/shared/growth.hpp"

#include <fmt/format.h>

namespace ib::tools {

using Kind = counters::CounterChange::Kind;

namespace {

/// The word of JSON for a change; empty if nothing is known.
std::string_view change_word(Kind kind) {
  switch (kind) {
    case Kind::counted:
      return "counted";
    case Kind::saturated:
      return "saturated";
    case Kind::reset:
      return "reset";
    case Kind::implausible:
      return "implausible";
    case Kind::unknown:
      break;
  }
  return {};
}

}  // namespace

GrownCounter GrownCounter::of(std::string_view name, const FieldInfo& field, std::uint64_t count, const counters::CounterChange& change,
                              std::optional<double> seconds) {
  GrownCounter grown{name, count, change};
  grown.unit = field.unit;
  if (change.delta && seconds) grown.per_second = static_cast<double>(*change.delta) / *seconds;
  return grown;
}

std::vector<GrownCounter> traffic_growth(const counters::RowDifference& difference) {
  std::vector<GrownCounter> traffic;
  for (std::size_t column = 0; column < counters::columns.size(); ++column) {
    if (!counters::columns[column].is_traffic()) continue;
    const counters::CounterChange change = difference.change(column);
    if (change.kind == Kind::unknown) continue;
    traffic.push_back(GrownCounter::of(change.counter->name, *change.counter, change.now, change, difference.traffic_seconds()));
  }
  return traffic;
}

void visit_growth(report::Sink& sink, const GrownCounter& counter, GrowthMembers members) {
  sink.begin_object();
  sink.value("counter", counter.name);
  if (members.index) sink.value("index", counter.index);
  sink.value("count", counter.count, report::counter(counter.unit));
  sink.text_or_null("change", change_word(counter.change.kind));
  sink.value("delta", counter.change.delta);
  sink.value("per_second", counter.per_second);
  if (members.threshold) sink.value("threshold", counter.threshold);
  sink.end_object();
}

void visit_growth(report::Sink& sink, std::string_view key, std::span<const GrownCounter> counters, GrowthMembers members) {
  sink.array(key, counters, [&](const GrownCounter& counter) { visit_growth(sink, counter, members); });
}

void growth_line(TextOut& out, std::string_view label, const GrownCounter& counter) {
  const bool has_grown = counter.change.delta && *counter.change.delta != 0 && counter.per_second;
  if (has_grown) {
    const bool is_least = counter.change.kind == Kind::saturated;
    out.print("{}{:<8} (+ {:.3f}/s{})\n", label, counter.count, *counter.per_second, is_least ? " or more" : "");
  } else if (counter.change.kind == Kind::reset || counter.change.kind == Kind::implausible) {
    out.print("{}{:<8} ({})\n", label, counter.count, change_word(counter.change.kind));
  } else {
    out.print("{}{}\n", label, counter.count);
  }
}

std::string growth_words(std::string_view label, const GrownCounter& counter) {
  const Kind kind = counter.change.kind;
  if (kind == Kind::reset || kind == Kind::implausible) return fmt::format(" [{} {}]", label, change_word(kind));
  if (counter.change.delta.value_or(0) == 0) return {};
  return fmt::format(" [{} + {}{} ({:.3f}/s)]", label, *counter.change.delta, kind == Kind::saturated ? " or more" : "",
                     counter.per_second.value_or(0));
}

void begin_round(report::Sink& sink, const Round& round) {
  sink.begin_object();
  sink.value("time", round.time);
  sink.value("seconds", round.seconds);
}

}  // namespace ib::tools
