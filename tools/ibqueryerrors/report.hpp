// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// What ibqueryerrors found, as text of both dialects and as JSON. Text comes node by node, as they are read, and ends with the report.
#pragma once

#include <string>

#include "subnet/chassis.hpp"
#include "tools/ibqueryerrors/wanted.hpp"
#include "tools/shared/fabric.hpp"

namespace ib::tools::ibqueryerrors {

/// "[PortXmitData == 1008 (3.938KB)]": a count in units of 1024. Counts of data stand for 4 octets each.
std::string human_count(std::uint64_t value, bool data);

struct ErrorReport final : FabricReport {
  ErrorReport(const Fabric& of, const Wanted& what, const ErrorRules& applied) : FabricReport(of), wanted(what), rules(applied) {}

  void visit(out::Sink& sink) const override;
  /// The summary.
  void text(TextOut& out) const override;
  void diags_text(TextOut& out) const override;
  Exit status() const override;

  /// Adds a node to the summary.
  void count(const counters::PmaNode& node);
  /// What the programs of infiniband-diags say on stderr of requests to a node that failed.
  void tell_problems(const Session& session, const counters::PmaNode& node) const;
  void node_text(TextOut& out, const counters::PmaNode& node) const;

  const Wanted& wanted;
  const ErrorRules& rules;
  counters::PmaReadings readings;
  bool has_thresholds = true;  ///< the file of thresholds could be read
  subnet::Grouping grouping;   ///< for the ports on the front of a box; only where ports are reported
  bool diags{};

  // The summary.
  std::size_t nodes_checked{}, bad_nodes{}, ports_checked{}, bad_ports{}, failed_queries{};

 private:
  /// How each dialect writes what it names.
  std::string name(subnet::NodeIndex node) const;
  std::string guid(Guid value) const;

  bool has_errors(const counters::PmaReading& reading) const { return reading.known() && !rules.errors_of(reading).empty(); }
  bool is_told(const counters::PmaReading& reading) const;
  void header(TextOut& out, const counters::PmaNode& node) const;
  void reading_text(TextOut& out, const counters::PmaNode& node, const counters::PmaReading& reading) const;
  std::string errors_text(const counters::PmaReading& reading) const;
  std::string traffic_text(const counters::PmaReading& reading, bool with_zeros) const;
  void link_text(TextOut& out, subnet::PortIndex port) const;
  std::string external(subnet::PortIndex port) const;
  void visit_node(out::Sink& sink, const counters::PmaNode& node) const;
  void visit_reading(out::Sink& sink, const counters::PmaReading& reading) const;
  void tell_problem(const Session& session, const counters::PmaNode& node, const counters::PmaReading& reading,
                    const counters::PmaProblem& problem) const;
  void tell_clear(const Session& session, const counters::PmaNode& node, const counters::PmaProblem& problem, subnet::PortIndex port,
                  unsigned select) const;
};

}  // namespace ib::tools::ibqueryerrors
