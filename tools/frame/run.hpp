// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// One invocation of the program, apart from main() so that tests can make it in their own process.
#pragma once

#include <span>

#include "tools/frame/world.hpp"

namespace ib::tools {

/// Runs the program as called by `argv` in `world` and returns its exit status. called_name() chooses: a name that begins
/// with "ibtool" is ibtool, a name of infiniband-diags is that program, the name of any other command is that command in ibtool's words.
/// To know none is an error.
int run(std::span<char* const> argv, const World& world);

}  // namespace ib::tools
