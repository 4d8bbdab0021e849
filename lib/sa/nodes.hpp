// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Finds nodes by name in the database of the subnet administrator.
#pragma once

#include <string_view>
#include <vector>

#include "iba-gen/sa.hpp"
#include "mad/transactor.hpp"
#include "sa/pattern.hpp"

namespace ib::sa {

/// The result of a search for nodes.
struct Nodes {
  std::vector<NodeRecord> records;  ///< one for each end port
  bool torn = false;                ///< there may be more nodes; see Records
};

/// The nodes that match `pattern`, which is a pattern of a NodeRecord. Throws a MadError.
async::Task<Nodes> find_nodes(mad::Transactor& transactor, const Pattern& pattern);

/// The nodes with the description `name`. Throws a MadError, or UsageError if the name is too long for a description.
async::Task<Nodes> find_nodes_by_name(mad::Transactor& transactor, std::string_view name);

/// The ports of the node with the GUID `guid`; where no node has it, those of the nodes with that SystemImageGUID. Throws a MadError.
async::Task<Nodes> find_nodes_by_guid(mad::Transactor& transactor, Guid guid);

}  // namespace ib::sa
