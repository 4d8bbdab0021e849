// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// What ibqueryerrors found, as text of both dialects and as JSON. Text comes node by node, as they are read, and ends with the report.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "subnet/chassis.hpp"
#include "tools/ibqueryerrors/wanted.hpp"
#include "tools/shared/fabric.hpp"

namespace ib::tools::ibqueryerrors {

/// "[PortXmitData == 1008 (3.938KB)]": a count in units of 1024. Counts of data stand for 4 octets each.
std::string human_count(std::uint64_t value, bool data);

struct ErrorReport final : FabricReport {
  ErrorReport(const Fabric& of, const Wanted& what, const ErrorRules& applied) : FabricReport(of), wanted(what), rules(applied) {}

  void visit(report::Sink& sink) const override;
  /// The summary.
  void text(TextOut& out) const override;
  void diags_text(TextOut& out) const override;
  Exit status() const override;

  /// Adds a node to the summary.
  void count(const counters::PmaNode& node);
  /// What infiniband-diags prints on stderr of its requests to the PMA of a node: each of them with -d, and those that failed.
  void tell_requests(const Session& session, const counters::PmaNode& node) const;
  void node_text(TextOut& out, const counters::PmaNode& node) const;

  const Wanted& wanted;
  const ErrorRules& rules;
  counters::PmaReadings readings;
  bool has_thresholds = true;  ///< the file of thresholds could be read
  subnet::Grouping grouping;   ///< for the ports on the front of a box; only where ports are reported
  bool diags{};
  /// Prints a line of -d of infiniband-diags on stdout.
  std::function<void(TextOut&, std::string_view function, std::string_view text)> debug{};

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
  void visit_node(report::Sink& sink, const counters::PmaNode& node) const;
  void visit_reading(report::Sink& sink, const counters::PmaReading& reading) const;
  /// Sets that reset counters of a port, or of all of a node.
  struct Reset {
    const counters::PmaReading* after{};  ///< of a port that is reset by itself, before the next one is read; else null
    subnet::PortIndex port = subnet::none;
    std::uint8_t select{};
    counters::CounterClear masks;
    const std::vector<counters::PmaProblem>& problems;
  };
  std::vector<Reset> resets(const counters::PmaNode& node) const;
  void reset_text(TextOut& out, const std::vector<Reset>& resets, const counters::PmaReading* after) const;

  bool is_details_error(const counters::PmaReading& reading, std::string_view counter) const;
  std::vector<std::uint16_t> diags_requests(const counters::PmaReading& reading) const;
  void tell_request(const Session& session, subnet::PortIndex port, unsigned select) const;
  void tell_reading(const Session& session, const counters::PmaNode& node, const counters::PmaReading& reading) const;
  void tell_problem(const Session& session, const counters::PmaNode& node, const counters::PmaReading& reading,
                    const counters::PmaProblem& problem) const;
  void tell_reset(const Session& session, const counters::PmaNode& node, const Reset& reset) const;
  void tell_clear(const Session& session, const counters::PmaNode& node, const counters::PmaProblem& problem, subnet::PortIndex port,
                  unsigned select) const;
};

}  // namespace ib::tools::ibqueryerrors
