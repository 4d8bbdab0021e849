// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Whether a new snapshot may take the place of an older one. A fabric that is seen from a host without a link, or half of a fabric that
// came apart, is not a successor of the whole one.
#pragma once

#include <optional>
#include <string>

#include "subnet/model/model.hpp"

namespace ib::snapshot {

/// Compares the nodes of the snapshot `file` with those of `seen`, which is to take its place. The file is only read. Throws Error if the
/// file must stay: less than a tenth of its nodes were seen, or none of them. Returns a line for people if it must stay under another name:
/// less than half of its nodes were seen, or it cannot be compared because it is damaged or of a version that is not read. Returns nothing
/// if it may be replaced, or does not exist.
std::optional<std::string> why_old_is_kept(const std::string& file, const subnet::Subnet& seen);

}  // namespace ib::snapshot
