// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Inventories of a reading: which firmware runs on which type of device or module, and which modules there are.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "phy/reading.hpp"

namespace ib::phy {

/// The devices of one type and PSID, or the modules of one vendor and part number, with one firmware. Texts are not escaped.
struct FirmwareCount {
  std::uint16_t device_id{};           ///< of devices
  std::string vendor, part, firmware;  ///< `part`: the PSID of devices
  NodeIndex first = subnet::none;      ///< of devices: a node with it
  std::uint64_t count{};
  bool is_odd{};  ///< more of this part have another firmware; of an unknown one false
};

/// A module or cable. Both ends of a cable have one serial number.
struct InventoryModule {
  std::vector<const PortRow*> ends;  ///< in the reading, at least one
  bool is_odd{};                     ///< more modules of this part have another firmware
};

/// Counts the devices whose firmware was read.
std::vector<FirmwareCount> count_firmware(const subnet::Subnet& subnet, std::span<const DeviceRow> devices);
/// The modules in the cages of `ports`, which must outlive them. A module without a serial number is one of its own.
std::vector<InventoryModule> modules_in(std::span<const PortRow> ports);
/// Counts modules, and marks the odd ones.
std::vector<FirmwareCount> count_parts(std::span<InventoryModule> modules);

}  // namespace ib::phy
