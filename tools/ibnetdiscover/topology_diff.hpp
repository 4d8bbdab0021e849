// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// What ibnetdiscover --diff prints: the blocks and lines of a topology file that are different, behind "< " those of the stored fabric and
// behind "> " those of the other one.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tools/shared/diags_topology.hpp"
#include "tools/shared/fabric.hpp"
#include "tools/shared/fabric_diff.hpp"

namespace ib::tools {

/// The words of --diffcheck, and what is compared without it.
DiffOptions topology_diff_options();

struct DiffReport final : FabricReport {
  /// Both must outlive the report. `full`: with the codes of speed, width and VLCap. `asks_fdr10` as for diags_order().
  DiffReport(const Fabric& stored, const Fabric& now, const DiffChecks& checks, bool full, bool asks_fdr10);

  void visit(out::Sink& sink) const override;
  void text(TextOut& out) const override;
  void diags_text(TextOut& out) const override;
  Exit status() const override;

  TextOut* file{};  ///< of infiniband-diags: where the text goes instead of stdout

 private:
  struct Orders {
    std::vector<subnet::NodeIndex> before, after;
  };
  std::vector<NodeDifference> compare(const Orders& orders) const;
  void print(TextOut& out, const DiagsTopology& was, const DiagsTopology& is, const NodeDifference& found) const;

  const Fabric& before_;
  DiffChecks checks_;
  bool full_, asks_fdr10_;
  std::vector<NodeDifference> found_;  ///< in the order of ibtool
};

}  // namespace ib::tools
