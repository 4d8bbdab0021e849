// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "tools/shared/growth.hpp"

#include <fmt/format.h>

#include <algorithm>

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

Growth::Growth(const counters::CounterChange& of, std::optional<double> seconds) : change(of) {
  if (of.delta && seconds) per_second = static_cast<double>(*of.delta) / *seconds;
}

void Growth::add(const Growth& other) {
  const bool is_known = change.kind != Kind::unknown && other.change.kind != Kind::unknown;
  change.kind = is_known ? std::max(change.kind, other.change.kind) : Kind::unknown;
  change.now += other.change.now;
  const auto sum = [](auto a, auto b) { return a && b ? decltype(a)(*a + *b) : std::nullopt; };
  change.delta = sum(change.delta, other.change.delta);
  per_second = sum(per_second, other.per_second);
}

std::vector<Growth> traffic_growth(const counters::RowDifference& difference) {
  std::vector<Growth> traffic;
  for (std::size_t column = 0; column < counters::columns.size(); ++column) {
    if (!counters::columns[column].is_traffic()) continue;
    const counters::CounterChange change = difference.change(column);
    if (change.kind == Kind::unknown) continue;
    traffic.emplace_back(change, difference.traffic_seconds());
  }
  return traffic;
}

void visit_growth(report::Sink& sink, const Growth& counter, GrowthMembers members) {
  sink.begin_object();
  sink.value("counter", counter.change.counter->name);
  if (members.index) sink.value("index", counter.index);
  sink.value("count", counter.change.now, report::counter(counter.change.counter->unit));
  sink.text_or_null("change", change_word(counter.change.kind));
  sink.value("delta", counter.change.delta);
  sink.value("per_second", counter.per_second);
  if (members.threshold) sink.value("threshold", counter.threshold);
  sink.end_object();
}

void visit_growth(report::Sink& sink, std::string_view key, std::span<const Growth> counters, GrowthMembers members) {
  sink.array(key, counters, [&](const Growth& counter) { visit_growth(sink, counter, members); });
}

void growth_line(TextOut& out, std::string_view label, const Growth& counter) {
  const bool has_grown = counter.change.delta && *counter.change.delta != 0 && counter.per_second;
  if (has_grown) {
    const bool is_least = counter.change.kind == Kind::saturated;
    out.print("{}{:<8} (+ {:.3f}/s{})\n", label, counter.change.now, *counter.per_second, is_least ? " or more" : "");
  } else if (counter.change.kind == Kind::reset || counter.change.kind == Kind::implausible) {
    out.print("{}{:<8} ({})\n", label, counter.change.now, change_word(counter.change.kind));
  } else {
    out.print("{}{}\n", label, counter.change.now);
  }
}

std::string growth_words(std::string_view label, const Growth& counter) {
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
