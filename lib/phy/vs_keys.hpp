// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The VS_Keys of devices: what a protected device wants in each MAD of the vendor's class. They are secrets: no complaint repeats one.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "iba/types.hpp"

namespace ib::phy {

class VsKeys {
 public:
  VsKeys() = default;
  /// One key for all devices.
  explicit VsKeys(std::uint64_t key) : of_all_(key) {}

  /// Reads a file: one key for all devices, or a line of GUID and key for each, as opensm has them in guid2vskey. Empty lines and comments
  /// (#) are left out. Throws UsageError `FILE:LINE: REASON` for any other line and for a file without a key, and SysError.
  static VsKeys read(const std::string& path);

  /// The key of a device, by its NodeGUID or the GUID of its port; 0 if it has none.
  std::uint64_t of(Guid node, Guid port) const;
  /// Whether a device has a key.
  bool any() const { return of_all_ != 0 || !by_guid_.empty(); }

 private:
  std::uint64_t of_all_{};
  std::map<Guid, std::uint64_t> by_guid_;
};

}  // namespace ib::phy
