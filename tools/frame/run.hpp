// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// One invocation of the program, apart from main() so that tests can make it in their own process.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "tools/frame/world.hpp"

namespace ib::tools {

/// Runs the program as called by `argv` in `world` and returns its exit status. called_name() chooses: a name that begins
/// with "ibtool" is ibtool, a name of infiniband-diags is that program, the name of any other command is that command in ibtool's words.
/// To know none is an error.
int run(std::span<char* const> argv, const World& world);

/// How many of `args`, the words behind `ibtool`, are options of all commands, and their values, before the name of a command. One more
/// than there are if the value of the last one is missing. Throws OptionError for what no command takes.
std::size_t leading_options(std::span<const std::string> args);

}  // namespace ib::tools
