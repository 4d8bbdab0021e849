// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Finds who broke the packets that others count. A packet that breaks on a link is counted at the port that receives it, is marked, and is
// forwarded. Each later port counts it in PortRcvRemotePhysicalErrors (IBA 16.1.3.5), although its own link is good.
#pragma once

#include <cstddef>
#include <map>

#include "health/input.hpp"

namespace ib::health {

struct Blame {
  std::map<subnet::PortIndex, std::size_t> victims;  ///< by the port that received broken packets: how many ports got them after it
  /// Nodes through which broken packets came, with the number of ports that got them, where no port that was read broke them.
  std::map<subnet::NodeIndex, std::size_t> sources;
};

/// Follows the marked packets of each port against their direction to the ports with errors of their own.
Blame blame(const Input& input);

}  // namespace ib::health
