// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The analysis of tables that were read: what arrives, what links carry, multicast trees, and credit loops.
#pragma once

#include "tools/check_routes/found.hpp"
#include "tools/check_routes/wanted.hpp"

namespace ib::tools::routes {

/// Analyses `tables`. `read_lanes` fills Tables::lanes and Tables::levels where the verdict on credit loops needs them. It may be empty:
/// lanes are not known. All must live until the task ends.
async::Task<> analyse(const Wanted& wanted, Tables& tables, const routing::ReadLanes& read_lanes, const routing::Pause& pause,
                      RouteFindings& found);

}  // namespace ib::tools::routes
