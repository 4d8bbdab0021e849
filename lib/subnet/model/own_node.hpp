// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The node of this host as sysfs has it, without a MAD: what is left to report when its port is Down.
#pragma once

#include <string_view>

#include "subnet/model/model.hpp"
#include "sys/device.hpp"

namespace ib::subnet {

/// Adds the node of `port` to an empty model: its GUIDs, its description, and of this port the LIDs and both states. It is the
/// start of the model. A node without a description in sysfs has none in the model.
void add_own_node(Subnet& subnet, const sys::EndPort& port);

/// Gives a node a description, which sysfs has without a MAD. An empty one says nothing, and is not stored.
void describe_node(Node& node, std::string_view text);

/// Whether the port where the sweep began is Down, so that nothing beyond it can have been seen.
bool is_start_down(const Subnet& subnet);

}  // namespace ib::subnet
