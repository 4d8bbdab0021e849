// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The comparisons are as in infiniband-diags. Like there, a different port number at the other end of a link is not found.
#include <utility>

#include "subnet/diff/difference.hpp"

namespace ib::subnet {
namespace {

Failures failures_of(const DiffSide& side) { return side.failures != nullptr ? *side.failures : Failures(); }
bool described_alike(const Node& a, const Node& b) { return a.description_bytes == b.description_bytes; }

class ListingComparison {
 public:
  ListingComparison(const DiffSide& before, const DiffSide& after, const DiffChecks& checks, DiffWay way)
      : before_(before.subnet),
        after_(after.subnet),
        checks_(checks),
        way_(way),
        sweeps_(after_, failures_of(after), before_, failures_of(before)) {}

  std::optional<NodeDifference> of_node(NodeIndex old_node) const {
    const NodeIndex new_node = sweeps_.pairs.node_now(old_node);
    NodeDifference found{old_node, new_node, false, false, {}};
    if (new_node == none) return sweeps_.missed_now.node(old_node) ? std::nullopt : std::optional(found);
    const Node &was = before_.node(old_node), &is = after_.node(new_node);
    if (!checks_.any_of_nodes()) return std::nullopt;
    const bool moved = was.kind() == NodeKind::sw && before_.lid(was.first_port) != after_.lid(is.first_port);
    found.head = (checks_.lids && moved) || (checks_.descriptions && !described_alike(was, is));
    found.num_ports = was.info.num_ports != is.info.num_ports;
    const bool compares_ports = way_ == DiffWay::links || checks_.ports || checks_.lids;
    for (unsigned number = 1; compares_ports && !found.num_ports && number <= was.info.num_ports; ++number) {
      if (const auto port = of_ports(was.first_port + number, is.first_port + number)) found.ports.push_back(*port);
    }
    if (!found.head && !found.num_ports && found.ports.empty()) return std::nullopt;
    return found;
  }
  bool is_new(NodeIndex new_node) const { return sweeps_.pairs.node_then(new_node) == none && !sweeps_.missed_before.node(new_node); }

 private:
  /// Of a port in both fabrics: the two nodes have one GUID, the two ports one number.
  std::optional<PortDifference> of_ports(PortIndex old_port, PortIndex new_port) const {
    const Port &was = before_.port(old_port), &is = after_.port(new_port);
    const bool has_old = was.is_known(), has_new = is.is_known(), has_both = has_old && has_new;
    const PortIndex old_peer = has_old ? was.peer : none, new_peer = has_new ? is.peer : none;
    if (new_peer == none && sweeps_.missed_now.link(old_port)) return std::nullopt;
    if (old_peer == none && sweeps_.missed_before.link(new_port)) return std::nullopt;
    const bool is_linked = old_peer != none && new_peer != none;
    const bool is_relinked = is_linked ? before_.port_guid(old_peer) != after_.port_guid(new_peer) : old_peer != new_peer;
    bool is_different = is_linked && checks_.ports && peers_differ(old_peer, new_peer);
    if (way_ == DiffWay::links) {
      is_different |= checks_.ports && (has_old != has_new || is_relinked);
      is_different |= checks_.states && has_both && was.state() != is.state();
      if (!is_different || (!has_old && !has_new)) return std::nullopt;
      return PortDifference{has_old ? old_port : none, has_new ? new_port : none};
    }
    is_different |= checks_.ports && (is_relinked || (is_linked && before_.port_guid(old_port) != after_.port_guid(new_port)));
    is_different |= checks_.lids && has_both && before_.lid(old_port) != after_.lid(new_port);
    // A port without a link has no line in a topology file.
    if (!is_different || (old_peer == none && new_peer == none)) return std::nullopt;
    return PortDifference{old_peer != none ? old_port : none, new_peer != none ? new_port : none};
  }

  /// Whether the node at the other end has another LID or description, and this is compared.
  bool peers_differ(PortIndex old_peer, PortIndex new_peer) const {
    if (checks_.lids && before_.lid(old_peer) != after_.lid(new_peer)) return true;
    return checks_.descriptions && !described_alike(before_.node(before_.port(old_peer).node), after_.node(after_.port(new_peer).node));
  }

  const Subnet &before_, &after_;
  const DiffChecks& checks_;
  DiffWay way_;
  const ComparedSweeps sweeps_;
};

}  // namespace

std::vector<NodeDifference> differences(const DiffSide& before, const DiffSide& after, const DiffChecks& checks, DiffWay way) {
  const ListingComparison comparison(before, after, checks, way);
  std::vector<NodeDifference> found;
  for (const NodeIndex at : before.nodes) {
    if (auto difference = comparison.of_node(at)) found.push_back(std::move(*difference));
  }
  for (const NodeIndex at : after.nodes) {
    if (comparison.is_new(at)) found.push_back({none, at, false, false, {}});
  }
  return found;
}

}  // namespace ib::subnet
