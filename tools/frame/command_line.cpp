// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// OptionSet::parse(): CLI11 reads the words, and this file gives it the habits of getopt_long that it lacks
// (abbreviated long names, `--`, no value for a flag). The only file that includes CLI11, which takes seconds to compile.
#include <fmt/format.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <map>

#include "base/nearest.hpp"
#include "tools/frame/options.hpp"

namespace ib::tools {
namespace {

std::string cli_names(const Option& option) {
  std::string names;
  if (option.letter != 0) names = fmt::format("-{}", option.letter);
  for (const std::string& name : option.names) names += fmt::format("{}--{}", names.empty() ? "" : ",", name);
  return names;
}

}  // namespace

const Option& OptionSet::find_long(std::string_view name) const {
  std::vector<const Option*> found;
  std::vector<std::string> spellings;
  for (const Option& option : options_) {
    for (const std::string& n : option.names) {
      if (n == name) return option;
      if (!n.starts_with(name)) continue;
      if (found.empty() || found.back() != &option) found.push_back(&option);
      spellings.push_back(fmt::format("'--{}'", n));
    }
  }
  if (found.empty()) {
    std::vector<std::string_view> names;
    for (const Option& option : options_) names.insert(names.end(), option.names.begin(), option.names.end());
    const std::string_view meant = nearest(name, names);
    throw OptionError(fmt::format("unrecognized option '--{}'{}", name, meant.empty() ? "" : fmt::format(": did you mean --{}?", meant)));
  }
  if (found.size() > 1) throw OptionError(fmt::format("option '--{}' is ambiguous; possibilities: {}", name, fmt::join(spellings, " ")));
  return *found.front();
}

std::string OptionSet::unabbreviated(const std::string& word) const {
  const std::size_t equals = std::min(word.find('='), word.size());
  const Option& option = find_long(std::string_view(word).substr(2, equals - 2));
  if (equals < word.size() && !option.has_value && !option.value_optional)
    throw OptionError(fmt::format("option '--{}' doesn't allow an argument", option.names.front()));
  return "--" + option.names.front() + word.substr(equals);
}

const Option* OptionSet::takes_next(const std::string& word) const {
  if (word.starts_with("--")) {
    const Option* const option = word.find('=') == std::string::npos ? &find_long(std::string_view(word).substr(2)) : nullptr;
    return option != nullptr && option->has_value ? option : nullptr;
  }
  for (std::size_t i = 1; i < word.size(); ++i) {
    const auto option = std::find_if(options_.begin(), options_.end(), [&](const Option& o) { return o.letter == word[i]; });
    if (option != options_.end() && option->has_value) return i + 1 == word.size() ? &*option : nullptr;
  }
  return nullptr;
}

std::vector<std::string> OptionSet::parse(std::span<const std::string> args) {
  // CLI11 takes its words last one first.
  std::vector<std::string> words, literal;
  for (std::size_t i = 0; i < args.size(); ++i) {
    if (args[i] == "--") {
      literal.assign(args.begin() + static_cast<std::ptrdiff_t>(i) + 1, args.end());
      break;
    }
    const bool option = args[i].size() > 1 && args[i][0] == '-';
    words.push_back(option && args[i][1] == '-' ? unabbreviated(args[i]) : args[i]);
    if (const std::size_t equals = words.back().find('='); option && equals != std::string::npos && words.back()[1] == '-') {
      if (find_long(std::string_view(words.back()).substr(2, equals - 2)).has_value) {  // as two words: the value may be empty
        std::string value = words.back().substr(equals + 1);
        words.back().resize(equals);
        words.push_back(std::move(value));
        continue;
      }
    }
    if (!option || takes_next(words.back()) == nullptr) continue;
    if (++i == args.size()) throw OptionError(fmt::format("option '{}' requires an argument", args[i - 1]));
    words.push_back(args[i]);
  }
  std::reverse(words.begin(), words.end());

  CLI::App app;
  app.set_help_flag();
  app.allow_extras();
  std::map<const CLI::Option*, Option*> by_cli;
  for (Option& option : options_) {
    CLI::Option* added = app.add_option(cli_names(option), [](const CLI::results_t&) { return true; });
    added->expected(option.has_value ? 1 : 0)->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
    by_cli[added] = &option;
  }
  try {
    app.parse(std::move(words));
  } catch (const CLI::ParseError& error) {
    throw OptionError(error.what());
  }

  std::vector<std::string> operands = app.remaining();
  for (const std::string& word : operands) {
    if (word.size() > 1 && word[0] == '-' && (word[1] < '0' || word[1] > '9'))
      throw OptionError(fmt::format("invalid option -- '{}'", word[1]));
  }
  operands.insert(operands.end(), literal.begin(), literal.end());
  for (const bool early : {true, false}) {
    std::map<const CLI::Option*, std::size_t> seen;
    for (const CLI::Option* given : app.parse_order()) {
      Option& option = *by_cli.at(given);
      option.given = true;
      const std::size_t occurrence = seen[given]++;
      if (option.early != early) continue;
      const std::string& value = given->results().at(occurrence);
      option.set(!option.has_value && value == "true" ? "" : value);  // CLI11's word for a flag without a value
    }
  }
  return operands;
}

}  // namespace ib::tools
