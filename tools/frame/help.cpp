// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Layout of help: the option column is as wide as the options need up to a limit; longer ones stand on a line of
// their own. Lines are broken to 78 columns, or to World::help_width.
#include "tools/frame/help.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "tools/frame/help_pages.hpp"
#include "tools/frame/terminal.hpp"
#include "tools/frame/world.hpp"

namespace ib::tools {
namespace {

constexpr std::size_t indent = 2, widest_column = 24;

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

/// The name, with a mark if the command can change something.
std::string listed_name(const CommandInfo& command) { return fmt::format("{}{}", command.name, command.changes ? " *" : ""); }

/// "a b" as "a, b".
std::string comma_list(std::string_view words) {
  std::string text;
  for (const char c : words) text += c == ' ' ? ", " : std::string(1, c);
  return text;
}

/// The examples, each with its meaning.
std::string examples_text(const CommandInfo& command, std::size_t width) {
  HelpRows rows;
  for (const HelpExample& example : help_page(command.name).examples) rows.emplace_back(example.line, example.meaning);
  return help_table(rows, width);
}

/// The notes and the options.
std::string rest_of_help(const OptionSet& set, std::size_t width) {
  HelpRows rows;
  for (const Option& option : set.options()) {
    if (!option.is_reachable()) continue;
    const bool wants_help = !option.names.empty() && option.names.front() == "help";
    rows.emplace(wants_help ? rows.begin() : rows.end(), option_names(option), option.help);
  }
  return fmt::format("{}Options:\n{}", set.notes().empty() ? "" : paragraphs(set.notes(), width) + "\n", help_table(rows, width));
}

}  // namespace

std::string paragraphs(std::string_view text, std::size_t width) {
  std::string result;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    result += fmt::format("{}\n", fmt::join(wrap(text.substr(0, end), width), "\n"));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return result;
}

std::string help_table(const HelpRows& rows, std::size_t width) {
  std::size_t longest = 0;
  for (const auto& [name, help] : rows) longest = std::max(longest, name.size() + indent);
  const std::size_t column = std::min(longest + 2, widest_column);
  std::string result;
  for (const auto& [name, help] : rows) {
    const bool fits = name.size() + indent + 2 <= column;
    std::string line = fmt::format("{:{}}{}", "", indent, name);
    if (fits) line.resize(column, ' ');
    bool first = fits;
    for (const std::string_view part : wrap(help, width - column)) {
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

std::string command_list(std::size_t width) {
  std::string text = "ibtool - InfiniBand diagnostics\n\nUsage: ibtool COMMAND [options] [operands]\n";
  for (const auto& [group, heading] : headings) {
    HelpRows rows;
    for (const CommandInfo* command : commands()) {
      if (command->group == group) rows.emplace_back(listed_name(*command), command->summary);
    }
    if (!rows.empty()) text += fmt::format("\n{}:\n{}", heading, help_table(rows, width));
  }
  return text + "\n* can change something\n`ibtool help COMMAND` describes one command.\n";
}

std::string overview(std::size_t width) {
  std::string text = "ibtool - InfiniBand diagnostics. Usage: ibtool COMMAND [options] [operands]\n\n";
  for (const HelpTask& task : help_tasks()) text += fmt::format("  {:<45}{}\n", task.question, comma_list(task.commands));
  text += '\n';
  for (const auto& [group, heading] : headings) {
    std::vector<std::string> names;
    for (const CommandInfo* command : commands()) {
      if (command->group == group) names.push_back(listed_name(*command));
    }
    const std::string all = fmt::format("{}: {}", heading, fmt::join(names, ", "));
    std::string_view begin;
    for (const std::string_view line : wrap(all, width - indent)) {
      text += fmt::format("{}{}\n", begin, line);
      begin = "  ";
    }
  }
  return text +
         "\n* can change something. `ibtool help COMMAND` has its options and examples,\n"
         "`ibtool help cable` what has to do with cables, `ibtool help --all` summaries.\n";
}

std::string hits_text(const HelpHits& hits, std::size_t width) {
  constexpr std::size_t most_options = 12;
  HelpRows rows;
  for (const CommandInfo* command : hits.commands) rows.emplace_back(listed_name(*command), command->summary);
  std::string text = help_table(rows, width);
  rows.clear();
  for (const HelpHits::OfOption& hit : hits.options) {
    if (rows.size() < most_options)
      rows.emplace_back(hit.command == nullptr ? hit.option : fmt::format("{} {}", hit.command->name, hit.option), hit.help);
  }
  if (!rows.empty()) text += fmt::format("{}Options:\n{}", text.empty() ? "" : "\n", help_table(rows, width));
  if (hits.options.size() > rows.size()) text += fmt::format("  and {} more\n", hits.options.size() - rows.size());
  std::vector<std::string_view> names;
  for (const CommandInfo* command : hits.pages) names.push_back(command->name);
  if (!names.empty())
    text += fmt::format("{}{}", text.empty() ? "" : "\n", paragraphs(fmt::format("Manual pages: {}", fmt::join(names, ", ")), width));
  return text;
}

std::string usage_line(const CommandInfo& command, const OptionSet& set) {
  const std::string operands = set.operand_line();
  return fmt::format("ibtool {}{}{}", command.name, operands.empty() ? "" : " ", operands);
}

std::string command_help(const CommandInfo& command, const OptionSet& set, std::size_t width) {
  return fmt::format("{}\nUsage: {}\n\n{}\nExamples:\n{}\nManual page: man ibtool-{}\n", fmt::join(wrap(command.summary, width), "\n"),
                     usage_line(command, set), rest_of_help(set, width), examples_text(command, width), command.name);
}

std::string diags_usage(const OptionSet& set, std::size_t width) {
  const std::string operands = set.operand_line();
  return fmt::format("Usage: {} [options]{}{}\n\n{}\n", set.program(), operands.empty() ? "" : " ", operands, rest_of_help(set, width));
}

std::string help_of(const CommandInfo& info, std::size_t width) {
  const std::unique_ptr<Command> command = info.make();
  const World world;
  CommonOptions common;
  common.world = &world;
  General general;
  OptionSet set;
  add_options(info, *command, set, common, general);
  return command_help(info, set, width);
}

}  // namespace ib::tools
