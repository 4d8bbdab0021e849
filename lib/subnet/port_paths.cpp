// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "subnet/port_paths.hpp"

namespace ib::subnet {

path::IbDrPath route_from(const path::Path& path) {
  if (const path::IbDrPath* directed = path.directed()) return *directed;
  path::IbDrPath route;
  static_cast<path::IbPath&>(route) = path.ib();
  route.dr_slid = route.slid;
  return route;
}

path::Path smp_path(const Subnet& subnet, NodeIndex node, const path::Path& start) {
  if (subnet.start != none && node == subnet.port(subnet.start).node) return start;
  std::array<std::uint8_t, 64> route{};
  const unsigned hops = route_to(subnet, node, route);
  path::IbDrPath path = route_from(start);
  for (unsigned hop = 1; hop <= hops && path.hops < path::max_hops; ++hop) path.route[++path.hops] = route[hop];
  return path;
}

std::optional<path::Path> lid_path(const Subnet& subnet, PortIndex port, const path::Path& start, Qpn qp) {
  const Lid lid = subnet.lid(port);
  if (!lid.is_unicast() || subnet.find_lid(lid) != subnet.end_port_of(port)) return std::nullopt;
  path::IbPath path;
  path.end_port = start.ib().end_port;
  path.slid = path.end_port->lid;
  path.dlid = lid;
  path.dqpn = path.sqpn = qp;
  path.qkey = qp == Qpn{0} ? 0 : path::qp1_qkey;
  path.m_key = start.ib().m_key;
  path.retries = start.ib().retries;
  path.timeout = start.ib().timeout;
  return path;
}

}  // namespace ib::subnet
