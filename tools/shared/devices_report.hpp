// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The base of the reports of ibstat, ibstatus and ibv_devices: devices of this host, and selected end ports of these devices.
#pragma once

#include <string>
#include <vector>

#include "sys/device_columns.hpp"
#include "tools/shared/table_options.hpp"

namespace ib::tools {

/// `InfiniBand` or `Ethernet`: the escaped text of sysfs. If sysfs has none, InfiniBand.
std::string link_layer_text(const sys::EndPort& port);

/// The devices in the order of infiniband-diags: sorted by their names as texts (mlx5_10 before mlx5_2).
std::vector<const sys::Device*> by_name(const sys::DeviceList& list);

/// The base of the reports. Derived classes add the text. The report refers to the session's list of devices.
struct DevicesReport : Report {
  struct ListedDevice {
    const sys::Device* device;
    std::vector<const sys::EndPort*> ports;
  };
  std::vector<ListedDevice> devices;

  void add_all(const sys::DeviceList& list);
  void add(const sys::Device& device);
  void add(const sys::EndPort& port);
  void visit(report::Sink& sink) const override;
  /// Emits the report, or its ports as a table where `options` want one.
  void emit(Emit& emit, const TableOptions& options) const;
};

}  // namespace ib::tools
