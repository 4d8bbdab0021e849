// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The forwarding tables of a fabric, judged as a whole: packets that do not arrive, and credit loops.
#pragma once

#include <vector>

#include "async/task.hpp"
#include "health/input.hpp"
#include "routing/credit_loops.hpp"
#include "routing/multicast.hpp"

namespace ib::health {

struct RouteTables {
  explicit RouteTables(const subnet::Subnet& subnet)
      : network(subnet),
        linear(network.switches().size(), network.last_lid()),
        multicast(network.switches().size()),
        lanes(network.switches().size()) {}

  routing::Network network;
  routing::LinearTables linear;
  routing::MulticastTables multicast;
  bool has_multicast{};          ///< multicast tables were read
  routing::GroupMembers groups;  ///< as far as the SA names them
  routing::SlToVlTables lanes;   ///< filled during the analysis
};

struct RouteAnalysis {
  Findings findings;
  /// Ports can wait for each other in a circle, and SLtoVL mapping tables that decide whether packets do so were not read.
  bool lacks_lanes{};
};

/// Analyses the unicast tables and, if they were read, the multicast tables. `read_lanes` fills RouteTables::lanes. It is called only if
/// ports can wait for each other in a circle. The SLs of pairs are not known. `pause` is called now and then. Both functions may be empty.
/// `tables` must outlive the task.
async::Task<RouteAnalysis> analyse_routes(const RouteTables& tables, routing::ReadLanes read_lanes, routing::Pause pause);

}  // namespace ib::health
