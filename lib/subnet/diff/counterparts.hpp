// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The nodes and ports that two models of a subnet have in common. A GUID alone does not say which node is which, because several nodes may
// claim it (Node::twin): nodes with one GUID are paired by what they are linked to, then by what they say of themselves. A port is paired
// with the port that has its number.
#pragma once

#include <vector>

#include "subnet/model/model.hpp"

namespace ib::subnet {

/// The node that alone claims a GUID; none if there is none, or if there are several.
NodeIndex only_node(const Subnet& subnet, Guid guid);
/// Whether no other node claims the GUID of this one.
bool has_own_guid(const Subnet& subnet, NodeIndex node);

/// The pairs, as indexes: the models need not outlive this object. Without models there is no pair.
class Counterparts {
 public:
  Counterparts() = default;
  Counterparts(const Subnet& current, const Subnet& reference);

  /// The node or port of the current model that one of the reference model is; none if it is not there. Of several nodes with one GUID,
  /// it is also none where it is not known which of them is meant.
  NodeIndex node_now(NodeIndex reference) const { return at(nodes_now_, reference); }
  PortIndex port_now(PortIndex reference) const { return at(ports_now_, reference); }
  /// The node or port of the reference model that one of the current model was.
  NodeIndex node_then(NodeIndex current) const { return at(nodes_then_, current); }
  PortIndex port_then(PortIndex current) const { return at(ports_then_, current); }

  /// These pairs with the roles of the models exchanged.
  Counterparts reversed() const;

 private:
  using Indexes = std::vector<std::uint32_t>;
  static std::uint32_t at(const Indexes& of, std::uint32_t index) { return index < of.size() ? of[index] : none; }

  Indexes nodes_now_, nodes_then_, ports_now_, ports_then_;
};

}  // namespace ib::subnet
