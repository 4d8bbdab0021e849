// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// What ibqueryerrors found, as text and as JSON. Text comes node by node, as they are read, and ends with the report.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "subnet/model/chassis.hpp"
#include "tools/ibqueryerrors/wanted.hpp"
#include "tools/shared/fabric.hpp"
#include "tools/shared/fabric_columns.hpp"

namespace ib::tools::ibqueryerrors {

/// "[PortXmitData == 1008 (3.938KB)]": a count in units of 1024. Counts of data stand for 4 octets each.
std::string human_count(std::uint64_t value, bool data);

struct ErrorReport : FabricReport {
  ErrorReport(const Fabric& of, const Wanted& what, const ErrorRules& applied) : FabricReport(of), wanted(what), rules(applied) {}

  void visit(report::Sink& sink) const override;
  /// The summary.
  void text(TextOut& out) const override;
  Exit status() const override;

  /// Adds a node to the summary.
  void count(const counters::PmaNode& node);
  /// The lines of a node.
  void node_text(TextOut& out, const counters::PmaNode& node) const;
  /// Calls `use` with the reading of each port that is reported.
  template <class Use>
  void each_reported_port(const counters::PmaNode& node, Use use) const {
    for (const counters::PmaReading& reading : node.ports)
      if (is_reported(reading)) use(reading);
  }

  /// Write lists of the counters of a port as the member `key`: `errors`, which are columns; PortXmitDiscardDetails and
  /// PortRcvErrorDetails; data and packets.
  void visit_errors(report::Sink& sink, std::string_view key, const counters::CounterRow& row,
                    const std::vector<std::size_t>& errors) const;
  static void visit_details(report::Sink& sink, std::string_view key, const counters::CounterRow& row);
  static void visit_traffic(report::Sink& sink, std::string_view key, const counters::CounterRow& row);

  const Wanted& wanted;
  const ErrorRules& rules;
  counters::PmaReadings readings;
  subnet::Grouping grouping;  ///< for the ports on the front of a box; only where ports are reported

  // The summary.
  std::size_t nodes_checked{}, bad_nodes{}, ports_checked{}, bad_ports{}, failed_queries{};

 protected:
  // The words of a dialect.
  virtual std::string quoted_name(subnet::NodeIndex node) const;  ///< of subnet::none: that of a node that is not known
  virtual std::string guid(Guid value) const;
  virtual std::string guid_of_far_end(Guid value) const { return guid(value); }
  virtual std::string far_end(subnet::PortIndex port) const;
  virtual std::string thresholds_text() const;

 private:
  bool has_errors(const counters::PmaReading& reading) const { return reading.known() && !rules.errors_of(reading.row).empty(); }
  bool is_reported(const counters::PmaReading& reading) const;
  void header(TextOut& out, const counters::PmaNode& node) const;
  void reading_text(TextOut& out, const counters::PmaNode& node, const counters::PmaReading& reading) const;
  std::string errors_text(const counters::PmaReading& reading) const;
  std::string traffic_text(const counters::PmaReading& reading, bool with_zeros) const;
  void link_text(TextOut& out, subnet::PortIndex port) const;
  std::string external(subnet::PortIndex port) const;
  void visit_node(report::Sink& sink, const counters::PmaNode& node) const;
  void visit_all_ports(report::Sink& sink, const counters::PmaReading* all) const;
  void visit_port(report::Sink& sink, const counters::PmaReading& reading, const std::vector<std::size_t>& errors) const;
  void visit_reading(report::Sink& sink, const counters::PmaReading& reading, const std::vector<std::size_t>& errors) const;
  void visit_example(report::Sink& sink) const;
};

/// A row of a table: a port, and what was read of it.
struct ErrorLine : PortLine {
  const ErrorReport* report;
  counters::CounterRow counts;
};
/// The columns of a port, of its counters in lists, and of each counter.
std::vector<report::Column<ErrorLine>> error_columns(const Wanted& wanted);

/// What infiniband-diags prints of it, and on stderr of requests to PMAs that failed.
class DiagsErrorReport final : public ErrorReport {
 public:
  DiagsErrorReport(const Fabric& of, const Wanted& what, const ErrorRules& applied, const Host& host)
      : ErrorReport(of, what, applied), host_(host) {}

  bool has_thresholds = true;  ///< the file of thresholds could be read

  /// The lines of a node, and on stderr those of the requests to its PMA that failed.
  void print_node(TextOut& out, const counters::PmaNode& node) const;
  void diags_text(TextOut& out) const override { text(out); }

 protected:
  std::string quoted_name(subnet::NodeIndex node) const override;
  std::string guid(Guid value) const override;
  std::string guid_of_far_end(Guid value) const override;
  std::string far_end(subnet::PortIndex port) const override;
  std::string thresholds_text() const override;

 private:
  void report_problem(std::string_view function, std::string_view what, const counters::PmaNode& node, subnet::PortIndex port,
                      unsigned select) const;
  void report_clear(const counters::PmaProblem& problem, const counters::PmaNode& node, subnet::PortIndex port, unsigned select) const;
  void report_reading(const counters::PmaNode& node, const counters::PmaReading& reading) const;

  const Host& host_;
};

}  // namespace ib::tools::ibqueryerrors
