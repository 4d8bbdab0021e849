// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// ibhosts, ibswitches and ibrouters of infiniband-diags are filters on the text of ibnetdiscover. Here is that filter: it takes a line and
// has a line for it, or none. A topology file that somebody wrote or cut by hand is as good as a fabric.
#pragma once

#include <string>
#include <string_view>

#include "subnet/model.hpp"

namespace ib::tools {

/// Appends what the list of nodes of `kind` (ca, sw or router) has for a line of a topology, which has no line end: nothing but for nodes
/// of that kind.
void list_topology_line(std::string& out, std::string_view line, subnet::NodeKind kind);

/// The same for each line of `text`, and what ibnetdiscover complained of among them.
void list_topology(std::string& out, std::string_view text, subnet::NodeKind kind);

}  // namespace ib::tools
