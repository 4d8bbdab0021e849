// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "metrics/fabric.hpp"

#include <algorithm>

#include "base/parse.hpp"
#include "subnet/model/names.hpp"

namespace ib::metrics {
namespace {

using subnet::PortIndex;

/// The devices of one node: the node itself if it is a switch, else each of its ports that is known to be there.
void add_devices(const subnet::Subnet& subnet, subnet::NodeIndex at, std::vector<Device>& switches, std::vector<Device>& hcas) {
  const subnet::Node& node = subnet.node(at);
  if (node.kind() == subnet::NodeKind::sw) switches.push_back({node.info.port_guid, at, node.first_port});
  if (node.kind() != subnet::NodeKind::ca) return;
  for (unsigned number = 1; number < node.slots; ++number) {
    const PortIndex port = node.first_port + number;
    if (subnet.port(port).is_known()) hcas.push_back({subnet.port_guid(port), at, port});
  }
}

/// The place of a device: the name of the node at the other end of its first link, and the port there.
std::pair<std::string_view, unsigned> place_of(const subnet::Subnet& subnet, const Device& device) {
  for (const subnet::Port& port : subnet.ports_of(subnet.node(device.node))) {
    if (port.peer == subnet::none) continue;
    const subnet::Port& peer = subnet.port(port.peer);
    return {subnet.node(peer.node).description(), peer.number};
  }
  return {};
}

/// Sorts devices by GUID, and moves those whose GUID an earlier one has to `twins`. Of several devices with one GUID the first one is the
/// same in each sweep: the one whose name and place are first.
void sort_and_part(const subnet::Subnet& subnet, std::vector<Device>& devices, std::vector<Guid>& twins) {
  std::ranges::stable_sort(devices, [&subnet](const Device& a, const Device& b) {
    if (a.guid != b.guid) return a.guid < b.guid;
    const std::string_view name = subnet.node(a.node).description(), other = subnet.node(b.node).description();
    return name != other ? name < other : place_of(subnet, a) < place_of(subnet, b);
  });
  std::vector<Device> first;
  for (const Device& device : devices) {
    if (!first.empty() && first.back().guid == device.guid) {
      twins.push_back(device.guid);
    } else {
      first.push_back(device);
    }
  }
  devices = std::move(first);
}

constexpr std::chrono::hours remembered{24};

bool has(const std::vector<Device>& devices, Guid guid) { return std::ranges::binary_search(devices, guid, {}, &Device::guid); }

}  // namespace

void SweptFabric::remember(const SweptFabric& before) {
  const auto remember_in = [&](std::vector<GoneDevice>& gone, const std::vector<Device>& now, const std::vector<Device>& then,
                               const std::vector<GoneDevice>& gone_then) {
    for (const GoneDevice& device : gone_then) {
      if (!has(now, device.guid) && time - device.since < remembered) gone.push_back(device);
    }
    for (const Device& device : then) {
      if (!has(now, device.guid)) gone.push_back({device.guid, std::string(before.name(device.node)), time});
    }
    std::ranges::sort(gone, {}, &GoneDevice::guid);
  };
  remember_in(gone_switches, switches, before.switches, before.gone_switches);
  remember_in(gone_hcas, hcas, before.hcas, before.gone_hcas);
}

void SweptFabric::list_devices() {
  switches.clear();
  hcas.clear();
  twins.clear();
  for (subnet::NodeIndex at = 0; at < subnet.nodes().size(); ++at) add_devices(subnet, at, switches, hcas);
  sort_and_part(subnet, switches, twins);
  sort_and_part(subnet, hcas, twins);
  std::ranges::sort(twins);
}

std::string_view SweptFabric::name(subnet::NodeIndex node) const { return trim(subnet::name_of(subnet.node(node), &names)); }

std::size_t Findings::count(std::uint8_t level) const { return static_cast<std::size_t>(std::ranges::count(list, level, &Finding::level)); }

PortStates::PortStates(const subnet::Subnet& subnet) {
  bytes_.reserve(subnet.ports().size());
  for (const subnet::Port& port : subnet.ports())
    bytes_.push_back(static_cast<std::uint8_t>(static_cast<unsigned>(port.physical_state()) << 4U | static_cast<unsigned>(port.state())));
}

PortStates::State PortStates::of(PortIndex port) const {
  const std::uint8_t byte = bytes_[port];
  return {static_cast<std::uint8_t>(byte & 0xfU), static_cast<std::uint8_t>(byte >> 4U)};
}

void PortStates::set(PortIndex port, State state) {
  bytes_[port] = static_cast<std::uint8_t>(static_cast<unsigned>(state.physical) << 4U | state.logical);
}

std::vector<PortIndex> PortStates::update(const PortStates& later) {
  std::vector<PortIndex> changed;
  for (std::size_t at = 0; at < bytes_.size(); ++at) {
    if (later.bytes_[at] == 0 || later.bytes_[at] == bytes_[at]) continue;
    if (bytes_[at] != 0) changed.push_back(static_cast<PortIndex>(at));
    bytes_[at] = later.bytes_[at];
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
