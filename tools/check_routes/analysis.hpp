// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The analysis of tables that were read: what arrives, what links carry, multicast trees, and credit loops.
#pragma once

#include <functional>
#include <vector>

#include "tools/check_routes/found.hpp"
#include "tools/check_routes/wanted.hpp"

namespace ib::tools::routes {

/// Reads SLtoVL mapping tables into Tables::lanes, and SLs into Tables::levels. Called where the verdict on credit loops needs them.
using ReadLanes = std::function<async::Task<>(std::vector<routing::WantedLanes>)>;

/// Analyses `tables`. `read_lanes` may be empty: lanes are not known. All must live until the task ends.
async::Task<> analyse(const Wanted& wanted, Tables& tables, const ReadLanes& read_lanes, const routing::Pause& pause, RouteFindings& found);

}  // namespace ib::tools::routes
