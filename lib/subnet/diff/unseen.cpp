// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "subnet/diff/unseen.hpp"

namespace ib::subnet {
namespace {

/// Whether the failure leaves open what is at the other ends of links. A failed NodeInfo concerns all ports of the node.
bool hides_links(const Failure& failure) {
  if (failure.node == none) return false;
  return failure.beyond || failure.attribute == "NodeInfo" || failure.attribute == "PortInfo";
}

}  // namespace

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

bool Unseen::link(PortIndex port) const {
  const PortIndex peer = other_.port(port).peer;
  return peer != none && is_open(port) && is_open(peer);
}

/// Whether the sweep learnt nothing about what is at the other end of `port` of the other model.
bool Unseen::is_open(PortIndex port) const {
  const Port& of = other_.port(port);
  if (nodes_[of.node]) return true;
  const PortIndex there = pairs_.port_now(port);
  return there != none && open_[there];
}

}  // namespace ib::subnet
