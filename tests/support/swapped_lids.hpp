// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// LIDs that change hands, as after a subnet manager that has forgotten what it had assigned.
#pragma once

#include <utility>

#include "support/fake_fabric.hpp"

namespace ibtest {

/// An end port: a node, and its port with a LID; 0 for a switch.
using EndOf = std::pair<FakeFabric::NodeId, unsigned>;

/// Two end ports swap their LIDs, and the switches forward accordingly.
inline void swap_lids(FakeFabric& fabric, EndOf a, EndOf b) {
  const ib::Lid lid_a = fabric.node(a.first).ports[a.second].info.lid, lid_b = fabric.node(b.first).ports[b.second].info.lid;
  for (FakeFabric::NodeId id = 0; id < fabric.size(); ++id) {
    FakeFabric::Node& node = fabric.node(id);
    if (node.is_switch()) std::swap(node.lft[lid_a.value], node.lft[lid_b.value]);
  }
  const auto give = [&fabric](EndOf end, ib::Lid lid) {
    FakeFabric::Node& node = fabric.node(end.first);
    for (std::size_t port = 0; port < node.ports.size(); ++port) {
      if (node.is_switch() || port == end.second) node.ports[port].info.lid = lid;
    }
  };
  give(a, lid_b);
  give(b, lid_a);
}

}  // namespace ibtest
