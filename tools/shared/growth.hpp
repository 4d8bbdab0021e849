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

/// A counter that was read again.
struct GrownCounter {
  std::string_view name;  ///< in iba-defs: `port_xmit_data`
  std::uint64_t count{};  ///< its value in the last reading
  counters::CounterChange change{};
  std::optional<double> per_second{};        ///< absent if not known
  std::optional<std::uint32_t> index{};      ///< of an element of an array
  std::optional<std::uint64_t> threshold{};  ///< the threshold that it exceeds
  std::string_view unit{};                   ///< of FieldInfo: what one count is

  /// A counter with the change `change` in `seconds`. `field` gives the unit.
  static GrownCounter of(std::string_view name, const FieldInfo& field, std::uint64_t count, const counters::CounterChange& change,
                         std::optional<double> seconds);
};

/// The change of the counters of data and packets, as far as it is known.
std::vector<GrownCounter> traffic_growth(const counters::RowDifference& difference);

/// Members that only some lists of counters have.
struct GrowthMembers {
  bool index{}, threshold{};
};

/// Writes an element of an array: `counter`, `count`, `change`, `delta`, `per_second`, and what `members` says.
void visit_growth(report::Sink& sink, const GrownCounter& counter, GrowthMembers members = {});
/// Writes the array `key` of such elements.
void visit_growth(report::Sink& sink, std::string_view key, std::span<const GrownCounter> counters, GrowthMembers members = {});

/// Writes the line of a counter, whose name `label` has its dots already: "PortXmitData:....123      (+ 4.000/s)".
void growth_line(TextOut& out, std::string_view label, const GrownCounter& counter);
/// " [PortXmitData + 123 (4.000/s)]"; " [PortXmitData reset]" if it was reset, and the like. Nothing if the counter did not grow.
std::string growth_words(std::string_view label, const GrownCounter& counter);

/// Begins one of several readings in JSON, an object with `time` and `seconds`.
void begin_round(report::Sink& sink, const Round& round);

}  // namespace ib::tools
