// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The result of a run with --dry-run.
#pragma once

#include <vector>

#include "base/keys.hpp"
#include "subnet/set/set_guard.hpp"
#include "tools/frame/emit.hpp"

namespace ib::tools {

/// The Sets that a run with --dry-run would have sent, in their order.
struct PlannedSets final : Report {
  std::vector<subnet::PlannedSet> sets;
  Keys keys = Keys::hidden;

  void visit(report::Sink& sink) const override;
  /// A line for each Set.
  void text(TextOut& out) const override;
};

}  // namespace ib::tools
