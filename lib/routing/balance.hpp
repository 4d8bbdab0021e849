// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Whether the ports of a switch that lead to other switches carry the same load: the number of LIDs of end ports that leave by each.
#pragma once

#include <optional>
#include <vector>

#include "routing/tables.hpp"

namespace ib::routing {

struct PortUse {
  unsigned port{};
  unsigned lids{};
};

struct SwitchUse {
  std::vector<PortUse> ports;  ///< the ports that lead to other switches
  unsigned in_use{};           ///< the number of ports that have a link or carry LIDs, including ports to end ports
};

/// Nothing if the table of the switch was not read as a whole.
std::optional<SwitchUse> switch_use(const Network& network, const LinearTables& tables, SwitchIndex at);

/// Whether a port carries at least two LIDs more than another. With `deeper`, a switch with more than 12 used ports is also balanced in
/// two cases: about half of the ports carry less than the others, and the same load each; or all ports that carry less carry nothing.
bool is_unbalanced(const SwitchUse& of, bool deeper);

}  // namespace ib::routing
