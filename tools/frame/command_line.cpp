// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// OptionSet::parse(): CLI11 2.1.2 reads the words. The only file that includes it, since that takes seconds to compile. What
// CLI11 lacks of getopt_long's habits is here, each with its reason. Values, ranges and contradictions are checked when options act, not by
// CLI11's validators and excludes(): --help and --config act before that, and operands have the same ranges and complaints.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <utility>

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

/// Makes CLI11's step for one word callable. A word can be classified as option or value only after all words before it were parsed.
struct Parser : CLI::App {
  using App::_parse_single;
};

}  // namespace

// CLI11 compares whole names only (App.hpp:2715), and tells of no near ones.
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

// CLI11 takes the next word if the value behind `--name=` is empty (App.hpp:2776), and a flag's value if it is "true" (Option.hpp:956).
void OptionSet::spell_out(std::vector<std::string>& words) const {
  const std::string word = std::move(words.back());
  words.pop_back();
  const std::size_t equals = std::min(word.find('='), word.size());
  const Option& option = find_long(std::string_view(word).substr(2, equals - 2));
  const std::string name = "--" + option.names.front();
  if (equals < word.size() && !option.has_value && !option.value_optional)
    throw OptionError(fmt::format("option '{}' doesn't allow an argument", name));
  if (equals == word.size() || option.value_optional) return words.push_back(name + word.substr(equals));
  words.push_back(word.substr(equals + 1));
  words.push_back(name);
}

// Not for parse(): for words before the name of a command, and for lines that a shell completes. CLI11 parses whole lines only.
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
  Parser parser;
  parser.set_help_flag();
  std::vector<std::pair<Option*, std::string>> given;
  for (Option& option : options_) {
    const auto set_later = [&given, &option](const CLI::results_t& values) {
      given.emplace_back(&option, values.front());
      return option.given = true;
    };
    parser.add_option(cli_names(option), set_later)->expected(option.has_value ? 1 : 0)->trigger_on_parse();
  }

  std::vector<std::string> words(args.rbegin(), args.rend());  // CLI11 takes its words last one first
  bool literal = false;                                        // after `--`
  char unknown = 0;                                            // CLI11 takes unknown options for operands
  for (std::size_t left = 0; !words.empty();) {
    const std::string& word = words.back();
    const bool in_bundle = words.size() == left;  // CLI11 has put the rest of a bundle back, with a '-' before it
    if (!literal && word.size() > 1 && word[0] == '-' && (word[1] < '0' || word[1] > '9')) {
      if (word[1] != '-' || in_bundle) {
        if (unknown == 0 && !taken(word[1])) unknown = word[1];
      } else if (word != "--") {
        spell_out(words);
      }
    }
    left = words.size();
    try {
      parser._parse_single(words, literal);
    } catch (const CLI::ArgumentMismatch&) {  // the last word lacks its value
      throw OptionError(fmt::format("option '{}' requires an argument", args.back()));
    }
  }
  if (unknown != 0) throw OptionError(fmt::format("invalid option -- '{}'", unknown));

  std::ranges::stable_partition(given, [](const auto& one) { return one.first->early; });
  for (const auto& [option, value] : given) option->set(!option->has_value && value == "true" ? "" : value);  // CLI11's word for a flag
  std::vector<std::string> operands = parser.remaining();
  if (literal) operands.erase(std::ranges::find(operands, "--"));
  return operands;
}

}  // namespace ib::tools
