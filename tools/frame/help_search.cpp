// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "tools/frame/help_search.hpp"

#include <algorithm>
#include <cctype>
#include <set>
#include <utility>

#include "base/letter_case.hpp"
#include "tools/frame/help_pages.hpp"

namespace ib::tools {
namespace {

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
class SearchWords {
 public:
  explicit SearchWords(std::span<const std::string> words) {
    for (const std::string& word : words) stems_.emplace_back(stem(to_lower(word)));
    std::erase(stems_, "");
  }

  bool is_empty() const { return stems_.empty(); }
  bool are_in(std::string_view text) const {
    const std::string lower = to_lower(text);
    return std::ranges::all_of(stems_, [&lower](const std::string& word) { return has_word(lower, word); });
  }
  bool are_in_name(std::string_view name) const {
    return std::ranges::all_of(stems_, [name](const std::string& word) { return name.find(word) != std::string_view::npos; });
  }

 private:
  std::vector<std::string> stems_;
};

enum SearchRank : unsigned { fits_nothing, fits_example, fits_summary, fits_name, fits_task };

/// How well a command fits. The commands of a task rank by their place in it, the first one before commands that fit by name alone.
std::pair<unsigned, std::size_t> rank_of(const CommandInfo& command, const SearchWords& wanted) {
  constexpr std::size_t last = 100;
  std::size_t place = last;
  for (const HelpTask& task : tasks) {
    if (!has_word(task.commands, command.name) || !wanted.are_in(std::string(task.question) + " " + std::string(task.words))) continue;
    place = std::min(place, task.commands.find(command.name));
  }
  const bool is_named = wanted.are_in_name(command.name);
  if (place == 0 || (is_named && place < last)) return {fits_task, last - place};
  if (is_named) return {fits_name, 0};
  if (place < last) return {fits_name, last - place};
  if (wanted.are_in(command.summary)) return {fits_summary, 0};
  for (const HelpExample& example : help_page(command.name).examples) {
    if (wanted.are_in(example.meaning)) return {fits_example, 0};
  }
  return {fits_nothing, 0};
}

std::string spelling_of(const Option& option) {
  return option.names.empty() ? std::string("-") + option.letter : "--" + option.names.front();
}

/// Adds the options that fit: those of the command itself, and each common one once.
void add_options_of(const CommandInfo& info, const SearchWords& wanted, std::set<std::string>& common_seen, HelpHits& hits) {
  const std::unique_ptr<Command> command = info.make();
  CommonOptions common;
  General general;
  OptionSet set;
  add_options(info, *command, set, common, general);
  const bool is_listed = std::ranges::find(hits.commands, &info) != hits.commands.end();
  for (const Option& option : set.options()) {
    const std::string name = spelling_of(option);
    if (!option.is_reachable() || !(wanted.are_in(name) || wanted.are_in(option.help))) continue;
    if (option.common ? common_seen.insert(name).second : !is_listed)
      hits.options.push_back({option.common ? nullptr : &info, name, option.help});
  }
}

}  // namespace

std::span<const HelpTask> help_tasks() { return tasks; }

HelpHits search_help(std::span<const std::string> words) {
  using Ranked = std::pair<std::pair<unsigned, std::size_t>, const CommandInfo*>;
  const SearchWords wanted(words);
  HelpHits hits;
  if (wanted.is_empty()) return hits;
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
    if (!is_listed && wanted.are_in(help_page(command->name).words)) hits.pages.push_back(command);
  }
  return hits;
}

}  // namespace ib::tools
