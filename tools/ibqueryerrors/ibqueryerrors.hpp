// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// What ibqueryerrors does in both dialects: which nodes it checks, what counts as an error, and what it found.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "async/task.hpp"
#include "counters/readings.hpp"
#include "counters/thresholds.hpp"
#include "subnet/model/chassis.hpp"
#include "subnet/model/port_paths.hpp"
#include "tools/frame/commands.hpp"
#include "tools/shared/fabric.hpp"
#include "tools/shared/fabric_report.hpp"

namespace ib::tools::ibqueryerrors {

/// The counters of errors, in the order of PortCounters. QP1Dropped is not one of them, as in infiniband-diags.
const std::vector<const counters::CounterInfo*>& error_counters();
std::string_view counter_name(const counters::CounterInfo& counter);

struct ErrorRules {
  /// Reads a file of thresholds as infiniband-diags does: NAME=NUMBER a line, other lines are ignored. False where it cannot be read.
  bool read_thresholds(const std::string& file);
  /// Takes thresholds that were read by the rules of ibtool.
  void take(const counters::ErrorThresholds& read);
  /// A counter that is never an error. Any name of a field of PortCounters is taken; the first 64 are kept.
  void suppress(std::string_view name);

  /// The columns of the counters that are beyond their thresholds, in the order of error_counters().
  std::vector<std::size_t> errors_of(const counters::CounterRow& row) const;
  /// By the name of a counter in iba-defs.
  std::uint64_t threshold_of(std::string_view counter) const { return thresholds.find(counter).value_or(0); }
  bool is_suppressed(const counters::CounterInfo& counter) const;

  counters::ErrorThresholds thresholds;
  std::string text;                              ///< "[SymbolErrorCounter = 10][…]", in the order of the file
  std::vector<std::string> suppressed, skipped;  ///< `skipped`: names that were one too many

 private:
  void set_threshold(const counters::CounterInfo& counter, std::uint64_t value);
};

struct QueryOptions {
  bool data{}, data_only{}, details{}, report_port{};
  bool switches{}, cas{}, routers{};
  bool clear_errors{}, clear_counts{};
  std::optional<std::string> threshold_file;

  bool is_wanted(subnet::NodeKind kind) const {
    if (!switches && !cas && !routers) return kind != subnet::NodeKind::other;
    return (kind == subnet::NodeKind::sw && switches) || (kind == subnet::NodeKind::ca && cas) ||
           (kind == subnet::NodeKind::router && routers);
  }
  std::vector<NodeIndex> wanted_of(const Fabric& fabric, std::vector<NodeIndex> nodes) const {
    std::erase_if(nodes, [&](NodeIndex at) { return !is_wanted(fabric.subnet.node(at).kind()); });
    return nodes;
  }
  bool clears() const { return clear_errors || clear_counts; }
};

/// How the paths to the PMAs of one node are queried.
struct PathQuery {
  std::optional<Gid> known{};  ///< the GID of an end port that was queried before. This one is queried by GID again, the others by LID
  bool plain_if_none{};        ///< SL 0 to an end port of which the SA has no record
  /// Also queries the path to the requesting port itself, which some SAs do not have; ends with the first port to which no path is found.
  bool of_route{};
};

/// Queries the paths to the PMAs of one node, one end port after another.
async::Task<> find_paths_to(Stack& stack, subnet::PortPaths& paths, const Fabric& fabric, NodeIndex node, PathQuery query);

void add_thresholds(OptionSet& set, QueryOptions& wanted);
void add_report_options(OptionSet& set, QueryOptions& wanted, ErrorRules& rules);
counters::ReadingPlan plan_of(const QueryOptions& wanted, const ErrorRules& rules);
std::unique_ptr<Command> make_ibqueryerrors_diags();

/// "[PortXmitData == 1008 (3.938KB)]": a count in units of 1024. Counts of data stand for 4 octets each.
std::string human_count(std::uint64_t value, bool data);

/// Whether counters of the node were read, of one of its ports or of all together.
bool any_read(const counters::PmaNode& node);

/// Of how many nodes and ports counters were read, and how many have errors.
struct Summary {
  void text(TextOut& out) const;
  void visit(report::Sink& sink) const;

  std::size_t nodes{}, bad_nodes{}, ports{}, bad_ports{};
};

struct ErrorReport : FabricReport {
  ErrorReport(const Fabric& of, const QueryOptions& what, const ErrorRules& applied) : FabricReport(of), wanted(what), rules(applied) {}

  void visit(report::Sink& sink) const override;
  void text(TextOut& out) const override;
  Exit status() const override;

  /// Finds the numbers on the front of boxes, which stand in the lines of links.
  void group_ports();
  void count(const counters::PmaNode& node);
  void node_text(TextOut& out, const counters::PmaNode& node) const;
  /// Calls `use` with the reading of each port that is reported.
  template <class Use>
  void each_reported_port(const counters::PmaNode& node, Use use) const {
    for (const counters::PmaReading& reading : node.ports)
      if (is_reported(reading)) use(reading);
  }

  const QueryOptions& wanted;
  const ErrorRules& rules;
  counters::PmaReadings readings;

  Summary summary;
  std::size_t failed_queries{};

 protected:
  virtual std::string quoted_name(NodeIndex node) const;  ///< of subnet::none: the name of an unknown node
  virtual std::string guid(Guid value) const;
  virtual std::string guid_of_far_end(Guid value) const { return guid(value); }
  virtual std::string far_end(PortIndex port) const;
  virtual std::string thresholds_text() const;
  virtual bool counts_unread() const { return false; }  ///< as checked, nodes and ports whose counters were not read

 private:
  subnet::Grouping grouping;

  bool has_errors(const counters::PmaReading& reading) const { return reading.known() && !rules.errors_of(reading.row).empty(); }
  bool is_reported(const counters::PmaReading& reading) const;
  void reading_text(TextOut& out, const counters::PmaNode& node, const counters::PmaReading& reading) const;
  std::string errors_text(const counters::PmaReading& reading) const;
  std::string external(PortIndex port) const;
  void visit_all_ports(report::Sink& sink, const counters::PmaReading* all) const;
  void visit_port(report::Sink& sink, const counters::PmaReading& reading, const std::vector<std::size_t>& errors) const;
  void visit_reading(report::Sink& sink, const counters::PmaReading& reading, const std::vector<std::size_t>& errors) const;
  void visit_example(report::Sink& sink) const;
};

struct ErrorLine : PortLine {
  const ErrorReport* report;
  counters::CounterRow counts;
};
/// The columns of a port, of its counters in lists, and of each counter.
std::vector<report::Column<ErrorLine>> error_columns(const QueryOptions& wanted);

}  // namespace ib::tools::ibqueryerrors
