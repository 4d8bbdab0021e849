// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "subnet/diff/counterparts.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace ib::subnet {
namespace {

/// The nodes of one model that claim the GUID of `first`, which is the first one of them, or none.
std::vector<NodeIndex> claimants(const Subnet& subnet, NodeIndex first) {
  std::vector<NodeIndex> all;
  for (; first != none; first = subnet.node(first).twin) all.push_back(first);
  return all;
}

/// The nodes with one GUID that have no counterpart yet.
struct Crowd {
  std::vector<NodeIndex> now, then;
};

class Matching {
 public:
  Matching(const Subnet& current, const Subnet& reference)
      : current_(current), reference_(reference), now_(reference.nodes().size(), none), then_(current.nodes().size(), none) {}

  void run() {
    for (NodeIndex then = 0; then < reference_.nodes().size(); ++then) {
      if (reference_.node(then).is_twin) continue;
      Crowd crowd{claimants(current_, current_.find_node(reference_.node(then).guid())), claimants(reference_, then)};
      if (crowd.now.empty()) continue;
      if (crowd.now.size() == 1 && crowd.then.size() == 1) {
        join(crowd.now.front(), then);
      } else {
        crowds_.push_back(std::move(crowd));
      }
    }
    // The place of a twin may be at another twin, so each pair may decide the next one.
    const auto match_places = [this] { return match_all([this](NodeIndex now, NodeIndex then) { return has_place_of(now, then); }); };
    const auto match_words = [this] { return match_all([this](NodeIndex now, NodeIndex then) { return has_words_of(now, then); }); };
    while (match_places() || match_words()) {
    }
    // One is left on either side: that node has got another place and another name.
    match_all([](NodeIndex, NodeIndex) { return true; });
  }

  std::vector<NodeIndex> take_now() { return std::move(now_); }
  std::vector<NodeIndex> take_then() { return std::move(then_); }

 private:
  void join(NodeIndex now, NodeIndex then) {
    now_[then] = now;
    then_[now] = then;
  }

  /// The only one of `nodes` that is meant; none if there is none, or another one too.
  template <class IsMeant>
  static NodeIndex only(const std::vector<NodeIndex>& nodes, IsMeant is_meant) {
    NodeIndex found = none;
    for (const NodeIndex one : nodes) {
      if (!is_meant(one)) continue;
      if (found != none) return none;
      found = one;
    }
    return found;
  }

  /// Joins the nodes of each crowd that `is_same` pairs with one node only. Whether there were any.
  template <class IsSame>
  bool match_all(IsSame is_same) {
    bool any = false;
    for (Crowd& crowd : crowds_) {
      const std::vector<NodeIndex> all_now = std::exchange(crowd.now, {});
      for (const NodeIndex now : all_now) {
        const NodeIndex then = only(crowd.then, [&](NodeIndex one) { return now_[one] == none && is_same(now, one); });
        if (then != none && only(all_now, [&](NodeIndex one) { return then_[one] == none && is_same(one, then); }) == now) join(now, then);
        if (then_[now] == none) crowd.now.push_back(now);
      }
      any = any || crowd.now.size() < all_now.size();
      std::erase_if(crowd.then, [this](NodeIndex one) { return now_[one] != none; });
    }
    return any;
  }

  /// Whether a port of both nodes is linked to one and the same port of another node.
  bool has_place_of(NodeIndex now, NodeIndex then) const {
    const unsigned slots = std::min(current_.node(now).slots, reference_.node(then).slots);
    for (unsigned number = 0; number < slots; ++number) {
      const PortIndex peer = current_.port(current_.node(now).first_port + number).peer;
      const PortIndex was = reference_.port(reference_.node(then).first_port + number).peer;
      if (peer == none || was == none || current_.port(peer).number != reference_.port(was).number) continue;
      if (now_[reference_.port(was).node] == current_.port(peer).node) return true;
    }
    return false;
  }

  bool has_words_of(NodeIndex now, NodeIndex then) const {
    const Node &is = current_.node(now), &was = reference_.node(then);
    return is.has_description && was.has_description && is.description() == was.description() && is.kind() == was.kind() &&
           is.info.num_ports == was.info.num_ports;
  }

  const Subnet &current_, &reference_;
  std::vector<NodeIndex> now_, then_;
  std::vector<Crowd> crowds_;
};

}  // namespace

NodeIndex only_node(const Subnet& subnet, Guid guid) {
  const NodeIndex node = subnet.find_node(guid);
  return node == none || has_own_guid(subnet, node) ? node : none;
}

bool has_own_guid(const Subnet& subnet, NodeIndex node) { return !subnet.node(node).is_twin && subnet.node(node).twin == none; }

Counterparts::Counterparts(const Subnet& current, const Subnet& reference)
    : ports_now_(reference.ports().size(), none), ports_then_(current.ports().size(), none) {
  Matching matching(current, reference);
  matching.run();
  nodes_now_ = matching.take_now();
  nodes_then_ = matching.take_then();
  for (NodeIndex then = 0; then < nodes_now_.size(); ++then) {
    if (nodes_now_[then] == none) continue;
    const Node &node = current.node(nodes_now_[then]), &was = reference.node(then);
    for (unsigned number = 0; number < std::min(node.slots, was.slots); ++number) {
      ports_now_[was.first_port + number] = node.first_port + number;
      ports_then_[node.first_port + number] = was.first_port + number;
    }
  }
}

Counterparts Counterparts::reversed() const {
  Counterparts other = *this;
  std::swap(other.nodes_now_, other.nodes_then_);
  std::swap(other.ports_now_, other.ports_then_);
  return other;
}

}  // namespace ib::subnet
