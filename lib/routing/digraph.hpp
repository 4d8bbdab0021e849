// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Cycles in a directed graph. Nothing here recurses: graphs have as many nodes as a fabric has channels.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace ib::routing {

/// The edges from node n lead to to[first[n]] … to[first[n + 1] − 1].
struct Digraph {
  std::vector<std::uint32_t> first{0};
  std::vector<std::uint32_t> to;
  std::uint32_t size() const { return static_cast<std::uint32_t>(first.size() - 1); }
  std::span<const std::uint32_t> next(std::uint32_t node) const {
    return std::span(to).subspan(first[node], first[node + 1] - first[node]);
  }
};

/// The strongly connected components with a cycle (more than one node, or an edge from a node to itself), the largest first, each with its
/// nodes in ascending order.
std::vector<std::vector<std::uint32_t>> cyclic_components(const Digraph& graph);

/// A shortest cycle within `component`, one of cyclic_components(), from the lowest of its nodes on. If the search needs more than `budget`
/// visits of edges, the result is the shortest cycle found so far.
std::vector<std::uint32_t> shortest_cycle(const Digraph& graph, std::span<const std::uint32_t> component,
                                          std::uint64_t budget = 200'000'000);

}  // namespace ib::routing
