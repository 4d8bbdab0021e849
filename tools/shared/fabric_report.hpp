// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The columns of nodes and of ports of a fabric, for all commands that list them, and the base of reports on a fabric.
#pragma once

#include <algorithm>
#include <functional>
#include <initializer_list>
#include <span>
#include <string_view>
#include <vector>

#include "report/columns.hpp"
#include "tools/frame/emit.hpp"
#include "tools/shared/fabric.hpp"

namespace ib::tools {

struct NodeDifference;

struct NodeLine {
  const Fabric* fabric;
  subnet::NodeIndex node;
};
struct PortLine {
  const Fabric* fabric;
  subnet::PortIndex port;
};

/// The columns that say which node it is: GUID, type, description and the name in the node name map.
std::span<const report::Column<NodeLine>> name_columns();
/// The columns of a node, the names first.
std::span<const report::Column<NodeLine>> node_columns();
/// The columns of a port: number, addresses, state, rates and the port at the other end.
std::span<const report::Column<PortLine>> port_columns();
/// The columns of a table of ports: of the node, then of the port. A column of the node whose key a port has too is nodes.KEY.
std::span<const report::Column<PortLine>> listed_port_columns();

/// listed_port_columns() for rows that are more than a port; Row is derived from PortLine. `usual`: the keys that a text shows. `keys`:
/// the columns, in their order; empty: all.
template <class Row>
std::vector<report::Column<Row>> listed_columns_of(std::initializer_list<std::string_view> usual,
                                                   std::initializer_list<std::string_view> keys = {}) {
  auto all = report::columns_of_part<Row>(listed_port_columns(), [](const Row& row) -> const PortLine& { return row; });
  for (report::Column<Row>& column : all) column.usual = std::ranges::find(usual, column.key) != usual.end();
  if (keys.size() == 0) return all;
  std::vector<report::Column<Row>> columns;
  for (const std::string_view key : keys) columns.push_back(*std::ranges::find(all, key, &report::ColumnInfo::key));
  return columns;
}

/// The base of reports on a fabric. The exit status shows whether the fabric is complete.
struct FabricReport : Report {
  explicit FabricReport(const Fabric& of) : fabric(of) {}
  Exit status() const override { return failures.empty() ? fabric.status() : Exit::incomplete; }

  /// For one of several readings: prints the failures of `met` that the fabric lacks, and adds them to the report's own.
  void add_failures(const Host& host, subnet::Failures met);

  /// Selects the ports of a node to write. If empty, nodes have no member `ports`.
  using PortFilter = std::function<bool(subnet::PortIndex)>;
  /// Selects the ports about which something is known.
  PortFilter known_ports() const;

  /// Writes the member `nodes`: an object for each of `nodes`, with the ports that `ports` selects.
  void visit_nodes(report::Sink& sink, const std::vector<subnet::NodeIndex>& nodes, const PortFilter& ports = {}) const;
  /// Writes the members that identify a node: GUID, type, description and the name in the node name map.
  void visit_names(report::Sink& sink, subnet::NodeIndex at) const;
  void visit_differences(report::Sink& sink, const Fabric& before, const std::vector<NodeDifference>& differences) const;
  /// Writes the members of a port: number, addresses, state, rates and the port at the other end.
  void visit_port_members(report::Sink& sink, subnet::PortIndex at) const;
  /// Writes the member `unreachable`: the failures of the fabric and of the report, with their reasons.
  void visit_failures(report::Sink& sink) const;

  const Fabric& fabric;
  subnet::Failures failures;  ///< besides the failures of the fabric
};

}  // namespace ib::tools
