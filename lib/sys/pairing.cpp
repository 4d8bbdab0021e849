// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "sys/pairing.hpp"

#include <unordered_map>

#include "sys/port_state.hpp"

namespace ib::sys {

namespace {

bool has_smi(const EndPort& port) { return (port.capability_mask & cap_is_sm_disabled) == 0; }

/// The SMI port and the GSI port with one port GUID: the first ones through which most passes, because a plane may be down.
struct Halves {
  EndPort* smi{};
  EndPort* gsi{};
};

}  // namespace

void pair_halves(const std::vector<std::unique_ptr<Device>>& devices) {
  std::unordered_map<Guid, Halves> by_guid;
  const auto for_each_port = [&](auto visit) {
    for (const auto& device : devices) {
      for (const auto& port : device->ports) {
        if (!port->umad.empty()) visit(*port);
      }
    }
  };
  for_each_port([&](EndPort& port) {
    if (port.link_layer != LinkLayer::infiniband || port.port_guid() == Guid{}) return;
    auto& halves = by_guid[port.port_guid()];
    auto& slot = has_smi(port) ? halves.smi : halves.gsi;
    if (slot == nullptr || passage_of(port) > passage_of(*slot)) slot = &port;
  });
  for_each_port([&](EndPort& port) {
    if (port.link_layer != LinkLayer::infiniband) {  // RoCE has a QP1 but no SMPs
      port.gsi_port = &port;
      port.gsi_umad = port.umad;
      return;
    }
    const auto it = by_guid.find(port.port_guid());
    const Halves halves = it == by_guid.end() ? Halves{} : it->second;
    port.smi_port = has_smi(port) ? &port : halves.smi;
    port.gsi_port = has_smi(port) && halves.gsi != nullptr ? halves.gsi : &port;
    if (port.smi_port != nullptr) port.smi_umad = port.smi_port->umad;
    port.gsi_umad = port.gsi_port->umad;
  });
}

}  // namespace ib::sys
