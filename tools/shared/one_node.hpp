// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// A node, or a port, that a command line names, read into a small model without the rest of the fabric. What is judged and printed is then
// as of a whole fabric.
#pragma once

#include "counters/error_query.hpp"
#include "counters/readings.hpp"
#include "tools/frame/report.hpp"
#include "tools/frame/target.hpp"
#include "tools/shared/fabric.hpp"

namespace ib::tools {

struct Destination;

/// The words of ibcheckerrs and ibdatacounts, both of which print thresholds with -s.
struct CountedPort {
  Target target;
  std::optional<unsigned> port;
  std::optional<std::string> thresholds_file;
  bool plain{}, shows_thresholds{};

  void options(OptionSet& set);
};

struct ThresholdReport final : Report {
  explicit ThresholdReport(const counters::ErrorThresholds& of);
  void visit(report::Sink& sink) const override;
  void text(TextOut& out) const override;

  std::vector<counters::ErrorThresholds::Threshold> thresholds;  ///< by name
};

/// What TARGET and PORT name.
struct OnePort {
  subnet::PortIndex end = subnet::none;  ///< the end port that TARGET names: port 0 of a switch
  subnet::PortIndex port = subnet::none;
  bool all_ports{};  ///< all ports of the switch together; `port` is its port 0
};

/// Requests the NodeInfo of the node at `path` and adds the node to a model.
async::Task<subnet::NodeIndex> add_node(mad::Transactor& transactor, path::Path path, subnet::Subnet& subnet);
/// Requests a PortInfo of the node at `path`.
async::Task<> add_port(mad::Transactor& transactor, path::Path path, subnet::Subnet& subnet, subnet::PortIndex port);

/// Adds the node at `node` to an empty model. PORT 0 of a node that is not a switch, or none, is the end port that TARGET names. For a
/// switch PORT subnet::all_ports, or none, is all its ports. Throws Error if the node does not have the port.
async::Task<OnePort> find_one_port(Stack& stack, const Destination& node, Fabric& fabric, std::optional<unsigned> port);

/// Reads the PortInfo of the end port and the description of the node, which stand in the lines about counters.
async::Task<> describe(Stack& stack, const Destination& node, Fabric& fabric, const OnePort& of);

/// Reads the counters of `of` (counters::read_row()), by the path that the SA gives.
async::Task<mad::Result<counters::CounterRow>> read_counters(Stack& stack, const Fabric& fabric, OnePort of,
                                                             counters::ReadingPlan::Counts counts);

}  // namespace ib::tools
