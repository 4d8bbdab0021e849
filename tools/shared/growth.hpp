// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The change of counters between two readings, for all commands with --interval: perfquery, ibswportwatch, ibqueryerrors and
// ibdatacounters. The members of JSON and the lines of text are defined here only.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "counters/difference.hpp"
#include "iba/struct_info.hpp"
#include "report/sink.hpp"
#include "tools/frame/emit.hpp"
#include "tools/shared/interval.hpp"

namespace ib::tools {

/// Members that only some lists of counters have.
struct GrowthMembers {
  bool has_index{};
  std::optional<std::uint32_t> index{};      ///< of an element of an array; absent: the counter is none
  std::optional<std::uint64_t> threshold{};  ///< what the counter exceeds; absent: it is not a member
};

/// Writes an element of an array: `counter`, `count`, `change`, `delta`, `per_second`, and what `members` says.
void visit_growth(report::Sink& sink, const counters::CounterChange& change, const GrowthMembers& members = {});

/// Writes the line of a counter, whose name `label` has its dots already: "PortXmitData:....123      (+ 4.000/s)".
void growth_line(TextOut& out, std::string_view label, const counters::CounterChange& change);
/// " [PortXmitData + 123 (4.000/s)]"; " [PortXmitData reset]" if it was reset, and the like. Nothing if the counter did not grow.
std::string growth_words(std::string_view label, const counters::CounterChange& change);

/// Begins one of several readings in JSON, an object with `time` and `seconds`.
void begin_round(report::Sink& sink, const Round& round);

}  // namespace ib::tools
