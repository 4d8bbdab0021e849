// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The command that the program runs, by the name that it was called by. A user may choose any name for a symbolic link: a link whose name
// is not known is followed.
#pragma once

#include <string>
#include <string_view>

#include "tools/frame/world.hpp"

namespace ib::tools {

/// The name that selects the command: the name of a command or of a program of infiniband-diags, or a name that begins with "ibtool". It is
/// searched in `called` (argv[0], which may be empty), in the name of the executable as the kernel knows it, and in the names of the
/// symbolic links that lead from there to the program, in this order. If no whole name is known, a name may have an ending, as in
/// `ibnetdiscover.distrib`. Empty if no name is known.
std::string called_name(std::string_view called, const World& world);

}  // namespace ib::tools
