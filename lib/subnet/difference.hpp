// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The differences between two models of a subnet: the current one, and an earlier one as the reference. All lists are sorted.
#pragma once

#include <compare>
#include <optional>
#include <vector>

#include "iba/types.hpp"
#include "subnet/model.hpp"
#include "subnet/rate.hpp"

namespace ib::subnet {

/// One end of a link: the GUID of the end port that answers for it, and its own number.
struct LinkEnd {
  Guid guid;
  unsigned port{};
  auto operator<=>(const LinkEnd&) const = default;
};

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

  bool none() const;
};

SubnetDifference difference(const Subnet& current, const Subnet& reference);

}  // namespace ib::subnet
