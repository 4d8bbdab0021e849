// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// A path as every report tells it.
#pragma once

#include <string_view>

#include "out/sink.hpp"
#include "path/path.hpp"

namespace ib::path {

/// Emits `path` as the object `key`: what stands in the headers of a packet on it. The members are always the same; those that a path
/// of its kind does not have, and LIDs that are not known, are null.
void visit(out::Sink& sink, std::string_view key, const Path& path);

}  // namespace ib::path
