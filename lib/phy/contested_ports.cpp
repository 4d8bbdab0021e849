// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "phy/contested_ports.hpp"

#include "subnet/model/port_checks.hpp"

namespace ib::phy {

using subnet::PortIndex;

ContestedPorts contested_ports(const subnet::Subnet& subnet) {
  ContestedPorts contested;
  for (PortIndex at = 0; at < subnet.ports().size(); ++at) {
    const subnet::Port& port = subnet.port(at);
    const Lid base = subnet.lid(at);
    const bool is_in_use = port.has_info && (port.number == 0 || port.is_link_up());
    if (!is_in_use || !subnet::is_end_port(subnet, at) || !base.is_unicast()) continue;
    for (unsigned value = base.value; value < base.value + (1U << subnet.lmc(at)); ++value) {
      const Lid lid{static_cast<std::uint16_t>(value)};
      const PortIndex owner = subnet.find_lid(lid);
      if (owner == subnet::none || owner == at) continue;
      contested.try_emplace(owner, lid);
      contested.try_emplace(at, lid);
    }
  }
  return contested;
}

std::optional<Lid> contested_lid(const ContestedPorts& ports, const subnet::Node& node) {
  const auto found = ports.lower_bound(node.first_port);
  if (found == ports.end() || found->first >= node.first_port + node.slots) return std::nullopt;
  return found->second;
}

}  // namespace ib::phy
