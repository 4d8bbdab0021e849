// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "sys/port_state.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/escape.hpp"
#include "iba-gen/smp.hpp"

namespace ib::sys {
namespace {

using smp::PortPhysicalState;
using smp::PortState;

constexpr unsigned rnic = 4, usnic = 5, usnic_udp = 6;  // RDMA_NODE_… of the kernel

bool has_no_link(unsigned phys_state) {
  constexpr PortPhysicalState without[] = {PortPhysicalState::sleep, PortPhysicalState::polling, PortPhysicalState::disabled};
  return std::ranges::find(without, static_cast<PortPhysicalState>(phys_state)) != std::end(without);
}

}  // namespace

Passage passage_of(const EndPort& port) {
  const bool is_switch = port.device != nullptr && port.device->is_switch();
  const bool is_known = port.state != 0 && port.state <= static_cast<unsigned>(PortState::active_defer);
  if (port.link_layer != LinkLayer::infiniband || is_switch || !is_known) return Passage::everything;
  const auto state = static_cast<PortState>(port.state);
  if (state == PortState::down || has_no_link(port.phys_state)) return Passage::nothing;
  return state == PortState::init || state == PortState::armed ? Passage::smps : Passage::everything;
}

std::string state_clause(const EndPort& port) {
  const auto of = static_cast<PortState>(port.state);
  const std::string_view state = of == PortState::init ? "Initialize" : smp::to_text(of);
  const std::string_view physical = smp::to_text(static_cast<PortPhysicalState>(port.phys_state));
  std::string text = port.name() + " is ";
  text += state.empty() ? fmt::format("in state {}", port.state) : std::string(state);
  if (port.phys_state != 0 && !physical.empty()) text += fmt::format(" (physical state {})", physical);
  return text;
}

std::string other_kind(const EndPort& port) {
  if (port.link_layer == LinkLayer::infiniband) return {};
  if (port.link_layer == LinkLayer::ethernet) return port.device->node_type == rnic ? "an iWARP port" : "a RoCE port (Ethernet)";
  switch (port.device->node_type) {
    case rnic:
      return "an iWARP port";
    case usnic:
    case usnic_udp:
      return "a usNIC port";
    default:
      return fmt::format("not an InfiniBand port (its link layer is {}, as with EFA)", in_quotes(port.link_layer_text));
  }
}

}  // namespace ib::sys
