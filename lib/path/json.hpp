// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Writes a path in the form of all reports.
#pragma once

#include <string_view>

#include "path/path.hpp"
#include "report/sink.hpp"

namespace ib::path {

/// Writes `path` as the object `key`: the header fields of a packet on the path. The members are always the same. Members that
/// this kind of path does not have, and unknown LIDs, are null.
void visit(report::Sink& sink, std::string_view key, const Path& path);

}  // namespace ib::path
