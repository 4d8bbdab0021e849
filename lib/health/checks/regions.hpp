// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The parts of the baseline's fabric that are not there any more: nodes that are gone, by the links that they had with each other.
#pragma once

#include <string>
#include <vector>

#include "health/finding.hpp"
#include "health/input.hpp"

namespace ib::health {

/// Two ends of a cable of the baseline: `near` is of a node that is still there, as it is now, `far` of one that is gone.
struct FormerCable {
  Place near, far;
};

/// Nodes of the baseline that are gone and were linked with each other.
struct Region {
  std::vector<subnet::NodeIndex> nodes;  ///< of the baseline's model: switches first
  std::vector<FormerCable> boundary;     ///< the cables that led to nodes that are still there
};

/// The regions of all nodes that are gone, in the order of their first nodes in Changes::nodes_gone.
std::vector<Region> gone_regions(const Input& input);
/// The cables on a region's boundary whose near ends are up and have no node in the model at the other end: the region may be there, and be
/// silent.
std::vector<FormerCable> silent_cables(const Input& input, const Region& region);
/// What a region had, for people: "1 switch and 2 adapters: 'leaf1', …", or the one node's name and GUID.
std::string contents_of(const subnet::Subnet& was, const Region& region);

}  // namespace ib::health
