// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The node name map of a run of the ibtool dialect.
#pragma once

#include "subnet/node_name_map.hpp"
#include "tools/frame/common_options.hpp"
#include "tools/frame/world.hpp"

namespace ib::tools {

/// Reads the map of --node-name-map, else the first of the usual files that there is, and warns of wrong lines. Empty if there is none.
/// Throws SysError for a file that cannot be read; of the usual files that is no error where nobody may read them.
subnet::NodeNameMap read_node_names(const World& world, const CommonOptions& options);

}  // namespace ib::tools
