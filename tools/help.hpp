// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Help texts, made from the tables of commands and options so that they cannot drift from what is accepted.
#pragma once

#include <string>
#include <string_view>

#include "tools/command.hpp"
#include "tools/options.hpp"

namespace ib::tools {

/// `ibtool help`: every command with its summary.
std::string command_list();
/// `ibtool help NAME`: usage, notes and options.
std::string command_help(const CommandInfo& command, const OptionSet& set);
/// The same, for which the command is constructed.
std::string help_of(const CommandInfo& command);

}  // namespace ib::tools
