// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "subnet/diff/counterparts.hpp"

#include <fmt/format.h>

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
  /// `now` and `then` get the pairs, by node.
  Matching(const Subnet& current, const Subnet& reference, std::vector<NodeIndex>& now, std::vector<NodeIndex>& then)
      : current_(current), reference_(reference), now_(now), then_(then) {}

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
  std::vector<NodeIndex>&now_, &then_;
  std::vector<Crowd> crowds_;
};

/// Whether the failure leaves open what is at the other ends of links. A failed NodeInfo concerns all ports of the node.
bool hides_links(const Failure& failure) {
  if (failure.node == none) return false;
  return failure.beyond || failure.attribute == "NodeInfo" || failure.attribute == "PortInfo";
}

}  // namespace

Counterparts::Counterparts(const Subnet& current, const Subnet& reference)
    : nodes_now_(reference.nodes().size(), none),
      nodes_then_(current.nodes().size(), none),
      ports_now_(reference.ports().size(), none),
      ports_then_(current.ports().size(), none) {
  Matching(current, reference, nodes_now_, nodes_then_).run();
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

std::string other_fabric(const Subnet& current, const Subnet& reference, const Counterparts& pairs) {
  constexpr std::size_t least = 10;  // one in so many
  std::size_t common = 0;
  for (NodeIndex node = 0; node < reference.nodes().size(); ++node) common += pairs.node_now(node) != none ? 1 : 0;
  const std::size_t nodes = reference.nodes().size();
  if (nodes == 0 || current.nodes().empty() || least * common >= std::min(nodes, current.nodes().size())) return {};
  const std::string here = common == 0 ? "none" : fmt::format("{}", common);
  return fmt::format("it is of another fabric: {} of its {} node{} {} here", here, nodes, nodes == 1 ? "" : "s", common > 1 ? "are" : "is");
}

Unseen::Unseen(const Subnet& swept, const Failures& failures, const Subnet& other, const Counterparts& pairs)
    : other_(other), pairs_(pairs), open_(swept.ports().size()), nodes_(other.nodes().size()) {
  std::vector<NodeIndex> found;
  const auto find = [&](NodeIndex node) {
    if (nodes_[node] || pairs_.node_now(node) != none) return;
    nodes_[node] = true;
    found.push_back(node);
  };
  for (const Failure& failure : failures) {
    if (!hides_links(failure)) continue;
    const Node& node = swept.node(failure.node);
    for (unsigned number = 0; number < node.slots; ++number) {
      const PortIndex at = node.first_port + number;
      if (swept.port(at).peer != none || (failure.port >= 0 && static_cast<unsigned>(failure.port) != number)) continue;
      open_[at] = true;
      const PortIndex port = pairs_.port_then(at);
      if (port != none && other_.port(port).peer != none) find(other_.port(other_.port(port).peer).node);
    }
  }
  for (std::size_t at = 0; at < found.size(); ++at) {
    for (const Port& port : other_.ports_of(other_.node(found[at]))) {
      if (port.peer != none) find(other_.port(port.peer).node);
    }
  }
}

/// Whether the sweep learnt nothing about what is at the other end of `port` of the other model.
bool Unseen::is_open(PortIndex port) const {
  const Port& of = other_.port(port);
  if (nodes_[of.node]) return true;
  const PortIndex there = pairs_.port_now(port);
  return there != none && open_[there];
}

}  // namespace ib::subnet
