// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Layout of help: the option column is as wide as the options need up to a limit; longer ones stand on a line of
// their own. Lines are broken to 78 columns, or to World::help_width.
#include "tools/frame/help.hpp"

#include <fmt/format.h>

#include <cctype>
#include <ranges>
#include <set>
#include <tuple>
#include <utility>

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

/// Rows of a help table: a name and its meaning.
using HelpRows = std::vector<std::pair<std::string, std::string_view>>;

/// The names and summaries of commands. A name has a mark if the command can change something.
template <class Commands>
HelpRows command_rows(Commands&& listed) {
  HelpRows rows;
  for (const CommandInfo* command : listed)
    rows.emplace_back(fmt::format("{}{}", command->name, command->changes ? " *" : ""), command->summary);
  return rows;
}

/// The commands under a heading.
HelpRows rows_under(std::string_view heading) {
  return command_rows(commands() |
                      std::views::filter([heading](const CommandInfo* command) { return group_heading(command->group) == heading; }));
}

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

/// How well a command fits: the SearchRank, whether it changes nothing, and for commands of a task their place in it, the first one
/// highest.
using Fit = std::tuple<unsigned, bool, std::size_t>;

/// The first command of a task ranks before commands that fit only by name.
Fit fit_of(const CommandInfo& command, const Stems& wanted) {
  constexpr std::size_t last = 100;
  std::size_t place = last;
  for (const HelpTask& task : tasks) {
    if (!has_word(task.commands, command.name) || !are_in(wanted, std::string(task.question) + " " + std::string(task.words))) continue;
    place = std::min(place, task.commands.find(command.name));
  }
  const bool is_named = std::ranges::all_of(wanted, [&command](const std::string& word) { return command.name.find(word) != word.npos; });
  const auto is_in = [&wanted](const HelpExample& example) { return are_in(wanted, example.meaning); };
  unsigned rank = fits_nothing;
  if (place == 0 || (is_named && place < last)) {
    rank = fits_task;
  } else if (is_named || place < last) {
    rank = fits_name;
  } else if (are_in(wanted, command.summary)) {
    rank = fits_summary;
  } else if (std::ranges::any_of(help_page(command.name).examples, is_in)) {
    rank = fits_example;
  }
  return {rank, !command.changes, last - place};
}

/// Adds the options that fit: the options of the command itself, and each common one once.
void add_options_of(const CommandInfo& info, const Stems& wanted, std::set<std::string>& common_seen, HelpHits& hits) {
  const CommandLine line(info);
  const bool is_listed = std::ranges::find(hits.commands, &info) != hits.commands.end();
  for (const Option& option : line.set.options()) {
    const std::string name = option.names.empty() ? std::string("-") + option.letter : "--" + option.names.front();
    if (!are_in(wanted, name) && !are_in(wanted, option.help)) continue;
    if (option.common ? common_seen.insert(name).second : !is_listed)
      hits.options.push_back({option.common ? nullptr : &info, name, option.help});
  }
}

}  // namespace

std::string paragraphs(std::string_view text, std::size_t width) {
  std::string result;
  for (const std::string_view line : split_list(text, "\n")) result += fmt::format("{}\n", joined(wrap(line, width), "\n"));
  return result;
}

std::span<const std::string_view> group_headings() { return headings; }

std::string command_list(std::size_t width) {
  std::string text = "ibtool - InfiniBand diagnostics\n\nUsage: ibtool COMMAND [options] [operands]\n";
  for (const std::string_view heading : headings) {
    text += fmt::format("\n{}:\n{}", heading, help_table(rows_under(heading), width));
  }
  return text + "\n* can change something\n`ibtool help COMMAND` describes one command.\n";
}

std::string overview(std::size_t width) {
  std::string text = "ibtool - InfiniBand diagnostics. Usage: ibtool COMMAND [options] [operands]\n\n";
  for (const HelpTask& task : tasks) text += fmt::format("  {:<45}{}\n", task.question, joined(split(task.commands, " "), ", "));
  text += '\n';
  for (const std::string_view heading : headings) {
    const HelpRows rows = rows_under(heading);
    const std::string all = fmt::format("{}: {}", heading, joined(rows | std::views::keys, ", "));
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
  std::string text = help_table(command_rows(hits.commands), width);
  HelpRows rows;
  for (const HelpHits::OfOption& hit : hits.options) {
    if (rows.size() < most_options)
      rows.emplace_back(hit.command == nullptr ? hit.option : fmt::format("{} {}", hit.command->name, hit.option), hit.help);
  }
  if (!rows.empty()) text += fmt::format("{}Options:\n{}", text.empty() ? "" : "\n", help_table(rows, width));
  if (hits.options.size() > rows.size()) text += fmt::format("  and {} more\n", hits.options.size() - rows.size());
  std::vector<std::string_view> names;
  for (const CommandInfo* command : hits.pages) names.push_back(command->name);
  if (!names.empty())
    text += fmt::format("{}{}", text.empty() ? "" : "\n", paragraphs(fmt::format("Manual pages: {}", joined(names, ", ")), width));
  return text;
}

std::string usage_line(const CommandInfo& command, const OptionSet& set) {
  const std::string operands = set.operand_line();
  return fmt::format("ibtool {}{}{}", command.name, operands.empty() ? "" : " ", operands);
}

std::string command_help(const CommandInfo& command, const OptionSet& set, std::size_t width) {
  HelpRows examples;
  for (const HelpExample& example : help_page(command.name).examples) examples.emplace_back(example.line, example.meaning);
  return fmt::format("{}\nUsage: {}\n\n{}\nExamples:\n{}\nManual page: man ibtool-{}\n", joined(wrap(command.summary, width), "\n"),
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
  using Ranked = std::pair<Fit, const CommandInfo*>;
  Stems wanted;
  for (const std::string& word : words) wanted.emplace_back(stem(to_lower(word)));
  std::erase(wanted, "");
  HelpHits hits;
  if (wanted.empty()) return hits;
  std::vector<Ranked> ranked;
  for (const CommandInfo* command : commands()) {
    if (const Fit fit = fit_of(*command, wanted); std::get<0>(fit) != fits_nothing) ranked.emplace_back(fit, command);
  }
  std::ranges::stable_sort(ranked, std::greater{}, &Ranked::first);
  for (const auto& [fit, command] : ranked) {
    hits.commands.push_back(command);
    if (std::get<0>(fit) >= fits_name) hits.best.push_back(command);
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
