// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "subnet/diff/other_fabric.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>

namespace ib::subnet {

std::string other_fabric(const Subnet& current, const Subnet& reference, const Counterparts& pairs) {
  constexpr std::size_t least = 10;  // one in so many
  std::size_t common = 0;
  for (NodeIndex node = 0; node < reference.nodes().size(); ++node) common += pairs.node_now(node) != none ? 1 : 0;
  const std::size_t nodes = reference.nodes().size();
  if (nodes == 0 || current.nodes().empty() || least * common >= std::min(nodes, current.nodes().size())) return {};
  const std::string here = common == 0 ? "none" : fmt::format("{}", common);
  return fmt::format("it is of another fabric: {} of its {} node{} {} here", here, nodes, nodes == 1 ? "" : "s", common > 1 ? "are" : "is");
}

std::string other_fabric(const Subnet& current, const Subnet& reference) {
  return other_fabric(current, reference, Counterparts(current, reference));
}

}  // namespace ib::subnet
