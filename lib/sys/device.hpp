// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// RDMA devices of this host and their end ports, as sysfs shows them. The list is a snapshot: constant once
// read, owned by the caller, and referred to by paths through plain pointers.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "iba/types.hpp"

namespace ib::sys {

struct Device;

enum class LinkLayer : std::uint8_t { unknown, infiniband, ethernet };

/// One port of a device: /sys/class/infiniband/DEVICE/ports/N.
struct EndPort {
  const Device* device{};
  unsigned number{};                ///< as sysfs numbers it, from 1 (0 for a switch's management port)
  LinkLayer link_layer{};
  unsigned state{};                 ///< IBA 14.2.5.6 PortState: 1 Down, 2 Initialize, 3 Armed, 4 Active
  unsigned phys_state{};            ///< IBA 14.2.5.6 PortPhysicalState
  std::string state_text, phys_state_text, rate_text;  ///< sysfs's words: "ACTIVE", "LinkUp", "40 Gb/sec (4X QDR)"
  Lid lid, sm_lid;
  unsigned lmc{}, sm_sl{};
  std::uint32_t capability_mask{};
  std::vector<Gid> gids;            ///< by GID index; zero entries stay in place
  std::vector<Pkey> pkeys;          ///< by P_Key index
  std::string smi_umad, gsi_umad;   ///< "umad0": the umad devices for SMPs and for GMPs (the same one except on planarized HCAs)
  unsigned subnet_timeout = 18;     ///< IBA 14.2.5.6 SubnetTimeOut, 4.096 µs · 2^n

  std::string name() const;         ///< "ibsim0/1"
  Guid port_guid() const;           ///< the lower half of GID 0
  const Gid& default_gid() const;
  bool usable_for_smps() const;     ///< an IB port with an SMI umad device
};

struct Device {
  std::string name;                 ///< "mlx5_0"
  std::string ca_type, firmware, hardware, board_id, node_description;
  unsigned node_type{};             ///< 1 CA, 2 switch, 3 router, 4+ iWARP and others
  Guid node_guid, system_image_guid;
  std::string uverbs;               ///< "uverbs0" or empty
  std::vector<std::unique_ptr<EndPort>> ports;

  const EndPort* port(unsigned number) const;
};

/// All RDMA devices, in name order as the kernel counts them (mlx5_2 before mlx5_10).
class DeviceList {
 public:
  /// Reads /sys/class/infiniband and infiniband_mad (below SYSFS_PATH if set, as rdma-core honours it).
  /// Devices and attributes that vanish or lie while they are read are left out or left zero. Throws nothing
  /// for an empty system: then the list is empty.
  static DeviceList read();

  const std::vector<std::unique_ptr<Device>>& devices() const { return devices_; }

  /// The device named by a device name, a node GUID (0x… or three-colon). Throws UsageError
  /// "RDMA device 'X' not found." when there is none.
  const Device& find_device(std::string_view spec) const;
  /// The end port named by DEVICE/PORT, port GUID, GID, or (with `within`) a port number, or a device name's
  /// first usable port. Throws UsageError when there is none.
  const EndPort& find_end_port(std::string_view spec, const Device* within = nullptr) const;
  /// The first usable one: an active InfiniBand port, else an InfiniBand port that is not down, else any InfiniBand port, else any. Throws Error if
  /// the host has none.
  const EndPort& default_end_port(const Device* within = nullptr) const;
  /// The end port that owns `gid`, or whose default subnet prefix and GUID form it.
  const EndPort* find_gid(const Gid& gid) const;

 private:
  std::vector<std::unique_ptr<Device>> devices_;
};

}  // namespace ib::sys
