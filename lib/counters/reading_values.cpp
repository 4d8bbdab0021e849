// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Which ports have counters, in which layout, and whether all of a node were read.
#include <algorithm>

#include "counters/attributes.hpp"
#include "counters/readings.hpp"
#include "iba-gen/pm.hpp"

namespace ib::counters {

const StructInfo* blocks_layout(const PmaSupport& support, smp::FecMode mode) {
  const bool has_blocks = (support.capability_mask & pm::capability_mask::rs_fec_counters_supported) != 0;
  return has_blocks ? &extended_speeds_layout(mode) : nullptr;
}

std::vector<subnet::PortIndex> countable_ports(const subnet::Subnet& subnet, subnet::NodeIndex at) {
  const subnet::Node& node = subnet.node(at);
  const bool has_port0 = node.kind() == subnet::NodeKind::sw && node.has_switch_info && node.switch_info().enhanced_port0 != 0;
  std::vector<subnet::PortIndex> ports;
  for (unsigned number = has_port0 ? 0 : 1; number < node.slots; ++number) {
    if (subnet.port(node.first_port + number).is_known()) ports.push_back(node.first_port + number);
  }
  return ports;
}

bool all_ports_read(const subnet::Subnet& subnet, const PmaNode& node) {
  if (node.ports.empty()) return node.all && node.all->known();
  const subnet::Node& of = subnet.node(node.node);
  if (of.kind() == subnet::NodeKind::sw && !of.has_switch_info) return false;  // whether port 0 counts is not known
  const auto external = std::ranges::count_if(node.ports, [](const PmaReading& reading) { return reading.select != 0; });
  return external >= of.info.num_ports && std::ranges::all_of(node.ports, &PmaReading::known);
}

}  // namespace ib::counters
