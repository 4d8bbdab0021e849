// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Versions of firmware that are not that of most of a kind. Where several are the most frequent ones, none of them is odd.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace ib::health {

/// A version of firmware, and the nodes, or the ports of the modules, that have it.
using PlacesByVersion = std::map<std::string, std::vector<std::uint32_t>>;

struct OddVersions {
  std::vector<std::uint32_t> places;  ///< with an odd version; all places where none is that of most
  std::string text;                   ///< "firmware 1.0 here, 1.1 in 3 others"; "firmware 1.0 in 2, 1.1 in 2"
};
/// Precondition: there are at least two versions.
OddVersions odd_versions(const PlacesByVersion& versions);

}  // namespace ib::health
