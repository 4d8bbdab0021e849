// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The views of a snapshot: nodes, ports, links and tables that consist of blocks, and on these the views whose columns have the names of
// the JSON dictionary (cables, lids, …). ibtool-snapshot(5) describes them.
#pragma once

#include "snapshot/file/sqlite.hpp"

namespace ib::snapshot {

/// Creates the views in the open transaction. The tables of the attributes are there already.
void create_views(Database& database);

}  // namespace ib::snapshot
