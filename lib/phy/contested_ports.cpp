// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "phy/contested_ports.hpp"

#include "subnet/model/port_checks.hpp"

namespace ib::phy {

using subnet::PortIndex;

ContestedPorts contested_ports(const subnet::Subnet& subnet) {
  ContestedPorts contested;
  for (const auto& [lid, ports] : subnet::contested_lids(subnet)) {
    for (const PortIndex port : ports) contested.try_emplace(port, Lid{lid});
  }
  return contested;
}

std::optional<Lid> contested_lid(const ContestedPorts& ports, const subnet::Node& node) {
  const auto found = ports.lower_bound(node.first_port);
  if (found == ports.end() || found->first >= node.first_port + node.slots) return std::nullopt;
  return found->second;
}

std::size_t claimants(const subnet::Subnet& subnet, Lid lid) {
  const auto claims = subnet::contested_lids(subnet);
  const auto claim = claims.find(lid.value);
  return claim == claims.end() ? 0 : claim->second.size();
}

}  // namespace ib::phy
