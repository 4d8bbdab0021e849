// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Which ports of a fabric have counted errors: which counters are errors, and from which count on (ErrorThresholds), what is read of each
// port and cleared then (ErrorQuery), and how many nodes and ports have errors (ErrorSummary).
//
//   ErrorQuery query; query.take(ErrorThresholds::usual());
//   ReadingPlan plan = query.plan(); plan.on_node = [&](const PmaNode& node) { summary.add(subnet, node, query); … };
//   co_await read_pmas(transactor, subnet, nodes, plan, options);
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/log.hpp"
#include "counters/difference.hpp"
#include "counters/readings.hpp"
#include "subnet/model/port_checks.hpp"

namespace ib::counters {

// Thresholds of error counters: a counter that exceeds its threshold is reported to the user. The file has the format of infiniband-diags.
// Each counter has one line:
//   SymbolErrorCounter=10
// A counter is named as in the IBA, libibmad or perfquery, without regard to case. The number is in C notation. Empty
// lines and lines that begin with '#' are ignored. The last line of a counter applies.

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

/// The counters of errors, in the order of PortCounters. QP1Dropped is not one of them, as in infiniband-diags.
const std::vector<const CounterInfo*>& error_counters();
/// The name of a counter in libibmad.
std::string_view libibmad_name(const CounterInfo& counter);

struct ErrorQuery {
  bool data{};                          ///< data and packets of ports with errors too
  bool data_only{};                     ///< data and packets of all ports, and no errors
  bool details{};                       ///< PortXmitDiscardDetails and PortRcvErrorDetails, where their sums are errors
  bool clear_errors{}, clear_counts{};  ///< the counters that are cleared after they were read

  ErrorThresholds thresholds{};                      ///< the highest counts that are not errors; of other counters 0
  std::vector<ErrorThresholds::Threshold> given{};   ///< as they were read, in the order of the file
  std::vector<std::string> suppressed{}, skipped{};  ///< counters that are never errors; `skipped`: names that were one too many

  /// Reads a file of thresholds as infiniband-diags does: NAME=NUMBER a line, other lines are ignored. False where it cannot be read.
  bool read_thresholds(const std::string& file);
  /// Takes the thresholds of error_counters().
  void take(const ErrorThresholds& read);
  /// A counter that is never an error. Any name that libibmad has for a field of PortCounters is taken; the first 64 are kept.
  void suppress(std::string_view name);

  /// By the name of a counter in iba-defs.
  std::uint64_t threshold_of(std::string_view counter) const { return thresholds.find(counter).value_or(0); }
  bool is_suppressed(const CounterInfo& counter) const;
  /// The columns of the counters that are beyond their thresholds, in the order of error_counters().
  std::vector<std::size_t> errors_of(const CounterRow& row) const;
  bool has_errors(const PmaReading& reading) const { return reading.known() && !errors_of(reading.row).empty(); }
  /// The counters that have counted more errors than their thresholds, or were cleared; then data and packets, if they are wanted.
  PortChanges growth(const RowDifference& difference) const;
  /// The counters of errors in it.
  static std::span<const CounterChange> errors_in(const PortChanges& growth);

  bool clears() const { return clear_errors || clear_counts; }
  /// The requests. This object must outlive the reading.
  ReadingPlan plan() const;

 private:
  void set(const CounterInfo& counter, std::uint64_t value);
};

/// Of how many nodes and ports counters were read, and how many have errors.
struct ErrorSummary {
  /// `counts_unread`: nodes and ports whose counters were not read count as checked, too.
  void add(const subnet::Subnet& subnet, const PmaNode& node, const ErrorQuery& query, bool counts_unread = false);
  /// Adds what the ports of a node have counted since the rows in `history`, which gets these. A port has errors where a counter of errors
  /// has counted. Returns the ports with notable counters of errors; of a query of data only, all that were read before.
  std::vector<PortChanges> add_growth(const subnet::Subnet& subnet, const PmaNode& node, const ErrorQuery& query, CounterHistory& history);

  std::size_t nodes{}, bad_nodes{}, ports{}, bad_ports{};
  std::size_t failed_requests{};  ///< Gets
};

}  // namespace ib::counters
