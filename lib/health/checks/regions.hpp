// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The parts of the baseline's fabric that are not there any more: nodes that are gone, by the links that they had with each other.
#pragma once

#include <string>
#include <vector>

#include "health/finding.hpp"
#include "health/input.hpp"

namespace ib::health {

/// Nodes of the baseline that are gone and were linked with each other.
struct Region {
  std::vector<subnet::NodeIndex> nodes;  ///< of the baseline's model: switches first
  /// The ports of these nodes, in the baseline's model, whose links led to nodes that are still there.
  std::vector<subnet::PortIndex> boundary;
};

/// The regions of all nodes that are gone, in the order of their first nodes in Changes::nodes_gone.
std::vector<Region> gone_regions(const Input& input);

/// Two ports of a cable of the baseline: one of a node that is still there, and the one that it led to, in the baseline's model.
struct FormerCable {
  Place near;
  subnet::PortIndex far{};
};
/// The cables on a region's boundary whose near ends are up and have no node in the model at the other end: the region may be there, and be
/// silent.
std::vector<FormerCable> silent_cables(const Input& input, const Region& region);
/// What a region had, for people: "1 switch and 2 adapters: 'leaf1', …", or the one node's name and GUID.
std::string contents_of(const subnet::Subnet& was, const Region& region);

/// The place of a port of the baseline: the port as it is now where its node is still there.
Place place_now(const Input& input, subnet::PortIndex reference);

/// The confidence that something is gone: it may still be there, behind a node that is silent.
Confidence sure_of_absence(const Input& input);

}  // namespace ib::health
