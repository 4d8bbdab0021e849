// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// SRC:DST of --src-to-dst in ibtool's dialect, where either end may have colons of its own: a GUID, or the name of a node.
#pragma once

#include <string>

#include "async/task.hpp"
#include "tools/frame/targets.hpp"

namespace ib::tools::saquery {

/// The words of the two ends. An empty word is any end.
struct TwoEnds {
  std::string source, destination;
};

/// Divides `text`, which has a colon, where both parts are targets. A division into addresses and whole words of names is preferred to one
/// with pieces of names. Throws UsageError if no division is left, or several.
async::Task<TwoEnds> two_ends(Targets& targets, std::string text);

}  // namespace ib::tools::saquery
