// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The port of a node on which a conversation with it depends. Who disables that port can not ask the node to enable it again.
#pragma once

#include "async/task.hpp"
#include "iba-gen/smp.hpp"
#include "mad/transactor.hpp"
#include "path/path.hpp"

namespace ib::subnet {

/// Whether SMPs to the node at `path` come in by its port `port`, or its answers leave by that port. The node said `node` of itself, and
/// `info` of the port, both by `path`; 0 is the port that was asked.
///
///  - Of a directed route LocalPortNum tells the port (IBA 14.2.5.6).
///  - Of an end node it tells it as well: an SMP comes in by the port that owns the LID.
///  - A switch that was named by its LID may say 0 there. Its answers leave by the entry of this host's LID in its linear forwarding
///    table, for which the switch is asked.
///
/// Returns the error of that request.
async::Task<mad::Result<bool>> is_way_in(mad::Transactor& transactor, path::Path path, smp::NodeInfo node, unsigned port,
                                         smp::PortInfo info);

/// Throws UsageError where is_way_in(). The message names the port at the other end of the link, from where the same link can be disabled
/// and enabled again; of the link of this host it says that there is none. `from_sa` is as in find_peer(). Throws the MadError of
/// is_way_in().
async::Task<> check_way_in(mad::Transactor& transactor, path::Path path, smp::NodeInfo node, unsigned port, smp::PortInfo info,
                           bool from_sa = false);

}  // namespace ib::subnet
