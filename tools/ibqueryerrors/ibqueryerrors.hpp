// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// What ibqueryerrors does in both dialects: which nodes it checks, what counts as an error, and what it found.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "async/task.hpp"
#include "counters/history.hpp"
#include "counters/readings.hpp"
#include "counters/thresholds.hpp"
#include "subnet/model/chassis.hpp"
#include "subnet/model/port_paths.hpp"
#include "tools/frame/session.hpp"
#include "tools/frame/target.hpp"
#include "tools/shared/fabric.hpp"
#include "tools/shared/fabric_columns.hpp"
#include "tools/shared/fabric_report.hpp"
#include "tools/shared/interval.hpp"
#include "tools/shared/libibnetdisc.hpp"

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

struct QueryOptions {
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
  /// Those of `nodes` that are checked.
  std::vector<subnet::NodeIndex> wanted_of(const Fabric& fabric, std::vector<subnet::NodeIndex> nodes) const {
    std::erase_if(nodes, [&](subnet::NodeIndex at) { return !is_wanted(fabric.subnet.node(at).kind()); });
    return nodes;
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

/// The nodes to be checked, all of the fabric or the one of TARGET, and the ways to their PMAs.
struct CheckedNodes {
  explicit CheckedNodes(const QueryOptions& what) : wanted(what) {}

  const QueryOptions& wanted;
  Target target;
  DiscoveryOptions discovery;
  bool shows_links{};  ///< in text or JSON

  /// For what is reset: the fabric itself is read. Throws UsageError where the options name a stored one.
  void refuse_stored_fabric();
  /// Discovers what is needed of the fabric, and returns the nodes in print order.
  async::Task<std::vector<subnet::NodeIndex>> find(Session& session, Fabric& fabric);
  /// Requests the service levels of the paths to `nodes`.
  async::Task<> find_paths(Stack& stack, subnet::PortPaths& paths, const Fabric& fabric, const std::vector<subnet::NodeIndex>& nodes);

 private:
  subnet::DiscoverNeeds needs() const;
};

/// How the paths to the PMAs of one node are queried.
struct PathQuery {
  std::optional<Gid> known{};  ///< the GID of an end port that was queried before. This one is queried by GID again, the others by LID
  bool of_this_port{};         ///< also queries the path to the requesting port itself, which some SAs do not have
  bool plain_if_none{};        ///< SL 0 to an end port of which the SA has no record
  bool until_failure{};        ///< ends with the first end port to which no path is found
};

/// Queries the paths to the PMAs of one node, one end port after another.
async::Task<> find_paths_to(Stack& stack, subnet::PortPaths& paths, const Fabric& fabric, subnet::NodeIndex node, PathQuery query);

/// For infiniband-diags: the nodes to be checked, all of the fabric or the one of -G, -S or -D, and the ways to their PMAs.
struct DiagsNodes {
  explicit DiagsNodes(const QueryOptions& what) : wanted(what) {}

  const QueryOptions& wanted;
  std::optional<std::string> guid, route;  ///< -G and -S, -D
  LibibnetdiscWanted discovery;            ///< which file is read

  /// Opens the end port.
  void prepare(Stack& stack);
  /// Discovers what is needed of the fabric, and returns the nodes in print order.
  async::Task<std::vector<subnet::NodeIndex>> find(Session& session, LibibnetdiscFabric& fabric);
  /// Queries the service levels. Returns false if the program ends without them: infiniband-diags queries none for the node of -G, and none
  /// if there is no node of -D.
  async::Task<bool> find_paths(Stack& stack, subnet::PortPaths& paths, const Fabric& fabric,
                               const std::vector<subnet::NodeIndex>& nodes) const;

 private:
  async::Task<subnet::NodeIndex> discover_at_route(Session& session, LibibnetdiscFabric& fabric) const;
  bool begins_before(Host& host, const smp::NodeInfo& info, unsigned hops) const;

  Target target_;                           ///< the node of -G or -D
  subnet::NodeIndex named_ = subnet::none;  ///< the same, whether it is checked or not
};

/// "[PortXmitData == 1008 (3.938KB)]": a count in units of 1024. Counts of data stand for 4 octets each.
std::string human_count(std::uint64_t value, bool data);

/// How many nodes and ports were checked, and how many have errors.
struct Summary {
  void text(TextOut& out) const;
  void visit(report::Sink& sink) const;

  std::size_t nodes{}, bad_nodes{}, ports{}, bad_ports{};
};

struct ErrorReport : FabricReport {
  ErrorReport(const Fabric& of, const QueryOptions& what, const ErrorRules& applied) : FabricReport(of), wanted(what), rules(applied) {}

  void visit(report::Sink& sink) const override;
  /// The summary.
  void text(TextOut& out) const override;
  Exit status() const override;

  /// Finds the numbers on the front of boxes, which stand in the lines of links.
  void group_ports();
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

  const QueryOptions& wanted;
  const ErrorRules& rules;
  counters::PmaReadings readings;

  Summary summary;
  std::size_t failed_queries{};

 protected:
  // The words of a dialect.
  virtual std::string quoted_name(subnet::NodeIndex node) const;  ///< of subnet::none: the name of an unknown node
  virtual std::string guid(Guid value) const;
  virtual std::string guid_of_far_end(Guid value) const { return guid(value); }
  virtual std::string far_end(subnet::PortIndex port) const;
  virtual std::string thresholds_text() const;

 private:
  subnet::Grouping grouping;

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
std::vector<report::Column<ErrorLine>> error_columns(const QueryOptions& wanted);

/// What infiniband-diags prints of it, and on stderr of requests to PMAs that failed.
class DiagsErrorReport final : public ErrorReport {
 public:
  DiagsErrorReport(const Fabric& of, const QueryOptions& what, const ErrorRules& applied, const Host& host)
      : ErrorReport(of, what, applied), host_(host) {}

  bool has_thresholds = true;  ///< the file of thresholds could be read

  /// The lines of a node, and on stderr the requests to its PMA that failed.
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

/// --interval: which ports counted errors since the reading before, as one of several readings. In JSON an element of the list that is
/// open.
class GrowthReport final : public FabricReport {
 public:
  GrowthReport(const Fabric& of, const QueryOptions& what, const ErrorRules& applied) : FabricReport(of), wanted_(what), rules_(applied) {}

  /// Adds the ports of `node` that have counted something since the readings in `history`, which gets these. In text they are printed to
  /// `out`, if that is given, and not kept.
  void take(const counters::PmaNode& node, counters::CounterHistory& history, TextOut* out);

  void visit(report::Sink& sink) const override;
  void text(TextOut& out) const override;
  Exit status() const override { return summary_.bad_ports != 0 ? Exit::findings : FabricReport::status(); }

  Round round;

 private:
  /// The counters that have counted more errors than their thresholds, or were reset; then data and packets, if they are wanted.
  counters::PortChanges changes_of(const counters::RowDifference& difference) const;
  void port_text(TextOut& out, const counters::PortChanges& port) const;
  void visit(report::Sink& sink, const std::vector<counters::PortChanges>& ports) const;

  const QueryOptions& wanted_;
  const ErrorRules& rules_;
  std::vector<counters::PortChanges> grown_ports_;  ///< by node; empty in text
  Summary summary_;
};

}  // namespace ib::tools::ibqueryerrors
