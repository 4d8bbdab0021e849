// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "metrics/fabric.hpp"

#include <utility>

#include "base/parse.hpp"
#include "subnet/model/names.hpp"

namespace ib::metrics {
namespace {

using subnet::PortIndex;

/// The place of a device: the name of the node at the other end of its first link, and the port there.
std::pair<std::string_view, unsigned> place_of(const subnet::Subnet& subnet, const Device& device) {
  for (const subnet::Port& port : subnet.ports_of(subnet.node(device.node))) {
    if (port.peer == subnet::none) continue;
    const subnet::Port& peer = subnet.port(port.peer);
    return {subnet.node(peer.node).description(), peer.number};
  }
  return {};
}

constexpr std::chrono::hours remembered{24};

}  // namespace

const Device* SweptFabric::find(bool is_switch, Guid guid) const {
  const std::span<const Device> all = is_switch ? switches() : hcas();
  const auto found = std::ranges::lower_bound(all, guid, {}, &Device::guid);
  return found != all.end() && found->guid == guid ? &*found : nullptr;
}

void SweptFabric::remember(const SweptFabric& before) {
  for (const GoneDevice& device : before.gone) {
    if (find(device.is_switch, device.guid) == nullptr && time - device.since < remembered) gone.push_back(device);
  }
  for (const Device& device : before.devices) {
    if (find(device.is_switch, device.guid) == nullptr)
      gone.push_back({device.is_switch, device.guid, std::string(before.name(device.node)), time});
  }
  std::ranges::sort(gone, {}, [](const GoneDevice& device) { return std::pair(!device.is_switch, device.guid); });
}

/// Of several devices with one GUID the first one is the same in each sweep: the one whose name and place are first.
void SweptFabric::list_devices() {
  std::vector<Device> all;
  for (subnet::NodeIndex at = 0; at < subnet.nodes().size(); ++at) {
    const subnet::Node& node = subnet.node(at);
    if (node.kind() == subnet::NodeKind::sw) all.push_back({node.info.port_guid, at, node.first_port, true});
    if (node.kind() != subnet::NodeKind::ca) continue;
    for (PortIndex port = node.first_port + 1; port < node.first_port + node.slots; ++port) {
      if (subnet.port(port).is_known()) all.push_back({subnet.port_guid(port), at, port, false});
    }
  }
  const auto order = [](const Device& device) { return std::pair(!device.is_switch, device.guid); };
  std::ranges::stable_sort(all, [&](const Device& a, const Device& b) {
    if (order(a) != order(b)) return order(a) < order(b);
    const std::string_view name = subnet.node(a.node).description(), other = subnet.node(b.node).description();
    return name != other ? name < other : place_of(subnet, a) < place_of(subnet, b);
  });
  devices.clear();
  twins.clear();
  for (const Device& device : all) {
    const bool is_first = devices.empty() || order(devices.back()) != order(device);
    is_first ? devices.push_back(device) : twins.push_back(device.guid);
  }
  std::ranges::sort(twins);
  switch_count = static_cast<std::size_t>(std::ranges::count(devices, true, &Device::is_switch));
}

std::string_view SweptFabric::name(subnet::NodeIndex node) const { return trim(subnet::name_of(subnet.node(node), &names)); }

PortStates::PortStates(const subnet::Subnet& subnet) {
  states_.reserve(subnet.ports().size());
  for (const subnet::Port& port : subnet.ports())
    states_.push_back({static_cast<std::uint8_t>(port.state()), static_cast<std::uint8_t>(port.physical_state())});
}

std::vector<PortIndex> PortStates::update(const PortStates& later) {
  std::vector<PortIndex> changed;
  for (std::size_t at = 0; at < states_.size(); ++at) {
    if (later.states_[at] == State() || later.states_[at] == states_[at]) continue;
    if (states_[at] != State()) changed.push_back(static_cast<PortIndex>(at));
    states_[at] = later.states_[at];
  }
  return changed;
}

PortIndex linked_peer(const subnet::Subnet& subnet, const PortStates& states, PortIndex port) {
  const PortIndex peer = subnet.port(port).peer;
  if (peer == subnet::none) return peer;
  for (const PortIndex end : {port, peer}) {
    const PortStates::State state = states.of(end);
    if (state.is_known() && !state.is_link_up()) return subnet::none;
  }
  return peer;
}

}  // namespace ib::metrics
