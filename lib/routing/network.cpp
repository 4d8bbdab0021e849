// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "routing/network.hpp"

#include <algorithm>
#include <optional>

#include "subnet/model/names.hpp"
#include "subnet/model/order.hpp"

namespace ib::routing {
namespace {

using subnet::NodeKind;
using subnet::PortIndex;

/// A port whose state is not known (a listing of a topology names none) counts as Active: it has a link.
bool is_active(const subnet::Port& port) { return port.state() == smp::PortState::no_change || port.state() == smp::PortState::active; }

}  // namespace

Network::Network(const subnet::Subnet& subnet)
    : subnet_(subnet), switch_of_node_(subnet.nodes().size(), none), host_of_port_(subnet.ports().size(), none) {
  add_nodes();
  add_wires();
  attach_hosts();
}

void Network::add_nodes() {
  for (const subnet::NodeIndex at : subnet::by_guid(subnet_)) {
    const subnet::Node& node = subnet_.node(at);
    const NodeKind kind = node.kind();
    if (kind == NodeKind::sw) {
      switch_of_node_[at] = static_cast<SwitchIndex>(switches_.size());
      switches_.push_back(
          {at, first_host_port_id_, static_cast<std::uint16_t>(std::min<unsigned>(node.info.num_ports + 1U, node.slots)), 0, 0});
      first_host_port_id_ += switches_.back().slots;
      switch_of_port_id_.resize(first_host_port_id_, switch_of_node_[at]);
    } else if (kind == NodeKind::ca || kind == NodeKind::router) {
      for (unsigned number = 1; number < node.slots; ++number) {
        const PortIndex port = node.first_port + number;
        const Lid lid = subnet_.lid(port);
        const PortIndex peer = subnet_.port(port).peer;
        if (peer == subnet::none) continue;
        if (!lid.is_unicast()) {
          if (is_active(subnet_.port(port)) && is_active(subnet_.port(peer))) ++without_lid_;
          continue;
        }
        host_of_port_[port] = static_cast<HostIndex>(hosts_.size());
        hosts_.push_back({port, lid, static_cast<std::uint8_t>(subnet_.lmc(port)), none, 0, subnet::is_aggregation_node(node)});
      }
    }
  }
}

Wire Network::wire_of(PortIndex port) const {
  const PortIndex peer = subnet_.port(port).peer;
  if (peer == subnet::none) return {subnet_.port(port).state() == smp::PortState::active ? Wire::To::silent : Wire::To::nothing, 0, none};
  if (!is_active(subnet_.port(port)) || !is_active(subnet_.port(peer))) return {Wire::To::dead, 0, none};
  const subnet::Port& far = subnet_.port(peer);
  if (const SwitchIndex at = switch_of_node_[far.node]; at != none) return {Wire::To::switch_port, far.number, at};
  const HostIndex host = host_of_port_[peer];
  return {host == none ? Wire::To::other_end : Wire::To::host, far.number, host};
}

void Network::add_wires() {
  wires_.resize(first_host_port_id_ + hosts_.size());
  for (const Switch& sw : switches_) {
    for (unsigned number = 1; number < sw.slots; ++number) {
      wires_[sw.first_port_id + number] = wire_of(subnet_.node(sw.node).first_port + number);
    }
  }
  for (HostIndex at = 0; at < hosts_.size(); ++at) {
    Host& host = hosts_[at];
    Wire& wire = wires_[port_id_of_host(at)] = wire_of(host.port);
    if (wire.to != Wire::To::switch_port) continue;
    host.leaf = wire.index;
    host.leaf_port = wire.in_port;
  }
}

void Network::attach_hosts() {
  for (HostIndex at = 0; at < hosts_.size(); ++at) (hosts_[at].leaf == none ? stray_ : attached_).push_back(at);
  std::ranges::stable_sort(attached_, {}, [&](HostIndex at) { return hosts_[at].leaf; });
  for (std::uint32_t i = 0; i < attached_.size(); ++i) {
    Switch& leaf = switches_[hosts_[attached_[i]].leaf];
    if (leaf.hosts++ == 0) leaf.first_host = i;
  }
}

std::size_t Network::switches_with_lid() const {
  std::size_t count = 0;
  for (SwitchIndex at = 0; at < switches_.size(); ++at) count += lid_of(at).is_unicast() ? 1U : 0U;
  return count;
}

std::vector<DestinationLid> Network::destinations(bool with_switches) const {
  std::vector<DestinationLid> found;
  for (unsigned value = 1; value <= last_unicast_lid; ++value) {
    const Lid lid{static_cast<std::uint16_t>(value)};
    const PortIndex owner = subnet_.find_lid(lid);
    if (owner == subnet::none) continue;
    if (host_of_port_[owner] != none) {
      found.push_back({lid, host_of_port_[owner], none});
    } else if (const SwitchIndex at = switch_of_node_[subnet_.port(owner).node]; with_switches && at != none) {
      found.push_back({lid, none, at});
    }
  }
  return found;
}

Lid Network::last_lid() const {
  std::uint16_t value = last_unicast_lid;
  while (value > 0 && subnet_.find_lid(Lid{value}) == subnet::none) --value;
  return Lid{value};
}

Distances::Distances(const Network& network, std::span<const DestinationLid> destinations)
    : count_(network.switches().size()), row_of_(count_, none) {
  std::vector<SwitchIndex> ends;
  for (const DestinationLid& to : destinations) {
    const SwitchIndex at = to.is_switch() ? to.at : network.hosts()[to.host].leaf;
    if (at == none || row_of_[at] != none) continue;
    row_of_[at] = static_cast<std::uint32_t>(ends.size());
    ends.push_back(at);
  }
  std::vector<std::uint32_t> first(count_ + 1);
  std::vector<SwitchIndex> neighbours;  // each once, however many links lead to it
  for (SwitchIndex at = 0; at < count_; ++at) {
    const auto begin = static_cast<std::ptrdiff_t>(neighbours.size());
    network.each_neighbour(at, [&](const Wire& wire) { neighbours.push_back(wire.index); });
    std::sort(neighbours.begin() + begin, neighbours.end());
    neighbours.erase(std::unique(neighbours.begin() + begin, neighbours.end()), neighbours.end());
    first[at + 1] = static_cast<std::uint32_t>(neighbours.size());
  }
  links_.resize(ends.size() * count_, unreachable);
  std::vector<SwitchIndex> queue(count_);
  for (std::size_t row = 0; row < ends.size(); ++row) {
    std::uint16_t* const links = links_.data() + row * count_;
    links[ends[row]] = 0;
    queue[0] = ends[row];
    for (std::size_t head = 0, tail = 1; head < tail; ++head) {
      const SwitchIndex at = queue[head];
      for (std::uint32_t i = first[at]; i < first[at + 1]; ++i) {
        if (links[neighbours[i]] != unreachable) continue;
        links[neighbours[i]] = static_cast<std::uint16_t>(links[at] + 1);
        queue[tail++] = neighbours[i];
      }
    }
  }
}

}  // namespace ib::routing
