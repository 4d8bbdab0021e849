// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// What is different between two models of a subnet, one of now and one of before. All lists are sorted.
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

/// What of one kind two subnets have.
template <class T>
struct SetDifference {
  std::size_t current{}, reference{};  ///< how many there are
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
