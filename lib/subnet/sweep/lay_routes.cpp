// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "subnet/sweep/lay_routes.hpp"

#include <algorithm>
#include <deque>
#include <vector>

namespace ib::subnet {

void lay_routes(Subnet& subnet) {
  if (subnet.start == none) return;
  std::vector<bool> reached(subnet.nodes().size());
  std::deque<PortIndex> entries{subnet.start};
  reached[subnet.port(subnet.start).node] = true;
  subnet.node(subnet.port(subnet.start).node).entry_port = subnet.port(subnet.start).number;
  for (; !entries.empty(); entries.pop_front()) {
    const PortIndex entry = entries.front();
    const Node& node = subnet.node(subnet.port(entry).node);
    const bool is_switch = node.kind() == NodeKind::sw;  // other nodes pass nothing on
    const PortIndex first = is_switch ? node.first_port : entry, count = is_switch ? node.slots : 1;
    for (PortIndex from = first; from < first + count; ++from) {
      const PortIndex to = subnet.port(from).peer;
      if (to == none || reached[subnet.port(to).node]) continue;
      reached[subnet.port(to).node] = true;
      Node& next = subnet.node(subnet.port(to).node);
      next.via = from;
      next.hops = static_cast<std::uint8_t>(std::min(node.hops + 1, 255));
      next.entry_port = subnet.port(to).number;
      entries.push_back(to);
    }
  }
}

}  // namespace ib::subnet
