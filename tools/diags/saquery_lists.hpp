// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The lists of infiniband-diags' saquery that are not records of one kind in full: nodes by name, ports of managers, members.
#pragma once

#include <optional>
#include <string>

#include "async/task.hpp"
#include "mad/transactor.hpp"
#include "subnet/node_name_map.hpp"
#include "tools/frame/emit.hpp"

namespace ib::diags {

/// What is shown of nodes.
enum class Names { all, lids, one_lid, guids, adapters, name_of_lid, name_of_guid };

/// The nodes that `operand` chooses: by name, or by what `what` says; there is one where `what` needs it.
async::Task<> list_nodes(mad::Transactor& transactor, Names what, const std::optional<std::string>& operand,
                         const subnet::NodeNameMap& names, tools::TextOut& out);
/// The ports that say they are subnet managers, or could be.
async::Task<> list_managers(mad::Transactor& transactor, const subnet::NodeNameMap& names, tools::TextOut& out);
/// A few words of each multicast group.
async::Task<> list_groups(mad::Transactor& transactor, const subnet::NodeNameMap& names, tools::TextOut& out);
/// The members of all multicast groups, or only the GIDs of the one with the LID `mlid`.
async::Task<> list_members(mad::Transactor& transactor, const std::optional<std::string>& mlid, const subnet::NodeNameMap& names,
                           tools::TextOut& out);

}  // namespace ib::diags
