// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Routes of a model that no sweep has filled.
#pragma once

#include "subnet/model/model.hpp"

namespace ib::subnet {

/// Sets the members of each node that say how it is reached, as a breadth-first sweep from Subnet::start would: Node::hops, via and
/// entry_port. Without a start sets nothing.
void lay_routes(Subnet& subnet);

}  // namespace ib::subnet
