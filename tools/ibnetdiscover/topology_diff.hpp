// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Prints the differences for ibnetdiscover --diff: blocks and lines of a topology file. Those of the stored fabric have the prefix "< ",
// those of the other fabric have the prefix "> ".
#pragma once

#include <vector>

#include "tools/shared/diags_topology.hpp"
#include "tools/shared/fabric.hpp"
#include "tools/shared/fabric_diff.hpp"

namespace ib::tools {

/// The words of --diffcheck, and the comparisons without this option.
DiffOptions topology_diff_options();

struct DiffReport final : FabricReport {
  /// Both fabrics must outlive the report. `full` adds the codes of speed, width and VLCap. For `asks_fdr10`, see diags_order().
  DiffReport(const Fabric& stored, const Fabric& now, const DiffChecks& checks, bool full, bool asks_fdr10);

  void visit(report::Sink& sink) const override;
  void text(TextOut& out) const override;
  void diags_text(TextOut& out) const override;
  Exit status() const override;

  TextOut* file{};  ///< for infiniband-diags: the file for the text; null: stdout

 private:
  struct Orders {
    std::vector<subnet::NodeIndex> before, after;
  };
  /// The failures are those of DiffSide.
  std::vector<NodeDifference> compare(const Orders& orders, const subnet::Failures* before, const subnet::Failures* after) const;
  void print(TextOut& out, const DiagsTopology& was, const DiagsTopology& is, const NodeDifference& found) const;

  const Fabric& before_;
  DiffChecks checks_;
  bool full_, asks_fdr10_;
  std::vector<NodeDifference> found_;  ///< in the order of ibtool's dialect
};

}  // namespace ib::tools
