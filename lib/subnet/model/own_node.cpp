// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "subnet/sweep/discovery.hpp"

#include <algorithm>

#include "iba/wire.hpp"

namespace ib::subnet {
namespace {

std::uint8_t port_count(const sys::Device& device) {
  unsigned last = 1;
  for (const auto& port : device.ports) last = std::max(last, port->number);
  return static_cast<std::uint8_t>(std::min(last, last_switch_port));
}

smp::PortInfo port_info(const sys::EndPort& port) {
  smp::PortInfo info;
  info.lid = port.lid;
  info.lmc = static_cast<std::uint8_t>(port.lmc);
  info.master_sm_lid = port.sm_lid;
  info.master_sm_sl = static_cast<std::uint8_t>(port.sm_sl);
  info.capability_mask = port.capability_mask;
  info.local_port_num = static_cast<std::uint8_t>(port.number);
  info.port_state = static_cast<smp::PortState>(port.state);
  info.port_physical_state = static_cast<smp::PortPhysicalState>(port.phys_state);
  return info;
}

}  // namespace

void describe_node(Node& node, std::string_view text) {
  if (text.empty()) return;
  std::ranges::copy_n(text.begin(), static_cast<std::ptrdiff_t>(std::min(text.size(), node.description_bytes.size())),
                      node.description_bytes.begin());
  node.has_description = true;
}

void add_own_node(Subnet& subnet, const sys::EndPort& port) {
  smp::NodeInfo info;
  info.node_type = port.device->is_switch() ? smp::NodeType::switch_ : smp::NodeType::channel_adapter;
  info.num_ports = port_count(*port.device);
  info.system_image_guid = port.device->system_image_guid;
  info.node_guid = port.device->node_guid;
  info.port_guid = port.port_guid();
  info.local_port_num = static_cast<std::uint8_t>(std::min(port.number, unsigned{info.num_ports}));
  const NodeIndex at = subnet.add_node(info);
  describe_node(subnet.node(at), port.device->node_description);
  subnet.node(at).entry_port = info.local_port_num;
  subnet.start = subnet.port_of(at, info.local_port_num);
  const auto bytes = wire::packed(port_info(port));
  subnet.set_port_info(subnet.start, bytes);
  subnet.set_port_guid(subnet.start, info.port_guid);
}

bool is_start_down(const Subnet& subnet) {
  if (subnet.start == none) return false;
  const Port& port = subnet.port(subnet.start);
  if (port.number == 0 || !port.has_info || port.peer != none) return false;
  return port.state() == smp::PortState::down || port.is_polling_or_disabled() || port.physical_state() == smp::PortPhysicalState::sleep;
}

}  // namespace ib::subnet
