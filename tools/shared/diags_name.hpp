// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The name of a node in texts of infiniband-diags.
#pragma once

#include <string>
#include <string_view>

#include "base/escape.hpp"
#include "subnet/model/names.hpp"

namespace ib::tools {

/// The name of the node in the node name map of the site, else its description.
inline std::string diags_node_name(const subnet::NodeNameMap& names, Guid node, std::string_view description) {
  const auto mapped = names.find(node);
  return mapped ? printable_words(*mapped) : printable(description);
}

}  // namespace ib::tools
