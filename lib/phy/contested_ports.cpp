// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "phy/contested_ports.hpp"

#include "subnet/model/port_checks.hpp"

namespace ib::phy {

using subnet::PortIndex;

namespace {

/// Whether a port may answer at its LIDs.
bool has_lids(const subnet::Subnet& subnet, PortIndex at) {
  const subnet::Port& port = subnet.port(at);
  const bool is_in_use = port.has_info && (port.number == 0 || port.is_link_up());
  return is_in_use && subnet::is_end_port(subnet, at) && subnet.lid(at).is_unicast();
}

}  // namespace

ContestedPorts contested_ports(const subnet::Subnet& subnet) {
  ContestedPorts contested;
  for (PortIndex at = 0; at < subnet.ports().size(); ++at) {
    if (!has_lids(subnet, at)) continue;
    const Lid base = subnet.lid(at);
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

std::size_t claimants(const subnet::Subnet& subnet, Lid lid) {
  std::size_t count = 0;
  for (PortIndex at = 0; at < subnet.ports().size(); ++at) {
    const unsigned base = subnet.lid(at).value;
    if (has_lids(subnet, at) && lid.value >= base && lid.value < base + (1U << subnet.lmc(at))) ++count;
  }
  return count;
}

}  // namespace ib::phy
