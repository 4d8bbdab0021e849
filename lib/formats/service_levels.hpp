// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The SL of each pair as ibdmchk reads it (its option -c): a line for each source and DLID, `0x0002c90200000110 6 0`. Its first column is
// the GUID of the source's node, so the ports of one node have the same SLs.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "iba/types.hpp"

namespace ib::formats {

struct StoredServiceLevel {
  Guid node_guid;
  Lid dlid;
  std::uint8_t sl{};
};

using TakeServiceLevel = std::function<void(const StoredServiceLevel&)>;

/// Reads the file `path` line by line and hands on each pair; the pairs of a large fabric are too many to be kept here. Empty lines and
/// comments (#) are left out. Throws UsageError `FILE:LINE: REASON` for any other line, and for a file without a pair, and SysError.
void read_service_levels(const std::string& path, const TakeServiceLevel& take);

}  // namespace ib::formats
