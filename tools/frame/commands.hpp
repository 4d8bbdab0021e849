// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Declares the CommandInfo of each command, under the name of the command.
#pragma once

#include "tools/command_list.hpp"
#include "tools/frame/command.hpp"

namespace ib::tools::rooms {

#define IB_DECLARE_COMMAND(name) extern const CommandInfo name;
IB_EACH_COMMAND(IB_DECLARE_COMMAND)
#undef IB_DECLARE_COMMAND

}  // namespace ib::tools::rooms
