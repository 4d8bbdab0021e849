// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "phy/inventory.hpp"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

namespace ib::phy {
namespace {

class FirmwareCounts {
 public:
  /// Counts one device or module. The count is valid as long as this object, its `is_odd` only after all().
  const FirmwareCount& add(FirmwareCount one) {
    FirmwareCount& counted = counts_.try_emplace({one.device_id, one.vendor, one.part, one.firmware}, one).first->second;
    ++counted.count;
    std::uint64_t& most = most_[{one.device_id, one.vendor, one.part}];
    if (!one.firmware.empty()) most = std::max(most, counted.count);
    return counted;
  }
  std::vector<FirmwareCount> all() {
    std::vector<FirmwareCount> all;
    for (auto& [key, counted] : counts_) {
      counted.is_odd = !counted.firmware.empty() && counted.count < most_.at({counted.device_id, counted.vendor, counted.part});
      all.push_back(counted);
    }
    return all;
  }

 private:
  std::map<std::tuple<std::uint16_t, std::string, std::string, std::string>, FirmwareCount> counts_;
  std::map<std::tuple<std::uint16_t, std::string, std::string>, std::uint64_t> most_;
};

}  // namespace

std::vector<FirmwareCount> count_firmware(const subnet::Subnet& subnet, std::span<const DeviceRow> devices) {
  FirmwareCounts counts;
  for (const DeviceRow& device : devices) {
    if (!device.firmware) continue;
    counts.add({.device_id = subnet.node(device.node).info.device_id,
                .vendor = {},
                .part = device.firmware->psid,
                .firmware = device.firmware->version,
                .first = device.node});
  }
  return counts.all();
}

std::vector<InventoryModule> modules_in(std::span<const PortRow> ports) {
  std::vector<InventoryModule> modules;
  std::map<std::pair<std::string, std::string>, std::size_t> known;  // by vendor and serial number
  for (const PortRow& row : ports) {
    if (!row.has_module()) continue;
    const std::string serial = padded_text(row.module.serial_number);
    const auto [place, is_new] = known.emplace(std::pair(padded_text(row.module.vendor), serial), modules.size());
    if (is_new || serial.empty()) {
      modules.push_back({.ends = {&row}});
    } else {
      modules[place->second].ends.push_back(&row);
    }
  }
  return modules;
}

std::vector<FirmwareCount> count_parts(std::span<InventoryModule> modules) {
  FirmwareCounts counts;
  std::vector<const FirmwareCount*> part_of;
  for (const InventoryModule& of : modules) {
    const PortRow& row = *of.ends.front();
    part_of.push_back(&counts.add({.device_id = {},
                                   .vendor = padded_text(row.module.vendor),
                                   .part = padded_text(row.module.part_number),
                                   .firmware = module_firmware(row)}));
  }
  std::vector<FirmwareCount> counted = counts.all();
  for (std::size_t at = 0; at < modules.size(); ++at) modules[at].is_odd = part_of[at]->is_odd;
  return counted;
}

}  // namespace ib::phy
