// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Shared by the infiniband-diags programs that read a fabric: the names of nodes, and the text for a link.
#pragma once

#include <string>
#include <string_view>

#include "base/escape.hpp"
#include "subnet/model/model.hpp"
#include "subnet/model/names.hpp"

namespace ib::tools {

/// The name of the node in the node name map of the site, else its description.
inline std::string diags_node_name(const subnet::NodeNameMap& names, Guid node, std::string_view description) {
  const auto mapped = names.find(node);
  return mapped ? printable_words(*mapped) : printable(description);
}
/// The name of a node of the model: that in the node name map of the site, else its description.
inline std::string diags_node_name(const subnet::Node& node, const subnet::NodeNameMap& names) {
  return diags_node_name(names, node.guid(), node.description());
}

/// "( 4X          10.0 Gbps Active/  LinkUp)"; no width and speed of a port that is down. Without `known` their codes are 0.
std::string diags_link_text(const subnet::Subnet& subnet, subnet::PortIndex port, bool known = true);

/// "Could be 12X " if both ends of the link support more than the link uses, otherwise " ". The port must have a peer.
std::string diags_could_be(const subnet::Subnet& subnet, subnet::PortIndex port);

}  // namespace ib::tools
