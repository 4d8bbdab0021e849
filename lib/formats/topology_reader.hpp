// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The listing of ibnetdiscover read back into a model, in the form of ibtool and in that of infiniband-diags: nodes with their
// descriptions, links, port GUIDs, LIDs, LMCs and the rate of each link (Node::is_listed). All else is not known: states, what ports
// support, ports without a link.
#pragma once

#include <string_view>

#include "subnet/model/model.hpp"

namespace ib::formats {

/// Whether `text` looks like such a listing: its first line that is not empty is a comment or `vendid=…`.
bool is_topology_text(std::string_view text);

/// Fills `subnet`, which must be empty. Throws UsageError with the number of an invalid line, or with the name of the part that is missing.
void read_topology_text(std::string_view text, subnet::Subnet& subnet);

}  // namespace ib::formats
