// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "subnet/routes_around.hpp"

#include <deque>

namespace ib::subnet {

RoutesAround::RoutesAround(const Subnet& subnet, const std::unordered_set<PortIndex>& avoided)
    : subnet_(subnet), via_(subnet.nodes().size(), none) {
  if (subnet.start == none) return;
  const NodeIndex start = subnet.port(subnet.start).node;
  std::deque<NodeIndex> queue{start};
  while (!queue.empty()) {
    const NodeIndex at = queue.front();
    queue.pop_front();
    const Node& node = subnet.node(at);
    const bool forwards = node.kind() == NodeKind::sw;
    for (unsigned number = 1; number < node.slots; ++number) {
      const PortIndex out = node.first_port + number;
      const PortIndex in = subnet.port(out).peer;
      if (in == none || avoided.contains(out) || avoided.contains(in)) continue;
      if (!forwards && out != subnet.start) continue;  // a host is left by its own port only
      const NodeIndex next = subnet.port(in).node;
      if (next == start || via_[next] != none) continue;
      via_[next] = out;
      queue.push_back(next);
    }
  }
}

std::optional<path::IbDrPath> RoutesAround::to(NodeIndex node) const {
  if (subnet_.start == none) return std::nullopt;
  std::vector<std::uint8_t> ports;
  for (const NodeIndex start = subnet_.port(subnet_.start).node; node != start;) {
    const PortIndex via = via_[node];
    if (via == none) return std::nullopt;
    ports.push_back(subnet_.port(via).number);
    node = subnet_.port(via).node;
  }
  std::optional<path::IbDrPath> route{path::IbDrPath()};
  for (auto port = ports.rbegin(); route && port != ports.rend(); ++port) route = route->advance(*port);
  return route;
}

}  // namespace ib::subnet
