// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Runs a command of ibtool's dialect: once, or once for each node that a pattern of names fits (OptionSet::target_each()).
#pragma once

#include "async/task.hpp"
#include "tools/frame/command.hpp"

namespace ib::tools {

class Session;

/// Runs a command when the nodes are known that its targets name. Explains the request that ended it. With a pattern, a node that fails is
/// reported, the others are read, and the status is Exit::incomplete, or Exit::failed if all fail.
async::Task<> run_with_names(Command& command, Session& session, Emit& emit);

}  // namespace ib::tools
