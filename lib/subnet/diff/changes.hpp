// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The changes of nodes, cables and settings between two models of a subnet. They are derived from the lists of difference(). If a node is
// missing and a node with another GUID has its name and place, it was replaced. If one end of a cable stayed and the other end is another
// port, the cable has moved. Links of new and missing nodes are not listed, because the node is. All lists are sorted as those of
// difference() are.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "iba/struct_info.hpp"
#include "subnet/diff/counterparts.hpp"
#include "subnet/model/model.hpp"
#include "subnet/model/rate.hpp"

namespace ib::subnet {

/// A node or a port in both models.
struct NodePair {
  NodeIndex current = none, reference = none;
  bool operator==(const NodePair&) const = default;
};
struct PortPair {
  PortIndex current = none, reference = none;
  bool operator==(const PortPair&) const = default;
};

/// A field of NodeInfo, or of the PortInfo of `port`, whose value is another one. Bits of CapabilityMask that programs of a host set are
/// zero in both values.
struct FieldChange {
  NodeIndex node = none;  ///< of the current model, like `port`
  PortIndex port = none;  ///< none: NodeInfo
  const FieldInfo* field{};
  std::uint64_t current{}, reference{};
};

struct RateChange {
  PortIndex port = none;  ///< the first end of the link in the current model
  LinkRate current, reference;
};

struct Changes {
  Counterparts pairs;                 ///< of the two models
  std::vector<NodeIndex> nodes_gone;  ///< of the reference model
  std::vector<NodeIndex> nodes_new;   ///< of the current model
  std::vector<NodePair> replaced, renamed;
  std::vector<PortIndex> links_gone;  ///< the first ends, in the reference model
  std::vector<PortIndex> links_new;   ///< the first ends, in the current model
  std::vector<PortPair> moved;        ///< the ends that stayed
  std::vector<RateChange> rates;      ///< of links that both have
  std::vector<FieldChange> fields;    ///< of nodes that both have, by node
  std::optional<PortPair> master;     ///< the end ports of the master subnet managers, where these are of different nodes
};

Changes changes(const Subnet& current, const Subnet& reference);

}  // namespace ib::subnet
