// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The SLtoVL mapping tables that decide whether ports that can wait for each other in a circle do so.
#pragma once

#include <vector>

#include "async/task.hpp"
#include "routing/channels.hpp"
#include "subnet/model/failures.hpp"
#include "tools/frame/stack.hpp"

namespace ib::tools {

/// Reads the SLtoVL mapping tables of `ports` into `lanes`. Returns what failed. `network` and `lanes` must outlive the task.
async::Task<subnet::Failures> read_lanes(Stack& stack, const routing::Network& network, std::vector<routing::WantedLanes> ports,
                                         routing::SlToVlTables& lanes);

}  // namespace ib::tools
