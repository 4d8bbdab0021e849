// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// A table in parts. Where nobody segments the answers of an SA (a simulator that stands in for the kernel) only the first MAD of
// a table arrives. The same records can be had by narrower queries, each of which fits: by LID, by port, by block.
#pragma once

#include "sa/records.hpp"

namespace ib::sa {

/// Asks again, in parts, for a table that came cut. The records are as opensm lists them (paths where LMC is 0); what an SA computes for
/// each query (the preference of a path) is that of the part. The table is still cut where a part failed, where nothing is left
/// to divide it by, or where it would take too many queries; then it holds what arrived. The references must live until the task
/// ends.
async::Task<Records> ask_in_parts(mad::Transactor& transactor, const path::Path& path, const Pattern& pattern, std::uint32_t modifier);

}  // namespace ib::sa
