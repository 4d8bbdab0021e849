// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// What the programs of infiniband-diags call a node.
#pragma once

#include <string>
#include <string_view>

#include "base/escape.hpp"
#include "subnet/node_name_map.hpp"

namespace ib::tools {

/// The site's name of the node, else what it says of itself: 63 bytes of that, as C's strings of 64 have room for.
inline std::string diags_node_name(const subnet::NodeNameMap& names, Guid node, std::string_view description) {
  constexpr std::size_t most = 63;
  const auto mapped = names.find(node);
  return mapped ? printable_words(*mapped) : printable(description.substr(0, most));
}

}  // namespace ib::tools
