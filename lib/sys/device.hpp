// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// RDMA devices of this host and their end ports, as sysfs shows them. The list is a snapshot: constant once
// read, owned by the caller, and referred to by paths through plain pointers.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "iba/types.hpp"

namespace ib::sys {

struct Device;

enum class LinkLayer : std::uint8_t { unknown, infiniband, ethernet };

inline constexpr std::uint32_t cap_is_sm_disabled = 1U << 10;  ///< IBA 14.2.5.6 CapabilityMask

/// One port of a device: /sys/class/infiniband/DEVICE/ports/N.
struct EndPort {
  const Device* device{};
  unsigned number{};  ///< as sysfs numbers it, from 1 (0 for a switch's management port)
  LinkLayer link_layer{};
  std::string link_layer_text;  ///< sysfs's word: "InfiniBand", "Ethernet"; empty where sysfs has none (then it is InfiniBand)
  unsigned state{};             ///< IBA 14.2.5.6 PortState: 1 Down, 2 Initialize, 3 Armed, 4 Active; 0 where sysfs has no number
  unsigned phys_state{};        ///< IBA 14.2.5.6 PortPhysicalState
  std::string state_text, phys_state_text, rate_text;  ///< sysfs's words: "ACTIVE", "LinkUp", "40 Gb/sec (4X QDR)"
  Lid lid, sm_lid;
  unsigned lmc{}, sm_sl{};
  std::uint32_t capability_mask{};
  std::vector<Gid> gids;           ///< by GID index; zero entries stay in place
  std::vector<Pkey> pkeys;         ///< by P_Key index; zero (invalid, IBA 10.9.1.2) entries stay in place
  std::string umad;                ///< "umad0": this port's own umad device; empty if it has none
  std::string issm;                ///< "issm0": the device that announces a subnet manager; empty if it has none
  std::string smi_umad, gsi_umad;  ///< the umad devices for SMPs and for GMPs (both `umad` except on planarized HCAs); empty: none
  const EndPort* smi_port{};       ///< the end port that `smi_umad` belongs to: this one, or its other half on planarized HCAs
  const EndPort* gsi_port{};       ///< the same for `gsi_umad`
  unsigned subnet_timeout = 18;    ///< IBA 14.2.5.6 SubnetTimeOut, 4.096 µs · 2^n; sysfs does not tell it, this is the usual value

  std::string name() const;        ///< "ibsim0/1"
  Guid port_guid() const;          ///< the lower half of GID 0
  const Gid& default_gid() const;  ///< GID 0, or a zero GID
  bool usable_for_smps() const;    ///< an IB port with an SMI umad device
  /// The port whose tables and LIDs hold for SMPs or, without `smp`, for GMPs and all else: `smi_port` or `gsi_port`; this one where
  /// there is none.
  const EndPort& carrier(bool smp) const;
};

struct Device {
  std::string name;                                                     ///< "mlx5_0"
  std::string ca_type, firmware, hardware, board_id, node_description;  ///< as sysfs has them: may be any bytes
  unsigned node_type{};                                                 ///< 1 CA, 2 switch, 3 router, 4+ iWARP and others, 0 unknown
  Guid node_guid, system_image_guid;
  std::string uverbs;                           ///< "uverbs0" or empty
  std::vector<std::unique_ptr<EndPort>> ports;  ///< in the order of their numbers

  const EndPort* port(unsigned number) const;  ///< null if there is none
};

/// All RDMA devices, in name order as people count them (mlx5_2 before mlx5_10).
class DeviceList {
 public:
  /// Reads /sys/class/infiniband and infiniband_mad (below SYSFS_PATH if set, as rdma-core honours it).
  /// Devices and attributes that vanish or lie while they are read are left out or left zero. Throws nothing
  /// for an empty system: then the list is empty.
  static DeviceList read();

  const std::vector<std::unique_ptr<Device>>& devices() const { return devices_; }

  /// The device named by a device name or a node GUID (0x… or three-colon). Throws UsageError
  /// "RDMA device 'X' not found." when there is none.
  const Device& find_device(std::string_view spec) const;
  /// The end port named by DEVICE/PORT, port GUID, GID, or (with `within`) a port number, or a device name's
  /// first usable port. Throws UsageError when there is none, or when it is not a port of `within`.
  const EndPort& find_end_port(std::string_view spec, const Device* within = nullptr) const;
  /// The first usable one: an active InfiniBand port, else an InfiniBand port that is not down, else any InfiniBand port, else any;
  /// among equals not the bare SMI half of a planarized HCA, then the first. Throws Error "No RDMA devices found." if the host has
  /// none.
  const EndPort& default_end_port(const Device* within = nullptr) const;
  /// What the options -C `device` and -P `port` mean together: find_device() and find_end_port() where both or -C are
  /// given. -P alone may also be a port number: the best port of that number on any device. Throws as they do.
  const EndPort& select(std::optional<std::string_view> device, std::optional<std::string_view> port) const;
  /// The end port that owns `gid`, or whose default subnet prefix and GUID form it; null if there is none.
  const EndPort* find_gid(const Gid& gid) const;
  /// The end port whose GID 0 ends in `guid`; null if there is none.
  const EndPort* find_port_guid(Guid guid) const;
  /// The first end port that has a GID of the subnet `prefix`; null if there is none.
  const EndPort* find_prefix(GidPrefix prefix, const Device* within = nullptr) const;

 private:
  template <class Accept>
  const EndPort* best(Accept accept) const;
  const EndPort& find_name(std::string_view spec) const;

  std::vector<std::unique_ptr<Device>> devices_;
};

}  // namespace ib::sys
