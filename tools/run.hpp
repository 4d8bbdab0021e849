// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// One invocation of the program, apart from main() so that tests can make it in their own process.
#pragma once

#include <span>

#include "tools/session.hpp"

namespace ib::tools {

/// Runs the program as called by `argv` (argv[0] chooses the dialect) and returns its exit status. Writes to stdout
/// and stderr.
int run(std::span<char* const> argv, const Surroundings& around = {});

}  // namespace ib::tools
