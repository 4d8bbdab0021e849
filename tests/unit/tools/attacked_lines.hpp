// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The command lines that are run on a fabric that lies (mutating.cpp): each command that asks a fabric has one at least.
#pragma once

#include <string>
#include <vector>

namespace ibtest {

using Line = std::vector<std::string>;

/// Command lines of ibtool.
const std::vector<Line>& our_lines();
/// Command lines by the names of infiniband-diags.
const std::vector<Line>& diags_lines();

}  // namespace ibtest
