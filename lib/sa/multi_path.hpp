// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The GIDs of a MultiPathRecord (IBA 15.2.5.20): as many sources and then destinations as its counts say. The structure has
// room for those that fit into one MAD; these functions work on its bytes, which may be longer.
#pragma once

#include <cstdint>
#include <vector>

#include "base/bytes.hpp"
#include "iba/types.hpp"

namespace ib::sa {

enum class PathEnd { source, destination };

/// Adds a GID to a MultiPathRecord of at least its structure's size, and counts it. Throws Error where there are 255 already.
void add_gid(std::vector<std::uint8_t>& record, PathEnd end, const Gid& gid);

/// What of the record an SA has to read: it ends with the last GID. All of it where no GIDs are counted.
Bytes used_part(Bytes record);

struct MultiPathGids {
  std::vector<Gid> sources, destinations;
};
/// The GIDs of a record as it came. Throws Error where its counts promise more than there are.
MultiPathGids gids_of(Bytes record);

}  // namespace ib::sa
