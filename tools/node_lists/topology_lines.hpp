// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// ibhosts, ibswitches and ibrouters of infiniband-diags are filters on the text of ibnetdiscover. Here is that filter: it maps each input
// line to an output line or to nothing. A topology file written or cut by hand serves as well as a fabric.
#pragma once

#include <string>
#include <string_view>

#include "subnet/model/model.hpp"

namespace ib::tools {

/// Appends the output line for one line of a topology file. `kind` is ca, sw or router. Appends nothing if the line does not describe a
/// node of this kind. `line` has no line end.
void list_topology_line(std::string& out, std::string_view line, subnet::NodeKind kind);

/// Appends the output line of each line of `text` (list_topology_line()), and copies the error messages of ibnetdiscover that stand in it.
void list_topology(std::string& out, std::string_view text, subnet::NodeKind kind);

}  // namespace ib::tools
