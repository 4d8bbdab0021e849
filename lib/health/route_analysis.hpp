// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The forwarding tables of a fabric, judged as a whole: what does not arrive, and which ports can wait for each other in a circle.
#pragma once

#include <vector>

#include "async/task.hpp"
#include "health/input.hpp"
#include "routing/credit_loops.hpp"

namespace ib::health {

/// Analyses the unicast tables. SLs and SLtoVL tables are not looked at: a circle of ports is then a fault that is not sure. `pause` is
/// called now and then, and may be empty. `network` and `tables` must outlive the task.
async::Task<std::vector<RouteFault>> analyse_routes(const routing::Network& network, const routing::LinearTables& tables,
                                                    routing::Pause pause);

}  // namespace ib::health
