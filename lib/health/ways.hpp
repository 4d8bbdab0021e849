// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The ways of requests that were routed by LID and not answered. The forwarding tables may lead them to another place than the directed
// routes by which the sweep found the nodes: a node is to blame for its silence only if the way to it, and the way back, are well.
#pragma once

#include <cstdint>
#include <set>
#include <utility>
#include <vector>

#include "health/input.hpp"
#include "routing/route_tree.hpp"

namespace ib::health {

/// Whether a request was routed by LID and not answered.
bool is_silence_by_lid(const subnet::Failure& failure);
/// Whether a request went to the subnet administrator, whatever node it was about.
bool is_query(const subnet::Failure& failure);
/// Whether a request was lost at a place that is known (Input::broken_ways).
bool is_lost_on_its_way(const Input& input, const subnet::Failure& failure);
/// Whether the requests to a node by LID, or its answers, are lost at such a place.
bool is_cut_off(const Input& input, subnet::NodeIndex node);

/// A request by LID that was not answered.
struct LostRequest {
  subnet::NodeIndex node = subnet::none;
  Lid dlid, slid;
  auto operator<=>(const LostRequest&) const = default;
};
/// These requests, each node and LID once, with those to a silent subnet administrator.
std::vector<LostRequest> lost_requests(const Input& input);

/// A block of a linear forwarding table.
using TableBlock = std::pair<routing::SwitchIndex, std::uint16_t>;

/// Follows requests through the tables, from the port from which the model was read, and their answers back. `find` finds the entries that
/// were read. Sets Input::broken_ways and Input::nodes_not_traced. Returns the blocks at which ways are not known any further.
std::set<TableBlock> judge_ways(const routing::Network& network, const routing::FindOutPort& find, const std::vector<LostRequest>& requests,
                                Input& input);

}  // namespace ib::health
