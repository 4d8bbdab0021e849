// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Adaptive routing: a switch that has it on chooses among several output ports by their load, so that packets also go routes that its
// linear table does not have. No attribute of the IBA reports it; switches of Mellanox do, by AdaptiveRoutingInfo.
#pragma once

#include <cstdint>
#include <vector>

#include "mad/transactor.hpp"
#include "routing/network.hpp"
#include "routing/tables.hpp"
#include "subnet/sweep/survey.hpp"

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

// Reads the forwarding tables of switches into the arrays of this layer, all switches side by side.

/// The tables to read into. Null: not wanted.
struct TablesToRead {
  LinearTables* linear{};
  MulticastTables* multicast{};  ///< MulticastTables::finish() is the caller's
  AdaptiveRouting* adaptive{};   ///< as unread_adaptive_routing() makes it
};

/// Reads the tables of `switches`. Returns a failure for each switch with a table that is not completely known; the blocks that came are
/// kept. An unanswered request for the state of adaptive routing is not a failure. `network` and the tables must outlive the task.
/// `options.window` is a number of switches.
async::Task<std::vector<subnet::Failure>> read_tables(mad::Transactor& transactor, const Network& network,
                                                      std::vector<SwitchIndex> switches, TablesToRead to, subnet::SurveyOptions options);

std::vector<SwitchIndex> all_switches(const Network& network);

}  // namespace ib::routing
