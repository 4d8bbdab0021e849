// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The differences between two models of a subnet: the current one, and an earlier one as the reference. All lists are sorted. What one of
// the two sweeps may have missed (subnet/unseen.hpp) is not compared.
#pragma once

#include <compare>
#include <optional>
#include <vector>

#include "iba/types.hpp"
#include "subnet/failures.hpp"
#include "subnet/model.hpp"
#include "subnet/rate.hpp"

namespace ib::subnet {

/// One end of a link: the GUID of the end port that answers for it, and its own number.
struct LinkEnd {
  Guid guid;
  unsigned port{};
  auto operator<=>(const LinkEnd&) const = default;
};

/// The port at one end of a link; none if the model does not have it.
PortIndex port_at(const Subnet& subnet, const LinkEnd& end);

/// A link; `first` is the greater end.
struct LinkEnds {
  LinkEnd first, second;
  auto operator<=>(const LinkEnds&) const = default;
};

/// The difference between two sets of objects of one kind in the two subnets.
template <class T>
struct SetDifference {
  std::size_t current{}, reference{};  ///< the numbers of objects
  std::vector<T> added, missing;       ///< only in the current one, only in the reference
  std::size_t maybe_added{};           ///< objects of the current one that the sweep of the reference may have missed
  std::size_t maybe_missing{};         ///< objects of the reference that the sweep of the current one may have missed

  bool none() const { return added.empty() && missing.empty(); }
  std::size_t not_compared() const { return maybe_added + maybe_missing; }
};

struct RateDifference {
  LinkEnds link;
  LinkRate current, reference;  ///< at the first end
};

struct LidDifference {
  Lid lid;
  std::optional<Guid> current, reference;  ///< the end ports that have it
};

struct SubnetDifference {
  SetDifference<Guid> end_ports;  ///< port GUIDs
  SetDifference<Guid> nodes;      ///< node GUIDs
  SetDifference<LinkEnds> links;
  std::vector<RateDifference> rates;  ///< of links that both have
  std::size_t current_lids{}, reference_lids{};
  std::vector<LidDifference> lids;
  std::size_t lids_not_compared{};  ///< LIDs of which one of the sweeps may have missed the owner

  bool none() const;
  /// The number of objects that were not compared.
  std::size_t not_compared() const;
};

/// Both models are taken to be complete: what one of them does not have is not there.
SubnetDifference difference(const Subnet& current, const Subnet& reference);
SubnetDifference difference(const SweptSubnet& current, const SweptSubnet& reference);

}  // namespace ib::subnet
