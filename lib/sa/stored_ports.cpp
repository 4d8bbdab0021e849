// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "sa/stored_ports.hpp"

#include "iba-gen/sa.hpp"
#include "iba/wire.hpp"

namespace ib::sa {

StoredPorts::StoredPorts(const RecordRows& nodes, const RecordRows& ports)
    : lids_(std::size_t{UINT16_MAX} + 1), empty_(nodes.empty() && ports.empty()) {
  for (const Bytes row : nodes) {
    const auto record = wire::unpack_short<NodeRecord>(row);
    if (!record.lid.is_unicast()) continue;
    Entry& entry = lids_[record.lid.value];
    entry.base = record.lid;
    entry.known = true;
    entry.is_switch = record.node_info.node_type == smp::NodeType::switch_;
  }
  constexpr std::uint32_t extended_speeds = 1U << 14;  // IBA 14.2.5.6 CapabilityMask
  for (const Bytes row : ports) {
    const auto record = wire::unpack_short<PortInfoRecord>(row);
    const Lid base = record.endport_lid;
    if (!base.is_unicast() || (lids_[base.value].is_switch && record.port_num != 0)) continue;
    if ((static_cast<std::uint32_t>(record.port_info.capability_mask) & extended_speeds) != 0) lids_[base.value].has_extended_speeds = true;
    const std::uint32_t end = std::uint32_t{base.value} + (1U << record.port_info.lmc);
    for (std::uint32_t lid = base.value; lid < end && Lid{static_cast<std::uint16_t>(lid)}.is_unicast(); ++lid) {
      Entry& entry = lids_[lid];
      if (entry.known) continue;
      entry.base = base;
      entry.known = true;
    }
  }
}

}  // namespace ib::sa
