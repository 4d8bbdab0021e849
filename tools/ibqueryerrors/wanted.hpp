// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// What ibqueryerrors is to do, in the words of both dialects.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "counters/counters.hpp"
#include "counters/readings.hpp"
#include "counters/thresholds.hpp"

namespace ib::tools::ibqueryerrors {

/// The counters of errors, in the order of PortCounters. QP1Dropped is not one of them, as in infiniband-diags.
const std::vector<const counters::CounterInfo*>& error_counters();
/// The name of a counter in the texts of infiniband-diags.
std::string_view counter_name(const counters::CounterInfo& counter);

/// What counts as an error.
class ErrorRules {
 public:
  /// Reads a file of thresholds as infiniband-diags does: NAME=NUMBER a line, other lines are ignored. False where it cannot be read.
  bool read_thresholds(const std::string& file);
  /// Takes thresholds that were read by the rules of ibtool.
  void take(const counters::ErrorThresholds& thresholds);
  /// "[SymbolErrorCounter = 10][…]", in the order of the file.
  const std::string& thresholds_text() const { return text_; }
  /// A counter that is never an error. Any name of a field of PortCounters is taken; the first 64 are kept.
  void suppress(std::string_view name);
  const std::vector<std::string>& suppressed() const { return suppressed_; }
  /// Names that were one too many.
  const std::vector<std::string>& skipped() const { return skipped_; }

  /// The columns of the counters that are beyond their thresholds, in the order of error_counters().
  std::vector<std::size_t> errors_of(const counters::CounterRow& row) const;
  bool is_error(const counters::CounterRow& row, const counters::CounterInfo& counter) const;
  bool is_error(const counters::CounterRow& row, std::string_view counter) const;
  /// By the name of a counter in iba-defs.
  std::uint64_t threshold_of(std::string_view counter) const { return thresholds_.find(counter).value_or(0); }
  bool is_suppressed(const counters::CounterInfo& counter) const;
  const std::vector<counters::ErrorThresholds::Threshold>& thresholds() const { return thresholds_.all(); }

 private:
  void set_threshold(const counters::CounterInfo& counter, std::uint64_t value);

  counters::ErrorThresholds thresholds_;
  std::string text_;
  std::vector<std::string> suppressed_, skipped_;
};

struct Wanted {
  bool data{}, data_only{}, details{}, report_port{};
  bool switches{}, cas{}, routers{};
  bool clear_errors{}, clear_counts{};
  std::optional<std::string> threshold_file;

  /// Whether nodes of that kind are checked.
  bool is_wanted(subnet::NodeKind kind) const {
    if (!switches && !cas && !routers) return kind != subnet::NodeKind::other;
    return (kind == subnet::NodeKind::sw && switches) || (kind == subnet::NodeKind::ca && cas) ||
           (kind == subnet::NodeKind::router && routers);
  }
  bool clears() const { return clear_errors || clear_counts; }
  /// The counters that are reset; empty if none are.
  counters::CounterChoice clear() const {
    if (!clears()) return {};
    return [errors = clear_errors, counts = clear_counts](const counters::CounterInfo& counter) {
      return counter.traffic ? counts : errors && counter.name != "qp1_dropped";
    };
  }
  bool clears_details() const { return clear_errors && details; }
};

}  // namespace ib::tools::ibqueryerrors
