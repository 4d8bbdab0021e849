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
/// `InfiniBand`, `Ethernet`: sysfs's word, escaped; InfiniBand where it has none.
std::string link_layer_text(const sys::EndPort& port);

/// The devices in the order of their names as text (mlx5_10 before mlx5_2), as infiniband-diags lists them.
std::vector<const sys::Device*> by_name(const sys::DeviceList& list);

/// The base of their reports; each adds its text. Refers to the session's list of devices.
struct DevicesReport : Report {
  struct Shown {
    const sys::Device* device;
    std::vector<const sys::EndPort*> ports;
  };
  std::vector<Shown> devices;

  /// Adds all devices with all their ports.
  void add_all(const sys::DeviceList& list);
  /// Adds a device with all its ports.
  void add(const sys::Device& device);
  /// Adds one port with its device.
  void add(const sys::EndPort& port);
  void visit(out::Sink& sink) const override;
};

}  // namespace ib::tools
