// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The change of counters between two readings, for all commands with --interval: perfquery, ibswportwatch, ibqueryerrors and
// ibdatacounters. The members of JSON and the lines of text are defined here only.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "counters/difference.hpp"
#include "iba/struct_info.hpp"
#include "report/sink.hpp"
#include "tools/frame/emit.hpp"
#include "tools/shared/interval.hpp"

namespace ib::tools {

/// A counter that was read again, or the sum of those of several ports. `change` says which counter, and what it holds.
struct Growth {
  counters::CounterChange change{};
  std::optional<double> per_second{};        ///< absent if not known
  std::optional<std::uint32_t> index{};      ///< of an element of an array
  std::optional<std::uint64_t> threshold{};  ///< the threshold that it exceeds

  /// A counter that has changed in `seconds`.
  Growth(const counters::CounterChange& of, std::optional<double> seconds);
  Growth() = default;
  /// Adds the counter of another port. What is unknown of one port is unknown of the sum, which is saturated, reset or implausible if it is
  /// so of one of them.
  void add(const Growth& other);
};

/// The change of the counters of data and packets, as far as it is known.
std::vector<Growth> traffic_growth(const counters::RowDifference& difference);

/// Members that only some lists of counters have.
struct GrowthMembers {
  bool index{}, threshold{};
};

/// Writes an element of an array: `counter`, `count`, `change`, `delta`, `per_second`, and what `members` says.
void visit_growth(report::Sink& sink, const Growth& counter, GrowthMembers members = {});
/// Writes the array `key` of such elements.
void visit_growth(report::Sink& sink, std::string_view key, std::span<const Growth> counters, GrowthMembers members = {});

/// Writes the line of a counter, whose name `label` has its dots already: "PortXmitData:....123      (+ 4.000/s)".
void growth_line(TextOut& out, std::string_view label, const Growth& counter);
/// " [PortXmitData + 123 (4.000/s)]"; " [PortXmitData reset]" if it was reset, and the like. Nothing if the counter did not grow.
std::string growth_words(std::string_view label, const Growth& counter);

/// Begins one of several readings in JSON, an object with `time` and `seconds`.
void begin_round(report::Sink& sink, const Round& round);

}  // namespace ib::tools
