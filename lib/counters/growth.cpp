// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include <fmt/format.h>

#include "counters/difference.hpp"

namespace ib::counters {
namespace {

/// The word of JSON for a change; empty if nothing is known.
std::string_view change_word(ChangeKind kind) {
  constexpr std::string_view words[] = {"", "counted", "saturated", "reset", "implausible"};
  return words[static_cast<unsigned>(kind)];
}

}  // namespace

void visit_growth(report::Sink& sink, const CounterChange& change, const GrowthMembers& members) {
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

std::string growth_line(std::string_view label, const CounterChange& change) {
  if (change.delta.value_or(0) != 0 && change.per_second) {
    const bool is_least = change.kind == ChangeKind::saturated;
    return fmt::format("{}{:<8} (+ {:.3f}/s{})\n", label, change.now, *change.per_second, is_least ? " or more" : "");
  }
  if (change.kind == ChangeKind::reset || change.kind == ChangeKind::implausible)
    return fmt::format("{}{:<8} ({})\n", label, change.now, change_word(change.kind));
  return fmt::format("{}{}\n", label, change.now);
}

std::string growth_words(std::string_view label, const CounterChange& change) {
  if (change.kind == ChangeKind::reset || change.kind == ChangeKind::implausible)
    return fmt::format(" [{} {}]", label, change_word(change.kind));
  if (change.delta.value_or(0) == 0) return {};
  return fmt::format(" [{} + {}{} ({:.3f}/s)]", label, *change.delta, change.kind == ChangeKind::saturated ? " or more" : "",
                     change.per_second.value_or(0));
}

}  // namespace ib::counters
