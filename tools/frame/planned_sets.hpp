// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The result of a run with --dry-run.
#pragma once

#include <vector>

#include "base/keys.hpp"
#include "subnet/set/set_guard.hpp"

namespace ib::tools {

class Emit;

/// Emits the Sets that a run with --dry-run would have sent, in their order; in a text a line for each.
void emit_planned(Emit& emit, std::vector<subnet::PlannedSet> sets, Keys keys);

}  // namespace ib::tools
