// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// What the program is to do, by the name that it was called by. Names of links are the user's: one that says nothing is followed.
#pragma once

#include <string>
#include <string_view>

#include "tools/frame/world.hpp"

namespace ib::tools {

/// The name that chooses what runs: that of a command or of a program, or one that begins with "ibtool". It is looked for in `called`
/// (argv[0], which may be empty), in the name of the executable as the kernel knows it, and in the names of the symbolic links that lead
/// from there to the program, in this order. A name may have an ending, as in `ibnetdiscover.distrib`, where none is known whole. Empty if
/// no name says what to do.
std::string called_name(std::string_view called, const World& world);

}  // namespace ib::tools
