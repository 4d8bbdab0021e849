// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Whether the ports of a switch carry the same load. The load of a port is the number of LIDs that leave the switch by it.
#pragma once

#include <string>
#include <vector>

namespace ib::tools::balance {

/// A port that is compared, and the number of LIDs of end ports that leave by it.
struct PortUse {
  unsigned port{};
  unsigned lids{};
};

struct SwitchUse {
  std::string name;
  std::string guid;            ///< as it is printed
  std::vector<PortUse> ports;  ///< the ports that lead to other switches
  unsigned in_use{};           ///< the number of ports that are up or carry LIDs, including ports to end ports
  bool unbalanced{};
};

/// Sets `unbalanced` if a port carries at least two LIDs more than another. With `deeper`, a switch with more than 12 used ports is also
/// balanced in two cases: about half of the ports carry less than the others, and the same load each; or all ports that carry less
/// carry nothing.
void judge(SwitchUse& of, bool deeper);

}  // namespace ib::tools::balance
