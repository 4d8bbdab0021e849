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

void visit_growth(report::Sink& sink, const counters::CounterChange& change, const GrowthMembers& members) {
  sink.begin_object();
  sink.value("counter", change.counter->name);
  if (members.has_index) sink.value("index", members.index);
  sink.value("count", change.now, report::counter(change.counter->unit));
  sink.text_or_null("change", change_word(change.kind));
  sink.value("delta", change.delta);
  sink.value("per_second", change.per_second);
  if (members.threshold) sink.value("threshold", *members.threshold);
  sink.end_object();
}

void growth_line(TextOut& out, std::string_view label, const counters::CounterChange& change) {
  const bool has_grown = change.delta.value_or(0) != 0 && change.per_second;
  if (has_grown) {
    const bool is_least = change.kind == Kind::saturated;
    out.print("{}{:<8} (+ {:.3f}/s{})\n", label, change.now, *change.per_second, is_least ? " or more" : "");
  } else if (change.kind == Kind::reset || change.kind == Kind::implausible) {
    out.print("{}{:<8} ({})\n", label, change.now, change_word(change.kind));
  } else {
    out.print("{}{}\n", label, change.now);
  }
}

std::string growth_words(std::string_view label, const counters::CounterChange& change) {
  if (change.kind == Kind::reset || change.kind == Kind::implausible) return fmt::format(" [{} {}]", label, change_word(change.kind));
  if (change.delta.value_or(0) == 0) return {};
  return fmt::format(" [{} + {}{} ({:.3f}/s)]", label, *change.delta, change.kind == Kind::saturated ? " or more" : "",
                     change.per_second.value_or(0));
}

void begin_round(report::Sink& sink, const Round& round) {
  sink.begin_object();
  sink.value("time", round.time);
  sink.value("seconds", round.seconds);
}

}  // namespace ib::tools
