// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "subnet/model/path_end.hpp"

#include <algorithm>

#include "iba-gen/smp.hpp"

namespace ib::subnet {
namespace {

PathEnd at_port(const Subnet& subnet, PortIndex at) {
  if (at == none) return {};
  const Port& port = subnet.port(at);
  const bool is_switch = subnet.node(port.node).kind() == NodeKind::sw;
  PathEnd end;
  end.node = port.node;
  end.entry_port = is_switch ? std::uint8_t{0} : port.number;
  if (!is_switch) end.arrival = port.number;
  return end;
}

PathEnd follow_route(const Subnet& subnet, const path::IbDrPath& route) {
  const bool from_here = route.dlid == permissive_lid || route.dlid == Lid{};
  PortIndex at = from_here ? subnet.start : subnet.find_lid(route.dlid);
  if (at == none) return {};
  for (unsigned hop = 1; hop <= route.hops && hop <= path::max_hops; ++hop) {
    const NodeIndex node = subnet.port(at).node;
    const PortIndex out = subnet.port_of(node, route.route[hop]);
    const bool forwards = hop == 1 || subnet.node(node).kind() == NodeKind::sw;
    if (!forwards || out == none) return {};
    if (subnet.port(out).peer == none) {
      PathEnd end;
      if (hop == route.hops) end.beyond = out;
      return end;
    }
    at = subnet.port(out).peer;
  }
  if (route.dr_dlid != permissive_lid) return at_port(subnet, subnet.find_lid(route.dr_dlid));
  PathEnd end = at_port(subnet, at);
  end.arrival = route.hops == 0 ? 0 : subnet.port(at).number;
  if (end.entry_port != 0) end.arrival = end.entry_port;
  return end;
}

}  // namespace

PathEnd end_of_path(const Subnet& subnet, const path::Path& path) {
  if (const path::IbDrPath* route = path.directed()) return follow_route(subnet, *route);
  return at_port(subnet, subnet.find_lid(path.ib().dlid));
}

void set_arrival(const Subnet& subnet, const PathEnd& end, std::uint8_t arrival, std::uint16_t attribute,
                 std::vector<std::uint8_t>& content) {
  if (attribute == smp::PortInfo::attribute_id) {
    content.resize(std::max(content.size(), local_port_num_offset + 1));
    content[local_port_num_offset] = arrival;
  } else if (attribute == smp::NodeInfo::attribute_id) {
    content.resize(smp::NodeInfo::wire_size);
    smp::NodeInfo info = smp::NodeInfo::unpack(content);
    info.local_port_num = arrival;
    const PortIndex port = subnet.port_of(end.node, end.entry_port);
    if (end.entry_port != 0 && port != none) info.port_guid = subnet.port_guid(port);
    info.pack(content);
  }
}

}  // namespace ib::subnet
