// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Finds nodes and links in the database of the subnet administrator.
#pragma once

#include <optional>
#include <string_view>

#include "iba-gen/sa.hpp"
#include "mad/transactor.hpp"
#include "sa/pattern.hpp"
#include "sa/subn_adm.hpp"

namespace ib::sa {

using Nodes = Table<NodeRecord>;  ///< one record for each end port

/// The nodes that match `pattern`, which is a pattern of a NodeRecord. Throws a MadError.
async::Task<Nodes> find_nodes(mad::Transactor& transactor, const Pattern& pattern);

/// The nodes with the description `name`. Throws a MadError, or UsageError if the name is too long for a description.
async::Task<Nodes> find_nodes_by_name(mad::Transactor& transactor, std::string_view name);

/// The ports of the node with the GUID `guid`; where no node has it, the ports of the nodes with that SystemImageGUID. Throws a MadError.
async::Task<Nodes> find_nodes_by_guid(mad::Transactor& transactor, Guid guid);

// Single links, for following a route. In a query for links, opensm rounds the LID down by its own LMC, but not the LIDs of its switches,
// whose LMC is 0. If the LMC is 2, a query by LID therefore finds no links of three in four switches. A query by port number finds them.

/// The link at `port` of the node at LID `from`. Without `port`, the only link of the end port at `from`. One query is enough
/// if the SA answers it. The error comes from this query.
async::Task<mad::Result<LinkRecord>> find_link(mad::Transactor& transactor, Lid from, std::optional<std::uint8_t> port);

/// The LID at the other end of a link. Throws Error if it is not a unicast LID: no port can have such a LID.
Lid end_of(const LinkRecord& link);

}  // namespace ib::sa
