// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The GIDs of a MultiPathRecord (IBA 15.2.5.20): first the sources, then the destinations, as many as the counts of the record
// say. The structure has room for the GIDs that fit into one MAD. These functions work on bytes, which may be longer.
#pragma once

#include <cstdint>
#include <vector>

#include "base/bytes.hpp"
#include "iba/types.hpp"

namespace ib::sa {

/// The two GID lists of a MultiPathRecord.
enum class PathEnd { source, destination };

/// Adds a GID to a MultiPathRecord and counts it. `record` has at least the size of the structure. Throws Error if there are
/// 255 GIDs already.
void add_gid(std::vector<std::uint8_t>& record, PathEnd end, const Gid& gid);

/// The part of the record that an SA must read: it ends with the last GID. The whole record if no GIDs are counted.
Bytes used_part(Bytes record);

}  // namespace ib::sa
