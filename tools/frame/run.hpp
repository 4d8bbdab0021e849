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
/// A name that is not known is an error.
int run(std::span<char* const> argv, const World& world);

/// The number of words in `args`, the words behind `ibtool`, before the name of a command: options that all commands have, and their
/// values. If the value of the last option is missing, the number is greater than that of `args` by one. Throws OptionError for an option
/// that no command has.
std::size_t leading_options(std::span<const std::string> args);

}  // namespace ib::tools
