// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// RDMA devices of this host and their end ports, as sysfs shows them. The list is a snapshot that does not change after reading, except
// that a port's tables are read when they are first used. The caller owns the list; paths refer to its end ports by plain pointers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
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

/// A table of an end port that sysfs shows as one file for each index: its GIDs or its P_Keys. Hosts have thousands of these files, and the
/// kernel reads each P_Key from the device. A table is therefore read when it is first used, and does not change after that. T is Gid or
/// Pkey. Entries that are zero (invalid, IBA 10.9.1.2 for P_Keys) stay in place. Not for several threads at a time.
template <class T>
class PortTable {
 public:
  PortTable() = default;
  PortTable(std::initializer_list<T> entries) : entries_(entries) {}
  PortTable(std::vector<T> entries) : entries_(std::move(entries)) {}
  /// The table in the directory `path`, which ends with a slash. An entry that cannot be read or is invalid counts as zero.
  static PortTable in_directory(std::string path);

  const std::vector<T>& entries() const;
  /// Entry 0, or zero if there is none. Reads no other entry.
  const T& first() const;
  /// Reads no entry.
  bool empty() const;

  std::size_t size() const { return entries().size(); }
  const T& operator[](std::size_t index) const { return entries()[index]; }
  auto begin() const { return entries().begin(); }
  auto end() const { return entries().end(); }

 private:
  mutable std::vector<T> entries_;
  mutable std::string directory_;  // of a table that was not read yet; else empty
  mutable std::optional<T> first_;
};

inline constexpr std::uint32_t cap_is_sm_disabled = 1U << 10;  ///< IBA 14.2.5.6 CapabilityMask

/// One port of a device: /sys/class/infiniband/DEVICE/ports/N.
struct EndPort {
  const Device* device{};
  unsigned number{};  ///< as sysfs numbers it, from 1 (0 for a switch's management port)
  LinkLayer link_layer{};
  std::string link_layer_text;  ///< sysfs's word: "InfiniBand", "Ethernet"; empty if sysfs has none, which means InfiniBand
  unsigned state{};             ///< IBA 14.2.5.6 PortState: 1 Down, 2 Initialize, 3 Armed, 4 Active; 0 if sysfs has no number
  unsigned phys_state{};        ///< IBA 14.2.5.6 PortPhysicalState
  std::string state_text, phys_state_text, rate_text;  ///< sysfs's words: "ACTIVE", "LinkUp", "40 Gb/sec (4X QDR)"
  Lid lid, sm_lid;
  unsigned lmc{}, sm_sl{};
  std::uint32_t capability_mask{};
  PortTable<Gid> gids;           ///< by GID index
  PortTable<Pkey> pkeys;         ///< by P_Key index
  std::string umad;              ///< "umad0": this port's own umad device; empty if it has none
  bool lacks_umad_file{};        ///< other umad devices have their files in /dev/infiniband, and this one has none (in a container)
  std::string issm;              ///< "issm0": the device that announces a subnet manager; empty if it has none
  const EndPort* smi_port{};     ///< the end port with the umad device for SMPs: this one, or the other half of a planarized HCA
  const EndPort* gsi_port{};     ///< the end port with the umad device for GMPs
  unsigned subnet_timeout = 18;  ///< IBA 14.2.5.6 SubnetTimeOut, 4.096 µs · 2^n; sysfs does not have it, so this is the usual value

  std::string name() const;  ///< "ibsim0/1"
  bool is_active() const { return state == 4; }
  Guid port_guid() const { return default_gid().guid(); }  ///< the lower half of GID 0
  const Gid& default_gid() const { return gids.first(); }  ///< GID 0, or a zero GID
  const EndPort* half(bool smp) const { return smp ? smi_port : gsi_port; }
  /// The umad device for SMPs (`smp` true) or for GMPs; empty if there is none.
  std::string umad_of(bool smp) const { return half(smp) != nullptr ? half(smp)->umad : std::string(); }
  /// The port whose tables and LIDs apply to SMPs (`smp` true) or to GMPs and all other packets: `smi_port` or `gsi_port`. This
  /// port if that is null.
  const EndPort& carrier(bool smp) const { return half(smp) != nullptr ? *half(smp) : *this; }
};

// What passes an end port in the state that sysfs shows (IBA 7.2.7), and the kind of its link.

/// The packets that pass an end port.
enum class Passage : std::uint8_t {
  nothing,     ///< it is Down, or has no physical link
  smps,        ///< it is in Initialize or Armed: nothing but SMPs leaves it
  everything,  ///< it is Active; also a port of which this cannot be said: no InfiniBand port, port 0 of a switch, or no state in sysfs
};
Passage passage_of(const EndPort& port);

/// The state as a clause: "mlx5_0/1 is Down (physical state Polling)".
std::string state_clause(const EndPort& port);

/// The kind of a port that is no InfiniBand port, with its article: "a RoCE port (Ethernet)". Empty for an InfiniBand port.
std::string other_kind(const EndPort& port);

/// One RDMA device: /sys/class/infiniband/DEVICE.
struct Device {
  std::string name;                                                     ///< "mlx5_0"
  std::string ca_type, firmware, hardware, board_id, node_description;  ///< as sysfs has them: may hold any bytes
  unsigned node_type{};                                                 ///< 1 CA, 2 switch, 3 router, 4+ iWARP and others, 0 unknown
  unsigned place{};  ///< in the order in which the kernel lists the devices; only libibumad_port() depends on it
  Guid node_guid, system_image_guid;
  std::string uverbs;                           ///< "uverbs0" or empty
  std::vector<std::unique_ptr<EndPort>> ports;  ///< in the order of their numbers

  bool is_switch() const { return node_type == 2; }
  const EndPort* port(std::uint64_t number) const;  ///< null if there is none
};

/// All RDMA devices, in natural order of their names (mlx5_2 before mlx5_10).
class DeviceList {
 public:
  /// Reads /sys/class/infiniband and infiniband_mad (below SYSFS_PATH if set, as in rdma-core). A device that vanishes while it is read is
  /// left out; an attribute that vanishes or is invalid stays zero. Does not throw for a system without devices: the list is then empty.
  /// `files` is the directory of the device files of umad.
  static DeviceList read(const std::string& files = "/dev/infiniband");

  DeviceList() = default;
  /// A list of devices that this host need not have.
  explicit DeviceList(std::vector<std::unique_ptr<Device>> devices) : devices_(std::move(devices)) {}

  const std::vector<std::unique_ptr<Device>>& devices() const { return devices_; }

  /// The device with a device name or a node GUID (0x… or three-colon form). Throws UsageError "RDMA device 'X' not found." if
  /// there is none.
  const Device& find_device(std::string_view spec) const;
  /// The end port that `spec` names: DEVICE/PORT, a port GUID, a GID, a port number (only with `within`), or a device name,
  /// which means the device's best port. Throws UsageError if there is none, or if it is not a port of `within`.
  const EndPort& find_end_port(std::string_view spec, const Device* within = nullptr) const;
  /// The best end port: an InfiniBand port before others, one that can send SMPs and GMPs by umad before one that cannot, an Active port
  /// before one in Initialize or Armed, and that before one that is Down. Among equals, a port that is not the bare SMI half of a
  /// planarized HCA is preferred, then the first port. Throws Error if the host has no devices.
  const EndPort& default_end_port(const Device* within = nullptr) const;
  /// The end port that the options -C `device` and -P `port` select together. With both, or with -C only, find_device() and find_end_port()
  /// apply. -P without -C may also be a port number: the best port of that number on any device. Throws what these functions throw.
  const EndPort& select(std::optional<std::string_view> device, std::optional<std::string_view> port) const;
  /// The end port that programs of libibumad open without -C, or with -C `device` and no -P. Devices are taken in the kernel's order. It is
  /// the first active InfiniBand port of the first device that has one. If no device has one, it is a port of the first device with a
  /// usable port: the first InfiniBand port with LinkUp, else the first port that is not Disabled. If `number` is not 0, only ports of that
  /// number count. The port 0 of a switch is taken whatever `number` says. Throws UsageError if there is none.
  const EndPort& libibumad_port(const Device* device, unsigned number) const;
  /// The end port that has `gid`, or whose default subnet prefix and GUID form `gid`. Null if there is none.
  const EndPort* find_gid(const Gid& gid) const;
  /// The end port whose GID 0 has the GUID `guid`. Null if there is none.
  const EndPort* find_port_guid(Guid guid) const;
  /// The best end port that has a GID with the subnet prefix `prefix`. Null if there is none.
  const EndPort* find_prefix(GidPrefix prefix, const Device* within = nullptr) const;

 private:
  template <class Accept>
  const EndPort* best(Accept accept) const;
  const Device* named(std::string_view name) const;
  const EndPort& find_name(std::string_view spec) const;

  std::vector<std::unique_ptr<Device>> devices_;
};

}  // namespace ib::sys
