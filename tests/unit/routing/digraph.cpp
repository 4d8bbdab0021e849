// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Components with cycles, and shortest cycles in them.
#include "routing/channels.hpp"

#include <map>
#include <random>

#include "support/catch.hpp"

namespace routing_digraph_tests {

using namespace ib::routing;

namespace {

using Nodes = std::vector<std::uint32_t>;

Digraph graph_of(std::uint32_t size, const std::vector<std::pair<std::uint32_t, std::uint32_t>>& edges) {
  Digraph graph;
  for (std::uint32_t node = 0; node < size; ++node) {
    for (const auto& [from, to] : edges) {
      if (from == node) graph.to.push_back(to);
    }
    graph.first.push_back(static_cast<std::uint32_t>(graph.to.size()));
  }
  return graph;
}

}  // namespace

TEST_CASE("components are those with a cycle, the largest first") {
  CHECK(cyclic_components(Digraph{}).empty());
  CHECK(cyclic_components(graph_of(4, {{0, 1}, {1, 2}, {0, 2}, {2, 3}})).empty());
  const Digraph graph = graph_of(9, {{0, 1}, {1, 0}, {1, 2}, {2, 3}, {3, 4}, {4, 2}, {5, 5}, {6, 7}, {8, 0}});
  CHECK(cyclic_components(graph) == std::vector<Nodes>{{2, 3, 4}, {0, 1}, {5}});
}

TEST_CASE("a shortest cycle begins with its lowest node") {
  // 4 → 2 → 5 → 1 → 4, a way round by 3, and 5 → 4.
  const Digraph graph = graph_of(6, {{4, 2}, {2, 5}, {5, 1}, {1, 4}, {4, 3}, {3, 2}, {5, 4}});
  const auto components = cyclic_components(graph);
  REQUIRE(components.size() == 1);
  CHECK(shortest_cycle(graph, components[0]) == Nodes{2, 5, 4});
  CHECK(shortest_cycle(graph_of(2, {{0, 1}, {1, 1}}), Nodes{1}) == Nodes{1});
}

TEST_CASE("a ring of 100,000 nodes overflows no stack") {
  constexpr std::uint32_t size = 100'000;
  Digraph graph;
  for (std::uint32_t node = 0; node < size; ++node) {
    graph.to.push_back((node + 1) % size);
    graph.first.push_back(node + 1);
  }
  const auto components = cyclic_components(graph);
  REQUIRE(components.size() == 1);
  CHECK(components[0].size() == size);
  CHECK(shortest_cycle(graph, components[0], 10 * size).size() == size);  // the whole budget takes a minute without optimization
}

TEST_CASE("on random graphs a cycle is a cycle, and none is shorter") {
  std::mt19937 random(7);
  for (int round = 0; round < 200; ++round) {
    const auto number = [&](std::uint32_t below) { return static_cast<std::uint32_t>(random() % below); };
    const std::uint32_t size = 2 + number(12);
    std::vector<std::pair<std::uint32_t, std::uint32_t>> edges;
    for (std::uint32_t i = 0; i < size * 2; ++i) edges.emplace_back(number(size), number(size));
    const Digraph graph = graph_of(size, edges);
    // Floyd and Warshall: the length of the shortest way from each node back to itself.
    std::vector<Nodes> far(size, Nodes(size, 1000));
    for (const auto& [from, to] : edges) far[from][to] = 1;
    for (std::uint32_t k = 0; k < size; ++k) {
      for (std::uint32_t i = 0; i < size; ++i) {
        for (std::uint32_t j = 0; j < size; ++j) far[i][j] = std::min(far[i][j], far[i][k] + far[k][j]);
      }
    }
    std::size_t in_components = 0;
    for (const Nodes& component : cyclic_components(graph)) {
      in_components += component.size();
      std::uint32_t least = 1000;
      for (const std::uint32_t node : component) least = std::min(least, far[node][node]);
      const Nodes cycle = shortest_cycle(graph, component);
      REQUIRE(cycle.size() == least);
      for (std::size_t i = 0; i < cycle.size(); ++i) {
        const auto next = graph.next(cycle[i]);
        CHECK(std::ranges::count(next, cycle[(i + 1) % cycle.size()]) > 0);
      }
      for (const std::uint32_t a : component) CHECK(far[component.front()][a] < 1000);
    }
    std::size_t on_cycles = 0;
    for (std::uint32_t node = 0; node < size; ++node) on_cycles += far[node][node] < 1000 ? 1 : 0;
    CHECK(in_components == on_cycles);
  }
}

}  // namespace routing_digraph_tests
