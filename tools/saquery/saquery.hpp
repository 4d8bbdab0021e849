// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// saquery in two halves: records by pattern (saquery.cpp), and the look-ups of infiniband-diags that tell who has a name
// or a LID (saquery_nodes.cpp).
#pragma once

#include <optional>
#include <string>

#include "async/task.hpp"
#include "sa/records.hpp"
#include "tools/frame/emit.hpp"
#include "tools/frame/session.hpp"

namespace ib::tools::saquery {

/// Which look-up: of LIDs, the first LID or port GUIDs by node name, of the name by LID or GUID, of all channel adapters,
/// of the ports where subnet managers run or could.
enum class Lookup { none, lids, one_lid, guids, name_of_lid, name_of_guid, adapters, managers };

/// Does one of them; `word` is the name, LID or GUID, empty if none was given.
async::Task<> look_up(Session& session, Emit& emit, Lookup what, std::string word);

/// The LID that `text` says: a number, or the name of a node, whose first LID it is. Empty for what is neither.
async::Task<std::optional<Lid>> lid_of(Session& session, std::string text);

}  // namespace ib::tools::saquery
