// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// What ibstat, ibstatus and ibv_devices show: devices of this host and chosen end ports of them.
#pragma once

#include <string>
#include <vector>

#include "sys/device.hpp"
#include "tools/frame/emit.hpp"

namespace ib::tools {

/// The words of python-rdma for port states (IBA 14.2.5.6): `Active`, `Link UP`; `?? 9` for others.
std::string link_state_text(unsigned state);
std::string phys_link_state_text(unsigned state);

/// The base of their reports; each adds its text. Refers to the session's list of devices.
struct DevicesReport : Report {
  struct Shown {
    const sys::Device* device;
    std::vector<const sys::EndPort*> ports;
  };
  std::vector<Shown> devices;

  /// Adds a device with all its ports.
  void add(const sys::Device& device);
  /// Adds one port with its device.
  void add(const sys::EndPort& port);
  void visit(out::Sink& sink) const override;
};

}  // namespace ib::tools
