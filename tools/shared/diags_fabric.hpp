// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// What the programs of infiniband-diags that walk a fabric have in common: how they call nodes, and what they say of a
// link.
#pragma once

#include <string>

#include "subnet/model.hpp"
#include "subnet/node_name_map.hpp"
#include "tools/shared/diags_name.hpp"

namespace ib::tools {

/// The same of a node of the model.
inline std::string diags_node_name(const subnet::Node& node, const subnet::NodeNameMap& names) {
  return diags_node_name(names, node.guid(), node.description());
}

/// The GUID of a port as libibnetdisc keeps it: all ports of a switch have that of port 0.
Guid diags_port_guid(const subnet::Subnet& subnet, subnet::PortIndex port);

/// "( 4X          10.0 Gbps Active/  LinkUp)"; without width and speed where the port is down. Unless `known`, those are code 0.
std::string diags_link_text(const subnet::Subnet& subnet, subnet::PortIndex port, bool known = true);

/// "Could be 12X " where both ends of the link support more than it runs at; " " where they do not. The port must have a peer.
std::string diags_could_be(const subnet::Subnet& subnet, subnet::PortIndex port);

}  // namespace ib::tools
