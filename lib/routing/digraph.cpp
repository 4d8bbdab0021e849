// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "routing/digraph.hpp"

#include <algorithm>

namespace ib::routing {
namespace {

constexpr std::uint32_t unset = 0xffffffffU;

/// Tarjan's search with a stack of its own.
class Components {
 public:
  explicit Components(const Digraph& graph) : graph_(graph), number_(graph.size(), unset), low_(graph.size()), is_open_(graph.size()) {}

  std::vector<std::vector<std::uint32_t>> find() {
    for (std::uint32_t root = 0; root < graph_.size(); ++root) {
      if (number_[root] == unset) search(root);
    }
    std::ranges::stable_sort(found_, [](const auto& a, const auto& b) { return a.size() > b.size(); });
    return std::move(found_);
  }

 private:
  struct Visit {
    std::uint32_t node, edge;
  };

  void enter(std::uint32_t node) {
    number_[node] = low_[node] = count_++;
    is_open_[node] = true;
    open_.push_back(node);
    visits_.push_back({node, graph_.first[node]});
  }

  void search(std::uint32_t root) {
    enter(root);
    while (!visits_.empty()) {
      Visit& visit = visits_.back();
      const std::uint32_t node = visit.node;
      if (visit.edge < graph_.first[node + 1]) {
        const std::uint32_t next = graph_.to[visit.edge++];
        if (number_[next] == unset) {
          enter(next);
        } else if (is_open_[next]) {
          low_[node] = std::min(low_[node], number_[next]);
        }
        continue;
      }
      visits_.pop_back();
      if (!visits_.empty()) low_[visits_.back().node] = std::min(low_[visits_.back().node], low_[node]);
      if (low_[node] == number_[node]) leave(node);
    }
  }

  void leave(std::uint32_t root) {
    std::vector<std::uint32_t> component;
    do {
      component.push_back(open_.back());
      is_open_[open_.back()] = false;
      open_.pop_back();
    } while (component.back() != root);
    if (component.size() == 1 && std::ranges::count(graph_.next(root), root) == 0) return;
    std::ranges::sort(component);
    found_.push_back(std::move(component));
  }

  const Digraph& graph_;
  std::vector<std::uint32_t> number_, low_;
  std::vector<bool> is_open_;
  std::uint32_t count_ = 0;
  std::vector<std::uint32_t> open_;
  std::vector<Visit> visits_;
  std::vector<std::vector<std::uint32_t>> found_;
};

/// Breadth first searches from one node after the other, none deeper than the best cycle so far. A node whose cycles were all seen is left
/// out of later searches.
class CycleSearch {
 public:
  CycleSearch(const Digraph& graph, std::span<const std::uint32_t> component, std::uint64_t budget)
      : graph_(graph), budget_(budget), before_(graph.size(), unset), seen_(graph.size()), is_in_(graph.size()) {
    for (const std::uint32_t node : component) is_in_[node] = true;
  }

  std::vector<std::uint32_t> find(std::span<const std::uint32_t> component) {
    for (const std::uint32_t start : component) {
      search(start);
      if (best_.size() == 1 || (budget_ == 0 && !best_.empty())) break;
      is_in_[start] = false;
    }
    std::ranges::rotate(best_, std::ranges::min_element(best_));
    return std::move(best_);
  }

 private:
  void search(std::uint32_t start) {
    ++pass_;
    queue_.assign(1, start);
    seen_[start] = pass_;
    std::size_t length = 1;
    for (std::size_t head = 0; head < queue_.size() && (best_.empty() || length < best_.size()); ++length) {
      for (const std::size_t end = queue_.size(); head < end; ++head) {
        if (visit(queue_[head], start)) return;
      }
    }
  }

  bool visit(std::uint32_t node, std::uint32_t start) {
    for (const std::uint32_t next : graph_.next(node)) {
      if (budget_ > 0) --budget_;
      if (next == start) {
        keep(node, start);
        return true;
      }
      if (!is_in_[next] || seen_[next] == pass_) continue;
      seen_[next] = pass_;
      before_[next] = node;
      queue_.push_back(next);
    }
    return false;
  }

  void keep(std::uint32_t node, std::uint32_t start) {
    best_.clear();
    for (; node != start; node = before_[node]) best_.push_back(node);
    best_.push_back(start);
    std::ranges::reverse(best_);
  }

  const Digraph& graph_;
  std::uint64_t budget_;
  std::vector<std::uint32_t> before_, seen_, queue_, best_;
  std::vector<bool> is_in_;
  std::uint32_t pass_ = 0;
};

}  // namespace

std::vector<std::vector<std::uint32_t>> cyclic_components(const Digraph& graph) { return Components(graph).find(); }

std::vector<std::uint32_t> shortest_cycle(const Digraph& graph, std::span<const std::uint32_t> component, std::uint64_t budget) {
  return CycleSearch(graph, component, budget).find(component);
}

}  // namespace ib::routing
