// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "subnet/model/twins.hpp"

#include <array>
#include <cstdint>

#include "subnet/diff/counterparts.hpp"

namespace ib::subnet {

std::string twin_mark(const Subnet& subnet, NodeIndex node) {
  if (has_own_guid(subnet, node)) return {};
  std::array<std::uint8_t, 64> route{};
  const unsigned hops = route_to(subnet, node, route);
  std::string text = " (route 0";
  for (unsigned hop = 1; hop <= hops; ++hop) text += ',' + std::to_string(route.at(hop));
  return text + ')';
}

}  // namespace ib::subnet
