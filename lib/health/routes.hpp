// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// What the forwarding tables do to packets. As a whole they are judged for packets that do not arrive, and for credit loops.
//
// Requests that were routed by LID and not answered: the tables may lead them to another place than the directed routes by which the sweep
// found the nodes. A node is to blame for its silence only if the way to it, and the way back, are well.
#pragma once

#include "async/task.hpp"
#include "health/input.hpp"
#include "routing/credit_loops.hpp"
#include "routing/multicast.hpp"
#include "routing/unicast.hpp"

namespace ib::health {

struct RouteTables : routing::NetworkTables {
  explicit RouteTables(const Subnet& subnet) : NetworkTables(subnet) {}
  bool has_multicast{};  ///< multicast tables were read
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

bool is_silence_by_lid(const subnet::Failure& failure);
/// Whether a request went to the subnet administrator, whatever node it was about.
bool is_query(const subnet::Failure& failure);
/// Whether requests to a node are lost at a place that is known (Input::broken_ways).
bool is_cut_off(const Input& input, NodeIndex node);

struct LostRequest {
  NodeIndex node = subnet::none;
  Lid dlid, slid;
  auto operator<=>(const LostRequest&) const = default;
};
/// These requests, each node and LID once, with those to a silent subnet administrator.
std::vector<LostRequest> lost_requests(const Input& input);

using TableBlock = std::pair<routing::SwitchIndex, std::uint16_t>;

/// Follows requests through the tables, from the port from which the model was read, and their answers back. `find` finds the entries that
/// were read. Sets Input::broken_ways and Input::nodes_not_traced. Returns the blocks at which ways are not known any further.
std::set<TableBlock> judge_ways(const routing::Network& network, const routing::FindOutPort& find, const std::vector<LostRequest>& requests,
                                Input& input);

}  // namespace ib::health
