// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Thresholds of error counters: a counter that exceeds its threshold is reported to the user. The file has the format of infiniband-diags.
// Each counter has one line:
//   SymbolErrorCounter=10
// A counter is named as in the IBA, libibmad or perfquery, without regard to case. The number is in C notation. Empty
// lines and lines that begin with '#' are ignored. The last line of a counter applies.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/log.hpp"
#include "counters/row.hpp"
#include "subnet/model/port_checks.hpp"

namespace ib::counters {

/// The site's file of thresholds. It need not exist.
inline constexpr const char* default_error_thresholds_file = "/etc/infiniband-diags/error_thresholds";
inline constexpr std::size_t longest_thresholds_file = std::size_t{1} << 20;  // bytes

/// The thresholds of error counters, for example of one file.
class ErrorThresholds {
 public:
  /// A counter exceeds its threshold if it is greater than `value`.
  struct Threshold {
    const CounterInfo* counter;
    std::uint64_t value;
  };
  /// A wrong line, which is ignored.
  struct BadLine {
    std::size_t number;  ///< from 1
    std::string text;    ///< as in the file
    std::string why;     ///< the reason as one line for people
  };

  /// The default thresholds: 10 for errors that a good link does not have, 100 for other errors. Counters of traffic and of
  /// waiting have no threshold.
  static ErrorThresholds usual();
  static ErrorThresholds parse(std::string_view text);
  /// Reads `file`, which may have up to 1 MiB. Throws as read_regular_file() does.
  static ErrorThresholds read(const std::string& file);
  /// The thresholds of `file`, if a command line gives it: throws UsageError for a wrong line, whose counter would have a threshold that
  /// nobody has chosen. Else the usual ones, changed by the site's file, which may be missing or unreadable; a wrong line is a warning.
  static ErrorThresholds given_or_usual(const std::optional<std::string>& file, Log& log, ErrorThresholds usual = ErrorThresholds::usual());

  /// The threshold of a counter by its name in iba-defs. Nothing if the counter has none.
  std::optional<std::uint64_t> find(std::string_view counter) const;
  /// All thresholds in the order in which their counters were first set.
  const std::vector<Threshold>& all() const { return all_; }
  const std::vector<BadLine>& bad_lines() const { return bad_lines_; }

  void set(const CounterInfo& counter, std::uint64_t value);
  /// Adds the thresholds and the bad lines of `other`. Its thresholds replace earlier ones.
  void add(const ErrorThresholds& other);

 private:
  std::vector<Threshold> all_;
  std::vector<BadLine> bad_lines_;
};

/// Whether only PortCountersExtended can show that a counter exceeds `threshold`: PortCounters does not have the counter, or its field is
/// too narrow.
bool needs_extended(const ErrorThresholds::Threshold& threshold);
/// The counters that are beyond their threshold, in the order of the thresholds. A threshold of 0 stands for none.
subnet::Mismatches check_counters(const CounterRow& row, const ErrorThresholds& thresholds);

}  // namespace ib::counters
