// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Adaptive routing: a switch that has it on chooses among several output ports by their load, so that packets also go ways that its
// linear table does not have. No attribute of the IBA reports it; switches of Mellanox do, by AdaptiveRoutingInfo.
#pragma once

#include <cstdint>
#include <vector>

#include "mad/transactor.hpp"
#include "routing/network.hpp"

namespace ib::routing {

enum class Adaptive : std::uint8_t {
  off,       ///< also where the switch has no adaptive routing that can be read
  on,        ///< for all SLs or for some
  not_read,  ///< the switch did not answer, or the attribute was not requested
};

/// By switch. Before anything is read: not_read for switches that may have the attribute.
using AdaptiveRouting = std::vector<Adaptive>;
AdaptiveRouting unread_adaptive_routing(const Network& network);

/// Reads whether the switch at the end of `path` has adaptive routing on. A switch that refuses the attribute has it off.
async::Task<Adaptive> read_adaptive(mad::Transactor& transactor, const path::Path& path);

}  // namespace ib::routing
