// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Layout of help: the option column is as wide as the options need up to a limit; longer ones stand on a line of
// their own. Lines are broken to 78 columns, or to World::help_width.
#include "tools/frame/help.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <set>
#include <utility>

#include "base/letter_case.hpp"
#include "base/split.hpp"
#include "tools/frame/terminal.hpp"
#include "tools/frame/world.hpp"

namespace ib::tools {
namespace {

constexpr std::size_t indent = 2, widest_column = 24;

constexpr std::string_view headings[]{
    "This host", "The fabric", "One node or port", "Counters", "Routes", "The subnet administrator", "Changes", "Others",
};  // by HelpGroup

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

/// Rows of a help table: a name and its meaning.
using HelpRows = std::vector<std::pair<std::string, std::string_view>>;

/// Two columns, broken to `width` columns.
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

constexpr HelpTask tasks[] = {
    {"Is the fabric healthy? Which cable to pull?", "health", "broken bad check diagnose verify faulty problem"},
    {"What is connected to what?", "iblinkinfo ibnetdiscover", "links topology cables map list"},
    {"Which links are down, slow or narrow?", "iblinkinfo health ibcheckwidth", "links speed width degraded"},
    {"Which ports count errors?", "ibqueryerrors perfquery health", "symbol counters"},
    {"Why is a link bad or down?", "phy", "ber fec signal links"},
    {"Which cables and transceivers are there?", "modules", "optics serial power"},
    {"Which firmware runs, how hot is it?", "firmware environment", "versions temperature fans psid"},
    {"Which way do packets take?", "ibtracert ibroute", "trace route path hops traceroute"},
    {"Does every packet arrive?", "check_routes", "routing loops deadlock credit"},
    {"What is different from yesterday?", "subnet_diff snapshot", "diff compare changed changes baseline save dump"},
    {"Who manages the subnet?", "sminfo", "subnet manager sm opensm master"},
    {"What does the subnet administrator know?", "saquery", "sa groups multicast records"},
    {"What does a node report about itself?", "smpquery ibaddr", "info describe node port lid guid"},
    {"How much traffic is there, and where?", "ibdatacounters perfquery", "bandwidth throughput load busy congestion traffic"},
    {"How are this host's own ports?", "ibstat", "local hca device adapter"},
    {"Does a host answer?", "ibping", "reachable alive latency"},
    {"Switch a port off and on", "ibportstate", "enable disable reset bounce shut down up"},
    {"Graphs and alerts", "exporter", "prometheus grafana metrics monitor"},
};

/// A word without the s of the plural.
std::string_view stem(std::string_view word) {
  return word.size() > 3 && word.ends_with('s') && !word.ends_with("ss") ? word.substr(0, word.size() - 1) : word;
}

/// Whether a word of `text` begins with `word`. Both are in lower case.
bool has_word(std::string_view text, std::string_view word) {
  for (std::size_t at = text.find(word); at != std::string_view::npos; at = text.find(word, at + 1)) {
    if (at == 0 || std::isalnum(static_cast<unsigned char>(text[at - 1])) == 0) return true;
  }
  return false;
}

/// Words that are searched for, as lower-case stems.
using Stems = std::vector<std::string>;

bool are_in(const Stems& stems, std::string_view text) {
  const std::string lower = to_lower(text);
  return std::ranges::all_of(stems, [&lower](const std::string& word) { return has_word(lower, word); });
}

enum SearchRank : unsigned { fits_nothing, fits_example, fits_summary, fits_name, fits_task };

/// How well a command fits. The commands of a task rank by their place in it, the first one before commands that fit only by name.
std::pair<unsigned, std::size_t> rank_of(const CommandInfo& command, const Stems& wanted) {
  constexpr std::size_t last = 100;
  std::size_t place = last;
  for (const HelpTask& task : tasks) {
    if (!has_word(task.commands, command.name) || !are_in(wanted, std::string(task.question) + " " + std::string(task.words))) continue;
    place = std::min(place, task.commands.find(command.name));
  }
  const bool is_named = std::ranges::all_of(wanted, [&command](const std::string& word) { return command.name.find(word) != word.npos; });
  if (place == 0 || (is_named && place < last)) return {fits_task, last - place};
  if (is_named) return {fits_name, 0};
  if (place < last) return {fits_name, last - place};
  if (are_in(wanted, command.summary)) return {fits_summary, 0};
  for (const HelpExample& example : help_page(command.name).examples) {
    if (are_in(wanted, example.meaning)) return {fits_example, 0};
  }
  return {fits_nothing, 0};
}

std::string spelling_of(const Option& option) {
  return option.names.empty() ? std::string("-") + option.letter : "--" + option.names.front();
}

/// Adds the options that fit: the options of the command itself, and each common one once.
void add_options_of(const CommandInfo& info, const Stems& wanted, std::set<std::string>& common_seen, HelpHits& hits) {
  const CommandLine line(info);
  const bool is_listed = std::ranges::find(hits.commands, &info) != hits.commands.end();
  for (const Option& option : line.set.options()) {
    const std::string name = spelling_of(option);
    if (!option.is_reachable() || !(are_in(wanted, name) || are_in(wanted, option.help))) continue;
    if (option.common ? common_seen.insert(name).second : !is_listed)
      hits.options.push_back({option.common ? nullptr : &info, name, option.help});
  }
}

}  // namespace

std::string paragraphs(std::string_view text, std::size_t width) {
  std::string result;
  for (const std::string_view line : split_list(text, "\n")) result += fmt::format("{}\n", fmt::join(wrap(line, width), "\n"));
  return result;
}

std::span<const std::string_view> group_headings() { return headings; }

std::string_view group_heading(HelpGroup group) { return headings[static_cast<std::size_t>(group)]; }

std::string command_list(std::size_t width) {
  std::string text = "ibtool - InfiniBand diagnostics\n\nUsage: ibtool COMMAND [options] [operands]\n";
  for (const std::string_view heading : headings) {
    HelpRows rows;
    for (const CommandInfo* command : commands()) {
      if (group_heading(command->group) == heading) rows.emplace_back(listed_name(*command), command->summary);
    }
    if (!rows.empty()) text += fmt::format("\n{}:\n{}", heading, help_table(rows, width));
  }
  return text + "\n* can change something\n`ibtool help COMMAND` describes one command.\n";
}

std::string overview(std::size_t width) {
  std::string text = "ibtool - InfiniBand diagnostics. Usage: ibtool COMMAND [options] [operands]\n\n";
  for (const HelpTask& task : tasks) text += fmt::format("  {:<45}{}\n", task.question, fmt::join(split(task.commands, " "), ", "));
  text += '\n';
  for (const std::string_view heading : headings) {
    std::vector<std::string> names;
    for (const CommandInfo* command : commands()) {
      if (group_heading(command->group) == heading) names.push_back(listed_name(*command));
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
  HelpRows examples;
  for (const HelpExample& example : help_page(command.name).examples) examples.emplace_back(example.line, example.meaning);
  return fmt::format("{}\nUsage: {}\n\n{}\nExamples:\n{}\nManual page: man ibtool-{}\n", fmt::join(wrap(command.summary, width), "\n"),
                     usage_line(command, set), rest_of_help(set, width), help_table(examples, width), command.name);
}

std::string diags_usage(const OptionSet& set, std::size_t width) {
  const std::string operands = set.operand_line();
  return fmt::format("Usage: {} [options]{}{}\n\n{}\n", set.program(), operands.empty() ? "" : " ", operands, rest_of_help(set, width));
}

CommandLine::CommandLine(const CommandInfo& info, const World* world) : command(info.make()) {
  common.world = world;
  command->options(set, common);
  add_general(set, common, info.changes);
}

std::span<const HelpTask> help_tasks() { return tasks; }

HelpHits search_help(std::span<const std::string> words) {
  using Ranked = std::pair<std::pair<unsigned, std::size_t>, const CommandInfo*>;
  Stems wanted;
  for (const std::string& word : words) wanted.emplace_back(stem(to_lower(word)));
  std::erase(wanted, "");
  HelpHits hits;
  if (wanted.empty()) return hits;
  std::vector<Ranked> ranked;
  for (const CommandInfo* command : commands()) {
    if (const auto rank = rank_of(*command, wanted); rank.first != fits_nothing) ranked.emplace_back(rank, command);
  }
  std::ranges::stable_sort(ranked, [](const Ranked& a, const Ranked& b) {
    if (a.first.first != b.first.first) return a.first.first > b.first.first;
    if (a.second->changes != b.second->changes) return b.second->changes;
    return a.first.second > b.first.second;
  });
  for (const auto& [rank, command] : ranked) {
    hits.commands.push_back(command);
    if (rank.first >= fits_name) hits.best.push_back(command);
  }
  std::set<std::string> common_seen;
  for (const CommandInfo* command : commands()) add_options_of(*command, wanted, common_seen, hits);
  const auto is_of_option = [&hits](const CommandInfo* command) {
    return std::ranges::find(hits.options, command, &HelpHits::OfOption::command) != hits.options.end();
  };
  for (const CommandInfo* command : commands()) {
    const bool is_listed = std::ranges::find(hits.commands, command) != hits.commands.end() || is_of_option(command);
    if (!is_listed && are_in(wanted, help_page(command->name).words)) hits.pages.push_back(command);
  }
  return hits;
}

}  // namespace ib::tools
