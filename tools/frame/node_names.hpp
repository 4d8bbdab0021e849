// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The node name map of a run of the ibtool dialect.
#pragma once

#include "subnet/model/names.hpp"
#include "tools/frame/common_options.hpp"
#include "tools/frame/world.hpp"

namespace ib::tools {

/// Reads the file of --node-name-map, else the first default file that exists, and warns of invalid lines. Empty if no file exists. Throws
/// SysError for a file that cannot be read. A default file that this user may not read is not an error.
subnet::NodeNameMap read_node_names(const World& world, const CommonOptions& options);

}  // namespace ib::tools
