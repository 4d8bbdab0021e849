// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The differences between two models of a subnet: the current one, and an earlier one as the reference. All lists are sorted. What one of
// the two sweeps may have missed (subnet::Unseen) is not compared.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <vector>

#include "iba/struct_info.hpp"
#include "iba/types.hpp"
#include "subnet/diff/counterparts.hpp"
#include "subnet/model/failures.hpp"
#include "subnet/model/model.hpp"
#include "subnet/model/rate.hpp"

namespace ib::subnet {

/// One end of a link: the GUID of the end port that answers for it, and its own number.
struct LinkEnd {
  Guid guid;
  unsigned port{};
  auto operator<=>(const LinkEnd&) const = default;
};

/// A link for people; `first` is the greater end.
struct LinkEnds {
  LinkEnd first, second;
  auto operator<=>(const LinkEnds&) const = default;
};

LinkEnds link_ends(const Subnet& subnet, PortIndex port);

/// The difference between two sets of objects of one kind in the two subnets. A link is named by the port at its first end.
struct SetDifference {
  std::size_t current{}, reference{};  ///< the numbers of objects
  std::vector<std::uint32_t> added;    ///< only in the current subnet; indexes of its model
  std::vector<std::uint32_t> missing;  ///< only in the reference; indexes of its model
  std::size_t maybe_added{};           ///< objects of the current one that the sweep of the reference may have missed
  std::size_t maybe_missing{};         ///< objects of the reference that the sweep of the current one may have missed

  bool none() const { return added.empty() && missing.empty(); }
  std::size_t not_compared() const { return maybe_added + maybe_missing; }
};

struct RateDifference {
  PortIndex port = subnet::none;  ///< the first end of the link in the current model
  LinkRate current, reference;    ///< at this end
};

struct LidDifference {
  Lid lid;
  std::optional<Guid> current, reference;  ///< the end ports that have it
};

struct SubnetDifference {
  SetDifference end_ports, nodes, links;
  std::vector<RateDifference> rates;  ///< of links that both have
  std::size_t current_lids{}, reference_lids{};
  std::vector<LidDifference> lids;
  std::size_t lids_not_compared{};  ///< LIDs of which one of the sweeps may have missed the owner

  bool none() const { return end_ports.none() && nodes.none() && links.none() && rates.empty() && lids.empty(); }
  std::size_t not_compared() const { return end_ports.not_compared() + nodes.not_compared() + links.not_compared() + lids_not_compared; }
};

/// Both models are taken to be complete: what one of them does not have is not there.
SubnetDifference difference(const Subnet& current, const Subnet& reference);
SubnetDifference difference(const SweptSubnet& current, const SweptSubnet& reference);

// The changes of nodes, cables and settings between two models of a subnet. They are derived from the lists of difference(). If a node is
// missing and a node with another GUID has its name and place, it was replaced. If one end of a cable stayed and the other end is another
// port, the cable has moved. Links of new and missing nodes are not listed, because the node is. All lists are sorted as the lists of
// difference() are.

struct IndexPair {
  std::uint32_t current = none, reference = none;
  bool operator==(const IndexPair&) const = default;
};

/// A field of NodeInfo, or of the PortInfo of `port`, whose value is another one. Bits of CapabilityMask that programs of a host set are
/// zero in both values.
struct FieldChange {
  NodeIndex node = none;  ///< of the current model, like `port`
  PortIndex port = none;  ///< none: NodeInfo
  const FieldInfo* field{};
  std::uint64_t current{}, reference{};
};

struct Changes {
  Counterparts pairs;                 ///< of the two models
  std::vector<NodeIndex> nodes_gone;  ///< of the reference model
  std::vector<NodeIndex> nodes_new;   ///< of the current model
  std::vector<IndexPair> replaced, renamed;
  std::vector<PortIndex> links_gone;  ///< the first ends, in the reference model
  std::vector<PortIndex> links_new;   ///< the first ends, in the current model
  std::vector<IndexPair> moved;       ///< the ends that stayed
  std::vector<RateDifference> rates;  ///< of links that both have
  std::vector<FieldChange> fields;    ///< of nodes that both have, by node
  std::optional<IndexPair> master;    ///< the end ports of the master subnet managers, where these are of different nodes
};

Changes changes(const Subnet& current, const Subnet& reference);

// The differences that the listings of two fabrics show (`ibnetdiscover --diff`, `iblinkinfo --diff`).

struct DiffChecks {
  bool switches{}, cas{}, routers{};  ///< the kinds of nodes, for commands that use them
  bool ports{};                       ///< the ports at the other ends of links
  bool states{};                      ///< PortState
  bool lids{}, descriptions{};        ///< of nodes, and with `ports` also of the nodes at the other ends of links

  bool any_of_nodes() const { return ports || states || lids || descriptions; }
};

/// One of the two fabrics that are compared, with the nodes that are compared, in their order.
struct DiffSide {
  const Subnet& subnet;
  std::vector<NodeIndex> nodes;
  /// What the sweep of this fabric may have missed (Unseen) is not a difference. Null: it is one, as in infiniband-diags.
  const Failures* failures{};
};

struct PortDifference {
  PortIndex before = none, after = none;  ///< none: not printed
};

struct NodeDifference {
  NodeIndex before = none, after = none;  ///< if one of them is none, the node is new or is gone
  bool head{};                            ///< the LID or the description differs
  bool num_ports{};                       ///< the number of ports differs; then ports are not compared
  std::vector<PortDifference> ports;
};

/// ibnetdiscover also compares GUIDs and LIDs of ports, and prints a lost or new link on one side; iblinkinfo compares states.
enum class DiffWay : std::uint8_t { topology, links };

/// The nodes of `before` that are gone or different, then the new ones of `after`. A node is identified by its GUID.
std::vector<NodeDifference> differences(const DiffSide& before, const DiffSide& after, const DiffChecks& checks, DiffWay way);

}  // namespace ib::subnet
