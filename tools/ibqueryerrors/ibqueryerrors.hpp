// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// What ibqueryerrors does in both dialects: which nodes it checks, and what it found.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "async/task.hpp"
#include "counters/error_query.hpp"
#include "subnet/model/chassis.hpp"
#include "subnet/model/port_paths.hpp"
#include "subnet/sweep/discovery.hpp"
#include "tools/frame/command.hpp"
#include "tools/shared/fabric.hpp"
#include "tools/shared/fabric_report.hpp"

namespace ib::tools::ibqueryerrors {

struct QueryOptions : counters::ErrorQuery {
  bool report_port{};
  subnet::NodeKinds kinds{};  ///< the kinds of nodes that are checked; none: all that are known
  std::optional<std::string> threshold_file;

  subnet::NodeKinds checked_kinds() const {
    return kinds.any() ? kinds : subnet::NodeKinds{subnet::NodeKind::ca, subnet::NodeKind::sw, subnet::NodeKind::router};
  }
  bool is_wanted(subnet::NodeKind kind) const { return checked_kinds().has(kind); }
  std::vector<NodeIndex> wanted_of(const Fabric& fabric, std::vector<NodeIndex> nodes) const {
    std::erase_if(nodes, [&](NodeIndex at) { return !is_wanted(fabric.subnet.node(at).kind()); });
    return nodes;
  }
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
void add_report_options(OptionSet& set, QueryOptions& wanted);
std::unique_ptr<Command> make_ibqueryerrors_diags();

/// "[PortXmitData == 1008 (3.938KB)]": a count in units of 1024. Counts of data stand for 4 octets each.
std::string human_count(std::uint64_t value, bool data);

void summary_text(TextOut& out, const counters::ErrorSummary& summary);
void visit_summary(report::Sink& sink, const counters::ErrorSummary& summary);

struct ErrorReport : FabricReport {
  /// `legacy`: names and GUIDs are written as infiniband-diags does.
  ErrorReport(const Fabric& of, const QueryOptions& what, bool legacy = false) : FabricReport(of), wanted(what), is_diags(legacy) {}

  void visit(report::Sink& sink) const override;
  void text(TextOut& out) const override;
  Exit status() const override;

  /// Finds the numbers on the front of boxes, which stand in the lines of links.
  void group_ports();
  void node_text(TextOut& out, const counters::PmaNode& node) const;
  /// Calls `use` with the reading of each port that is reported.
  template <class Use>
  void each_reported_port(const counters::PmaNode& node, Use use) const {
    for (const counters::PmaReading& reading : node.ports)
      if (is_reported(reading)) use(reading);
  }

  const QueryOptions& wanted;
  const bool is_diags;
  counters::PmaReadings readings;
  counters::ErrorSummary summary;
  bool has_thresholds = true;  ///< the file of thresholds could be read

 private:
  subnet::Grouping grouping;

  std::string quoted_name(NodeIndex node) const;  ///< of subnet::none: the name of an unknown node
  std::string guid(Guid value) const;
  std::string far_end(PortIndex port) const;
  bool is_reported(const counters::PmaReading& reading) const {
    return reading.known() && (wanted.data_only || wanted.has_errors(reading));
  }
  void reading_text(TextOut& out, const counters::PmaNode& node, const counters::PmaReading& reading) const;
  std::string errors_text(const counters::PmaReading& reading) const;
  void visit_node(report::Sink& sink, const counters::PmaNode& node) const;
  void visit_counters(report::Sink& sink, const counters::CounterRow& row) const;
  void visit_example(report::Sink& sink) const;
};

struct ErrorLine : PortLine {
  const ErrorReport* report;
  counters::CounterRow counts;
};
/// The columns of a port, of its counters in lists, and of each counter.
std::vector<report::Column<ErrorLine>> error_columns(const QueryOptions& wanted);

}  // namespace ib::tools::ibqueryerrors
