// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Names of nodes for people: a short word for the kind, and the site's name or the node's description.
#pragma once

#include <string_view>

#include "subnet/model/model.hpp"
#include "subnet/model/node_name_map.hpp"

namespace ib::subnet {

/// The name of `node` in `map` (which may be null), else the node's description. Not escaped.
inline std::string_view name_of(const Node& node, const NodeNameMap* map) {
  if (map != nullptr && !map->empty()) {
    if (const auto name = map->find(node.guid())) return *name;
  }
  return node.description();
}

/// Whether a channel adapter is an Aggregation Node inside of a switch (SHARP), and no host.
inline bool is_aggregation_node(const Node& node) {
  return node.has_description && node.description().find("Aggregation Node") != std::string_view::npos;
}

/// The kind of a node in the ports report: `CA`, `SW`, `RT`.
inline std::string_view short_type(const Node& node) {
  switch (node.kind()) {
    case NodeKind::ca:
      return "CA";
    case NodeKind::sw:
      return "SW";
    case NodeKind::router:
      return "RT";
    case NodeKind::other:
      break;
  }
  return "??";
}

}  // namespace ib::subnet
