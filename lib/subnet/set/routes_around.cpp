// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "subnet/set/routes_around.hpp"

#include <deque>

namespace ib::subnet {

RoutesAround::RoutesAround(const Subnet& subnet, const std::unordered_set<PortIndex>& avoided)
    : subnet_(subnet), via_(subnet.ports().size(), none) {
  if (subnet.start == none) return;
  std::deque<PortIndex> queue{subnet.start};
  while (!queue.empty()) {
    const PortIndex at = queue.front();
    queue.pop_front();
    const Node& node = subnet.node(subnet.port(at).node);
    const bool forwards = node.kind() == NodeKind::sw;
    for (unsigned number = 1; number < node.slots; ++number) {
      const PortIndex out = node.first_port + number;
      const PortIndex in = subnet.port(out).peer;
      if (in == none || avoided.contains(out) || avoided.contains(in)) continue;
      if (!forwards && out != subnet.start) continue;  // packets leave this host only through its own port
      const PortIndex next = subnet.end_port_of(in);
      if (next == subnet.start || via_[next] != none) continue;
      via_[next] = out;
      queue.push_back(next);
    }
  }
}

std::optional<path::IbDrPath> RoutesAround::to(PortIndex end_port) const {
  if (subnet_.start == none) return std::nullopt;
  std::vector<std::uint8_t> ports;
  while (end_port != subnet_.start) {
    const PortIndex via = via_[end_port];
    if (via == none) return std::nullopt;
    ports.push_back(subnet_.port(via).number);
    end_port = subnet_.end_port_of(via);
  }
  std::optional<path::IbDrPath> route{path::IbDrPath()};
  for (auto port = ports.rbegin(); route && port != ports.rend(); ++port) route = route->advance(*port);
  return route;
}

}  // namespace ib::subnet
