// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "subnet/sweep/fec_modes.hpp"

#include <utility>

namespace ib::subnet {
namespace {

/// Whether the node of a port says that it has PortInfoExtended (IBA 1.4).
bool has_port_info_extended(const Subnet& subnet, PortIndex at) {
  const smp::PortInfo info = subnet.port(subnet.end_port_of(at)).info();
  return (info.capability_mask & smp::capability_mask::is_capability_mask2_supported) != 0 &&
         (info.capability_mask2 & smp::capability_mask2::is_port_info_extended_supported) != 0;
}

async::Task<mad::Result<smp::PortInfoExtended>> request_extended(SurveyPort port) {
  return port.transactor.try_subn_get<smp::PortInfoExtended>(port.path, port.number);
}

}  // namespace

std::vector<PortIndex> ports_with_fec(const Subnet& subnet) {
  std::vector<PortIndex> ports;
  for (PortIndex at = 0; at < subnet.ports().size(); ++at) {
    const PortIndex peer = subnet.port(at).peer;
    if (peer == none || !subnet.port(at).is_link_up()) continue;
    if (has_port_info_extended(subnet, at) && has_port_info_extended(subnet, peer)) ports.push_back(at);
  }
  return ports;
}

async::Task<FecReading> read_fec_modes(mad::Transactor& transactor, const Subnet& subnet, std::vector<PortIndex> ports,
                                       SurveyOptions options) {
  const SurveyQuestion<smp::PortInfoExtended> question = request_extended;
  Surveyed<smp::PortInfoExtended> surveyed = co_await survey(transactor, subnet, std::move(ports), std::move(options), question);
  FecReading found;
  for (const auto& row : surveyed.rows) {
    if (!row.value) found.unread.insert(row.port);
    if (row.value && (row.value->capability_mask & smp::port_info_extended_capability::is_fec_mode_supported) != 0)
      found.modes[row.port] = row.value->fec_mode_active;
  }
  found.failures = std::move(surveyed.failures);
  co_return found;
}

}  // namespace ib::subnet
