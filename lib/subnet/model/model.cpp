// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The model's indexes by GUID and LID, and its handling of contradictory nodes.
#include "subnet/model/model.hpp"

namespace ib::subnet {

std::string false_claim(const smp::NodeInfo& info) {
  const auto type = static_cast<unsigned>(info.node_type);
  if (type < 1 || type > 3) return "It claims to be of type " + std::to_string(type) + ".";
  if (info.local_port_num > info.num_ports) {
    return "It claims that this is its port " + std::to_string(info.local_port_num) + " of " + std::to_string(info.num_ports) + ".";
  }
  return info.num_ports > last_switch_port ? "It claims to have " + std::to_string(info.num_ports) + " ports." : "";
}

NodeIndex Subnet::add_node(const smp::NodeInfo& info) {
  const auto index = static_cast<NodeIndex>(nodes_.size());
  Node& node = nodes_.emplace_back();
  node.info = info;
  node.first_port = static_cast<PortIndex>(ports_.size());
  node.slots = slots_of(info);
  ports_.grow(node.slots);
  for (unsigned number = 0; number < node.slots; ++number) {
    Port& port = ports_[node.first_port + number];
    port.node = index;
    port.number = static_cast<std::uint8_t>(number);
  }
  if (NodeIndex other = by_guid_.insert(info.node_guid, index); other != index) {
    while (nodes_[other].twin != none) other = nodes_[other].twin;
    nodes_[other].twin = index;
    nodes_[index].is_twin = true;
  }
  return index;
}

PortIndex Subnet::set_port_info(PortIndex at, Bytes info) {
  Port& port = ports_[at];
  // The LIDs that it had so far.
  const std::size_t end = end_port_of(at) == at ? std::min(by_lid_.size(), std::size_t{lid(at).value} + (std::size_t{1} << lmc(at))) : 0;
  for (std::size_t old = lid(at).value; old < end; ++old) {
    if (by_lid_[old] == at) by_lid_[old] = none;
  }
  std::copy_n(info.begin(), std::min(info.size(), port.info_bytes.size()), port.info_bytes.begin());
  port.has_info = true;
  const Lid base = lid(at);
  if (end_port_of(at) != at || !base.is_unicast()) return none;
  const unsigned last = std::min<unsigned>(base.value + (1U << lmc(at)) - 1, last_unicast_lid);
  if (by_lid_.size() <= last) by_lid_.resize(last + 1, none);
  PortIndex owner = none;
  for (unsigned lid = base.value; lid <= last; ++lid) {
    if (by_lid_[lid] != none && by_lid_[lid] != at) {
      owner = by_lid_[lid];
    } else {
      by_lid_[lid] = at;
    }
  }
  return owner;
}

void Subnet::unlink(PortIndex port) {
  const PortIndex peer = ports_[port].peer;
  ports_[port].peer = none;
  if (peer != none && ports_[peer].peer == port) ports_[peer].peer = none;
}

void Subnet::link(PortIndex a, PortIndex b) {
  unlink(a);
  unlink(b);
  ports_[a].peer = b;
  ports_[b].peer = a;
}

bool has_own_guid(const Subnet& subnet, NodeIndex node) { return !subnet.node(node).is_twin && subnet.node(node).twin == none; }

NodeIndex only_node(const Subnet& subnet, Guid guid) {
  const NodeIndex node = subnet.find_node(guid);
  return node == none || has_own_guid(subnet, node) ? node : none;
}

unsigned route_to(const Subnet& subnet, NodeIndex node, std::array<std::uint8_t, 64>& route) {
  unsigned length = 0;
  for (PortIndex via = subnet.node(node).via; via != none && length < 63; via = subnet.node_of(via).via) {
    route[++length] = subnet.port(via).number;
  }
  std::reverse(route.begin() + 1, route.begin() + 1 + length);
  return length;
}

std::vector<std::uint8_t> route_ports(const Subnet& subnet, NodeIndex node) {
  std::array<std::uint8_t, 64> route{};
  const unsigned hops = route_to(subnet, node, route);
  return {route.begin() + 1, route.begin() + 1 + hops};
}

}  // namespace ib::subnet
