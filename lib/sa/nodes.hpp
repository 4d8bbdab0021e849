// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Finding nodes by name in the subnet administrator's database.
#pragma once

#include <string_view>
#include <vector>

#include "iba-gen/sa.hpp"
#include "mad/transactor.hpp"
#include "sa/pattern.hpp"

namespace ib::sa {

struct Nodes {
  std::vector<NodeRecord> records;  ///< one for each end port
  bool torn = false;                ///< there may be more: see Records
};

/// The nodes that `pattern` (of a NodeRecord) matches. Throws a MadError.
async::Task<Nodes> find_nodes(mad::Transactor& transactor, const Pattern& pattern);

/// The nodes whose description is `name`. Throws a MadError, or UsageError for a name that is too long for one.
async::Task<Nodes> find_nodes_by_name(mad::Transactor& transactor, std::string_view name);

}  // namespace ib::sa
