// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The base of reports on a fabric.
#pragma once

#include <utility>

#include "tools/frame/report.hpp"
#include "tools/shared/fabric.hpp"

namespace ib::subnet {
struct NodeDifference;
}

namespace ib::tools {

using subnet::listed_columns_of;
using subnet::listed_port_columns;
using subnet::name_columns;
using subnet::node_columns;
using subnet::NodeLine;
using subnet::port_columns;
using subnet::PortLine;

/// The base of reports on a fabric. The exit status shows whether the fabric is complete.
struct FabricReport : Report {
  explicit FabricReport(const Fabric& of) : fabric(of) {}
  Exit status() const override { return failures.empty() ? fabric.status() : Exit::incomplete; }

  /// For one of several readings: prints the failures of `met` that the fabric lacks, and adds them to the report's own.
  void add_failures(const Host& host, subnet::Failures met) { tools::add_failures(host, fabric, std::move(met), failures); }

  /// Selects the ports of a node to write. If empty, nodes have no member `ports`.
  using PortFilter = std::function<bool(subnet::PortIndex)>;
  /// Selects the ports about which something is known.
  PortFilter known_ports() const;

  /// Writes the member `nodes`: an object for each of `nodes`, with the ports that `ports` selects.
  void visit_nodes(report::Sink& sink, const std::vector<subnet::NodeIndex>& nodes, const PortFilter& ports = {}) const;
  /// Writes the members that identify a node: GUID, type, description and the name in the node name map.
  void visit_names(report::Sink& sink, subnet::NodeIndex at) const { report::write_members(sink, name_columns(), NodeLine{&fabric, at}); }
  void visit_differences(report::Sink& sink, const Fabric& before, const std::vector<subnet::NodeDifference>& differences) const;
  /// Writes the members of a port: number, addresses, state, rates and the port at the other end.
  void visit_port_members(report::Sink& sink, subnet::PortIndex at) const {
    report::write_members(sink, port_columns(), PortLine{&fabric, at});
  }
  /// Writes the member `unreachable`: the failures of the fabric and of the report, with their reasons.
  void visit_failures(report::Sink& sink) const;

  const Fabric& fabric;
  subnet::Failures failures;  ///< besides the failures of the fabric
};

}  // namespace ib::tools
