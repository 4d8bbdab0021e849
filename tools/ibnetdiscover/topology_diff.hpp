// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Prints the differences for ibnetdiscover --diff: blocks and lines of a topology file. Those of the stored fabric have the prefix "< ",
// those of the other fabric have the prefix "> ".
#pragma once

#include <vector>

#include "tools/shared/fabric.hpp"
#include "tools/shared/fabric_diff.hpp"
#include "tools/shared/libibnetdisc.hpp"

namespace ib::tools {

/// The words of --diffcheck, and the comparisons without this option.
DiffOptions topology_diff_options();

struct DiffReport final : FabricReport {
  /// Both fabrics must outlive the report. `full` adds the codes of speed, width and VLCap.
  DiffReport(const Fabric& stored, const Fabric& now, const DiffChecks& checks, bool full);

  void visit(report::Sink& sink) const override;
  void text(TextOut& out) const override;
  Exit status() const override;

 private:
  const Fabric& before_;
  bool full_;
  std::vector<NodeDifference> found_;
};

/// Prints the differences in the words and the order of infiniband-diags.
void print_differences(TextOut& out, const LibibnetdiscFabric& stored, const LibibnetdiscFabric& now, const DiffChecks& checks, bool full);

}  // namespace ib::tools
