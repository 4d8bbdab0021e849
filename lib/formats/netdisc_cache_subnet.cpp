// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// From a cache of libibnetdisc to the model of a subnet, and back.
#include <algorithm>

#include "formats/netdisc_cache.hpp"
#include "subnet/model/chassis.hpp"
#include "subnet/model/find_port.hpp"
#include "subnet/model/order.hpp"

namespace ib::formats {

using subnet::Grouping;
using subnet::LegacySweep;
using subnet::local_port_num_offset;
using subnet::Node;
using subnet::NodeIndex;
using subnet::NodeKind;
using subnet::none;
using subnet::Port;
using subnet::PortIndex;
using subnet::Subnet;

namespace {

/// The NodeInfo of a node with the fields that the file also holds separately. In an edited file, these fields may differ.
smp::NodeInfo node_info(const CachedNode& node) {
  smp::NodeInfo info = smp::NodeInfo::unpack(node.info);
  info.node_guid = node.guid;
  info.node_type = static_cast<decltype(info.node_type)>(node.type);
  info.num_ports = node.num_ports;
  return info;
}

/// The end port where the sweep began. For a node that is not a switch, its first linked port.
PortIndex start_of(const NetdiscCache& cache, const Subnet& subnet) {
  const CachedNode& node = cache.nodes[cache.from_node];
  const PortIndex first = subnet.node(cache.from_node).first_port;
  if (subnet.node(cache.from_node).kind() == NodeKind::sw || node.ports.empty()) return first;
  const auto linked = std::ranges::find_if(node.ports, [&](std::uint32_t port) { return cache.ports[port].remote != none; });
  return first + cache.ports[linked == node.ports.end() ? node.ports.front() : *linked].number;
}

template <class From>
void copy_into(SmpData& to, const From& from) {
  std::copy_n(from.begin(), std::min(from.size(), to.size()), to.begin());
}

/// The ports that have a record, in the order in which libibnetdisc finds them.
std::vector<PortIndex> stored_ports(const Subnet& subnet, const LegacySweep& sweep, const std::vector<std::uint32_t>& node_places) {
  std::vector<bool> listed(subnet.ports().size());
  std::vector<PortIndex> ports;
  const auto add = [&](PortIndex at) {
    const Port& port = subnet.port(at);
    const Node& node = subnet.node(port.node);
    if (listed[at] || !port.has_info || node_places[port.node] == none || port.number > node.info.num_ports) return;
    listed[at] = true;
    ports.push_back(at);
  };
  for (const PortIndex at : sweep.ports) add(at);
  for (PortIndex at = 0; at < subnet.ports().size(); ++at) add(at);
  return ports;
}

/// The NodeInfo as it came by the port through which libibnetdisc finds the node; this sweep may have used another path.
smp::NodeInfo info_on_arrival(const Subnet& subnet, const LegacySweep& sweep, NodeIndex at) {
  const Node& node = subnet.node(at);
  smp::NodeInfo info = node.info;
  if (!sweep.entry_ports[at]) return info;
  info.local_port_num = *sweep.entry_ports[at];
  const PortIndex entry = subnet.port_of(at, info.local_port_num);
  if (node.kind() != NodeKind::sw && entry != none) info.port_guid = subnet.port_guid(entry);
  return info;
}

CachedNode cached_node(const Subnet& subnet, const LegacySweep& sweep, NodeIndex at) {
  const Node& node = subnet.node(at);
  CachedNode cached;
  if (node.kind() == NodeKind::sw) {
    cached.lid = subnet.lid(node.first_port);
    cached.lmc = static_cast<std::uint8_t>(subnet.lmc(node.first_port));
  }
  if (node.has_switch_info) {
    cached.enhanced_port0 = static_cast<std::uint8_t>(node.switch_info().enhanced_port0);
    copy_into(cached.switch_info, node.switch_info_bytes);
  }
  cached.guid = node.guid();
  cached.type = static_cast<std::uint8_t>(node.info.node_type);
  cached.num_ports = node.info.num_ports;
  info_on_arrival(subnet, sweep, at).pack(std::span(cached.info).first<smp::NodeInfo::wire_size>());
  copy_into(cached.description, node.description_bytes);
  return cached;
}

/// A port with the PortInfo that libibnetdisc reads: LocalPortNum (IBA 14.2.5.6) is the port that received the request.
CachedPort cached_port(const Subnet& subnet, const LegacySweep& sweep, PortIndex at) {
  const Port& port = subnet.port(at);
  CachedPort cached;
  cached.guid = subnet.port_guid(at);
  cached.number = port.number;
  cached.lid = subnet.lid(at);
  cached.lmc = static_cast<std::uint8_t>(subnet.lmc(at));
  cached.info = port.info_bytes;
  if (subnet.node(port.node).kind() != NodeKind::sw) {
    cached.info[local_port_num_offset] = port.number;
  } else if (sweep.entry_ports[port.node]) {
    cached.info[local_port_num_offset] = *sweep.entry_ports[port.node];
  }
  return cached;
}

}  // namespace

void fill_subnet(const NetdiscCache& cache, Subnet& subnet) {
  for (const CachedNode& cached : cache.nodes) {
    const smp::NodeInfo info = node_info(cached);
    if (!subnet.has_room_for(info)) throw UsageError("it has more nodes or ports than a subnet can have");
    Node& node = subnet.node(subnet.add_node(info));
    std::copy_n(cached.description.begin(), node.description_bytes.size(), node.description_bytes.begin());
    node.has_description = true;
    node.has_switch_info = node.kind() == NodeKind::sw;
    std::copy_n(cached.switch_info.begin(), node.switch_info_bytes.size(), node.switch_info_bytes.begin());
  }
  std::vector<PortIndex> places;
  for (const CachedPort& cached : cache.ports) {
    const PortIndex at = subnet.node(cached.node).first_port + cached.number;
    places.push_back(at);
    subnet.set_port_guid(at, cached.guid);
    subnet.set_port_info(at, cached.info);
  }
  for (std::uint32_t at = 0; at < cache.ports.size(); ++at) {
    const std::uint32_t remote = cache.ports[at].remote;
    if (remote == none || (cache.ports[remote].remote != at && cache.ports[remote].remote != none)) continue;
    if (subnet.port(places[at]).peer != places[remote]) subnet.link(places[at], places[remote]);
  }
  subnet.start = start_of(cache, subnet);
  subnet::lay_routes(subnet);
}

NetdiscCache cache_of(const Subnet& subnet, const LegacySweep& sweep, std::span<const NodeIndex> listed) {
  NetdiscCache cache;
  cache.max_hops = sweep.hops;
  std::vector<std::uint32_t> node_places(subnet.nodes().size(), none), port_places(subnet.ports().size(), none);
  for (std::size_t i = listed.size(); i-- > 0;) {
    const Node& node = subnet.node(listed[i]);
    if (node.is_twin) continue;
    node_places[listed[i]] = static_cast<std::uint32_t>(cache.nodes.size());
    cache.nodes.push_back(cached_node(subnet, sweep, listed[i]));
  }
  cache.from_node = subnet.start == none ? none : node_places[subnet.port(subnet.start).node];
  std::vector<PortIndex> ports = stored_ports(subnet, sweep, node_places);
  sort_as_table(ports, [&](PortIndex at) { return subnet.port_guid(at); });
  const Grouping grouping = group(subnet, listed);
  for (const PortIndex at : ports) {
    port_places[at] = static_cast<std::uint32_t>(cache.ports.size());
    CachedPort& port = cache.ports.emplace_back(cached_port(subnet, sweep, at));
    port.external = grouping.external_port[at];
    port.node = node_places[subnet.port(at).node];
  }
  for (const PortIndex at : ports) {
    if (subnet.port(at).peer != none) cache.ports[port_places[at]].remote = port_places[subnet.port(at).peer];
  }
  for (PortIndex at = 0; at < port_places.size(); ++at) {
    if (port_places[at] != none) cache.nodes[node_places[subnet.port(at).node]].ports.push_back(port_places[at]);
  }
  return cache;
}

}  // namespace ib::formats
