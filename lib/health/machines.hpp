// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The machines of a fabric. All channel adapters with one host name (HostNames) are of one machine, whose adapters have descriptions of
// their own ("n042 mlx5_0", "n042 mlx5_1"). Where adapters with different SystemImageGUIDs have one and the same description, the name is
// that of several machines, as "(none)" or "node" is: then each SystemImageGUID is a machine.
#pragma once

#include <compare>
#include <cstddef>
#include <string>
#include <vector>

#include "health/hosts.hpp"
#include "health/scope.hpp"
#include "subnet/model/model.hpp"

namespace ib::health {

struct Machine {
  std::string name;  ///< the host name; empty: it has none
  Guid system;       ///< SystemImageGUID, else the node GUID, where the name does not distinguish the machine; else zero
  auto operator<=>(const Machine&) const = default;
};

class Machines {
 public:
  Machines(const subnet::Subnet& subnet, const HostNames& names);

  /// The machine of a channel adapter. Without a name for other nodes.
  const Machine& of(subnet::NodeIndex node) const { return machines_[node]; }

 private:
  std::vector<Machine> machines_;  // by node
};

/// The number of machines of a fabric, or of those with channel adapters that `scope` has. Aggregation Nodes are none.
std::size_t host_count(const subnet::Subnet& subnet, const HostNames& names, const Scope& scope = {});

}  // namespace ib::health
