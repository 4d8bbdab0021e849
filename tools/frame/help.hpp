// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Help texts, made from the tables of commands and options so that they cannot drift from what is accepted.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tools/frame/command.hpp"
#include "tools/frame/help_search.hpp"
#include "tools/frame/options.hpp"

namespace ib::tools {

/// The columns of a text if the user wants no other width (World::help_width).
inline constexpr std::size_t usual_width = 78;

/// Rows of a help table: a name and its meaning.
using HelpRows = std::vector<std::pair<std::string, std::string_view>>;
/// The lines of `text`, broken to `width` columns, each with its end.
std::string paragraphs(std::string_view text, std::size_t width = usual_width);
/// Two columns, broken to `width` columns.
std::string help_table(const HelpRows& rows, std::size_t width = usual_width);

/// `ibtool help`: the tasks of an administrator with the commands for them, then the names of all commands, in at most 40 lines of 80
/// columns.
std::string overview(std::size_t width = usual_width);
/// `ibtool help --all`: every command with its summary.
std::string command_list(std::size_t width = usual_width);
/// `ibtool help WORD`: the commands and options that fit, with their summaries, and the pages that have the word.
std::string hits_text(const HelpHits& hits, std::size_t width = usual_width);
/// The headings of all groups of commands, in the order of the help.
std::vector<std::string_view> group_headings();
/// The heading above the commands of a group.
std::string_view group_heading(HelpGroup group);
/// "ibtool smpquery OP TARGET [ATTR_MOD]".
std::string usage_line(const CommandInfo& command, const OptionSet& set);
/// `ibtool help NAME`: usage, notes, options, examples and the manual page.
std::string command_help(const CommandInfo& command, const OptionSet& set, std::size_t width = usual_width);
/// The text that --help of a legacy name prints: usage, notes and options.
std::string diags_usage(const OptionSet& set, std::size_t width = usual_width);
/// Constructs the command and formats its help as command_help() does.
std::string help_of(const CommandInfo& command, std::size_t width = usual_width);

}  // namespace ib::tools
