// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The part of the fabric that the options select.
#pragma once

#include "async/task.hpp"
#include "health/scope.hpp"
#include "tools/health/wanted.hpp"

namespace ib::tools::health {

/// The hosts in `text`, or in the file of that name. Throws UsageError where it names none.
std::set<std::string> read_hosts(const std::string& text);

/// What TARGET or --nodes names; without them all. With --nodes reads the forwarding tables of all switches. What does not answer, and
/// hosts that are not in the fabric, are added to the failures of `fabric`. Throws UsageError where none of the hosts is there.
async::Task<Scope> find_scope(Stack& stack, Fabric& fabric, const Wanted& wanted);

/// The node of TARGET. Throws Error where it is not in the fabric.
subnet::NodeIndex target_node(const Fabric& fabric, const Wanted& wanted);

}  // namespace ib::tools::health
