// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The node that a command will set, where a LID or a route names it and nothing yet says which node that is.
#pragma once

#include "async/task.hpp"
#include "tools/frame/session.hpp"

namespace ib::tools {

/// `node` with IbPath::meant: the GUID of the node that is at the end of its path now, which is requested to say who it is. A command calls
/// it before it reads what it will set: no Set on this path goes to another node afterwards (SetGuard). Throws subnet::WrongNode if another
/// node was meant before, and MadError if there is no answer. Returns `node` as it is where SMPs do not go (subnet::takes_smps()).
///
/// infiniband-diags sends no such request. In its dialect nothing is printed of this one, and if it fails, `node` is returned as it is:
/// what the command requests next fails, too, or the agent of SMPs is silent for the lack of its M_Key. SetGuard refuses a wrong node.
async::Task<Destination> identified(Session& session, Destination node);

}  // namespace ib::tools
