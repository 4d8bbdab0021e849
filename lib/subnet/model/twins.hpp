// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Nodes that claim the GUID of another one, in texts.
#pragma once

#include <string>

#include "subnet/model/model.hpp"

namespace ib::subnet {

/// The route from the start of the sweep, " (route 0,2,1)", which says which of the nodes with one GUID is meant: their names and LIDs may
/// be the same, too. Empty for a node whose GUID no other one claims.
std::string twin_mark(const Subnet& subnet, NodeIndex node);

}  // namespace ib::subnet
