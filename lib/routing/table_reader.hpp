// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Reads the forwarding tables of switches into the arrays of this layer, all switches side by side.
#pragma once

#include <vector>

#include "mad/transactor.hpp"
#include "routing/adaptive_routing.hpp"
#include "routing/linear_tables.hpp"
#include "routing/multicast_tables.hpp"
#include "subnet/sweep/survey.hpp"

namespace ib::routing {

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

/// All switches of a network.
std::vector<SwitchIndex> all_switches(const Network& network);

}  // namespace ib::routing
