// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Layout of help: the option column is as wide as the options need up to a limit; longer ones stand on a line of
// their own. Lines are broken to 78 columns, or to what COLUMNS says.
#include "tools/frame/help.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>
#include <utility>
#include <vector>

#include "tools/frame/world.hpp"

namespace ib::tools {
namespace {

constexpr std::size_t indent = 2, widest_column = 24;

std::size_t text_width() {
  const char* columns = std::getenv("COLUMNS");
  const int given = columns != nullptr ? std::atoi(columns) : 0;
  return given > 40 ? static_cast<std::size_t>(given) - 2 : 78;
}

std::vector<std::string_view> wrap(std::string_view text, std::size_t width) {
  std::vector<std::string_view> lines;
  while (text.size() > width) {
    std::size_t cut = text.rfind(' ', width);
    if (cut == std::string_view::npos) cut = std::min(text.find(' '), text.size());
    lines.push_back(text.substr(0, cut));
    text.remove_prefix(std::min(cut + 1, text.size()));
  }
  if (!text.empty()) lines.push_back(text);
  return lines;
}

constexpr std::pair<HelpGroup, std::string_view> headings[]{
    {HelpGroup::local, "This host"},   {HelpGroup::topology, "The fabric"}, {HelpGroup::query, "One node or port"},
    {HelpGroup::counters, "Counters"}, {HelpGroup::forwarding, "Routes"},   {HelpGroup::sa, "The subnet administrator"},
    {HelpGroup::config, "Changes"},    {HelpGroup::other, "Others"},
};

std::string option_names(const Option& option) {
  std::string value = option.value_optional ? fmt::format("[={}]", option.metavar) : option.has_value ? "=" + option.metavar : "";
  std::string result;
  if (option.letter != 0)
    result = option.has_value ? fmt::format("-{} {}", option.letter, option.metavar) : fmt::format("-{}", option.letter);
  if (!option.names.empty()) result += fmt::format("{}--{}{}", result.empty() ? "" : ", ", option.names.front(), value);
  return result;
}

/// The notes and the options.
std::string rest_of_help(const OptionSet& set) {
  HelpRows rows;
  for (const Option& option : set.options()) {
    if (!option.is_reachable()) continue;
    const bool asks_help = !option.names.empty() && option.names.front() == "help";
    rows.emplace(asks_help ? rows.begin() : rows.end(), option_names(option), option.help);
  }
  return fmt::format("{}Options:\n{}", set.notes().empty() ? "" : paragraphs(set.notes()) + "\n", help_table(rows));
}

}  // namespace

std::string paragraphs(std::string_view text) {
  std::string result;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    result += fmt::format("{}\n", fmt::join(wrap(text.substr(0, end), text_width()), "\n"));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return result;
}

std::string help_table(const HelpRows& rows) {
  std::size_t longest = 0;
  for (const auto& [name, help] : rows) longest = std::max(longest, name.size() + indent);
  const std::size_t column = std::min(longest + 2, widest_column);
  std::string result;
  for (const auto& [name, help] : rows) {
    const bool fits = name.size() + indent + 2 <= column;
    std::string line = fmt::format("{:{}}{}", "", indent, name);
    if (fits) line.resize(column, ' ');
    bool first = fits;
    for (const std::string_view part : wrap(help, text_width() - column)) {
      if (!first) line += fmt::format("{}{:{}}", line.empty() ? "" : "\n", "", column);
      first = false;
      line += part;
    }
    result += line + "\n";
  }
  return result;
}

std::string_view group_heading(HelpGroup group) {
  return std::find_if(std::begin(headings), std::end(headings), [&](const auto& heading) { return heading.first == group; })->second;
}

std::vector<std::string_view> group_headings() {
  std::vector<std::string_view> all;
  for (const auto& [group, heading] : headings) all.push_back(heading);
  return all;
}

std::string command_list() {
  std::string text = "ibtool - InfiniBand diagnostics\n\nUsage: ibtool COMMAND [options] [operands]\n";
  for (const auto& [group, heading] : headings) {
    HelpRows rows;
    for (const CommandInfo* command : commands()) {
      if (command->group == group) rows.emplace_back(fmt::format("{}{}", command->name, command->changes ? " *" : ""), command->summary);
    }
    if (!rows.empty()) text += fmt::format("\n{}:\n{}", heading, help_table(rows));
  }
  return text + "\n* can change something\n`ibtool help COMMAND` tells about one command.\n";
}

std::string usage_line(const CommandInfo& command, const OptionSet& set) {
  const std::string operands = set.operand_line();
  return fmt::format("ibtool {}{}{}", command.name, operands.empty() ? "" : " ", operands);
}

std::string command_help(const CommandInfo& command, const OptionSet& set) {
  return fmt::format("{}\nUsage: {}\n\n{}", fmt::join(wrap(command.summary, text_width()), "\n"), usage_line(command, set),
                     rest_of_help(set));
}

std::string diags_usage(const OptionSet& set) {
  const std::string operands = set.operand_line();
  return fmt::format("Usage: {} [options]{}{}\n\n{}\n", set.program(), operands.empty() ? "" : " ", operands, rest_of_help(set));
}

std::string help_of(const CommandInfo& info) {
  const std::unique_ptr<Command> command = info.make();
  const World world;
  CommonOptions common;
  common.world = &world;
  General general;
  OptionSet set;
  add_options(info, *command, set, common, general);
  return command_help(info, set);
}

}  // namespace ib::tools
