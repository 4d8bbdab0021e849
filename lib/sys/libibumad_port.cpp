// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Selects a port as libibumad's resolve_ca_name() does. Scripts without -C rely on it: on a host with several fabrics, another port may
// lead to another fabric.

#include <algorithm>

#include "base/error.hpp"
#include "sys/device.hpp"

namespace ib::sys {
namespace {

constexpr unsigned disabled = 3, link_up = 5;  // IBA 14.2.5.6 PortPhysicalState

struct Choice {
  const EndPort* port{};
  bool is_active{};
};

/// Whether libibumad skips the device because of its type or its ports.
bool is_unreadable(const Device& device) {
  constexpr unsigned last_port = 9;
  return device.node_type < 1 || device.node_type > 3 ||
         std::ranges::any_of(device.ports, [](const auto& port) { return port->number > last_port || port->pkeys.empty(); });
}

template <class Accept>
const EndPort* first_port(const Device& device, Accept accept) {
  const auto found = std::ranges::find_if(device.ports, [&](const auto& port) { return accept(*port); });
  return found == device.ports.end() ? nullptr : found->get();
}

Choice choose(const Device& device, unsigned number) {
  const auto is_infiniband = [](const EndPort& port) { return port.link_layer == LinkLayer::infiniband; };
  const auto is_tried = [](const EndPort& port) { return port.phys_state != disabled; };
  if (is_unreadable(device)) return {};
  if (device.is_switch()) return {device.port(0), true};
  if (number != 0) {
    const EndPort* port = device.port(number);
    if (port == nullptr || !is_infiniband(*port) || (!port->is_active() && !is_tried(*port))) return {};
    return {port, port->is_active()};
  }
  if (const EndPort* port = first_port(device, [&](const EndPort& at) { return is_infiniband(at) && at.is_active(); })) return {port, true};
  if (const EndPort* port = first_port(device, [&](const EndPort& at) { return is_infiniband(at) && at.phys_state == link_up; }))
    return {port};
  return {first_port(device, is_tried)};  // of any link layer
}

}  // namespace

const EndPort& DeviceList::libibumad_port(const Device* device, unsigned number) const {
  std::vector<const Device*> tried;
  for (const auto& at : devices_) {
    if (device == nullptr || at.get() == device) tried.push_back(at.get());
  }
  std::ranges::stable_sort(tried, {}, &Device::place);
  const EndPort* second_best = nullptr;
  for (const Device* at : tried) {
    const Choice choice = choose(*at, number);
    if (choice.port != nullptr && choice.is_active) return *choice.port;
    if (second_best == nullptr) second_best = choice.port;
  }
  if (second_best == nullptr) throw UsageError("No RDMA device has a port that can be used.");
  return *second_best;
}

}  // namespace ib::sys
