// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// OptionSet::parse(): one pass over the words gives them the form in which CLI11 (2.1.2 or later) reads them as getopt_long does, and finds
// all mistakes. The only file that includes CLI11, since that takes seconds to compile. Values, ranges and contradictions are checked when
// options act, not by CLI11's validators and excludes(): --help and --config act before that, and operands have the same ranges and
// complaints.
#include <fmt/format.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>

#include "base/nearest.hpp"
#include "base/parse.hpp"
#include "base/split.hpp"
#include "tools/frame/options.hpp"

namespace ib::tools {
namespace {

/// Appends the long option `word` to `words`, its name in full and its value, if it has one, as a word of its own: CLI11 takes the next
/// word if the value behind `--name=` is empty (App.hpp:2776), and accepts some values of flags. Throws OptionError.
void spell_out(const OptionSet& set, const std::string& word, std::vector<std::string>& words) {
  const std::size_t equals = std::min(word.find('='), word.size());
  const Option& option = set.find_long(std::string_view(word).substr(2, equals - 2));
  const bool has_value = equals < word.size();
  words.push_back("--" + option.names.front());
  if (has_value && !option.has_value && !option.value_optional)
    throw OptionError(fmt::format("option '{}' doesn't allow an argument", words.back()));
  if (has_value || option.value_optional) words.push_back(has_value ? word.substr(equals + 1) : "");
}

/// The words for CLI11. Throws OptionError for the first one that is wrong.
std::vector<std::string> spelled_out(const OptionSet& set, std::span<const std::string> args) {
  std::vector<std::string> words;
  for (std::size_t at = 0; at < args.size(); ++at) {
    const std::string& word = args[at];
    if (word == "--") {
      words.insert(words.end(), args.begin() + static_cast<std::ptrdiff_t>(at), args.end());
      break;
    }
    word.starts_with("--") ? spell_out(set, word, words) : words.push_back(word);
    if (!word.starts_with('-') || set.takes_next(word, true) == nullptr) continue;
    if (++at == args.size()) throw OptionError(fmt::format("option '{}' requires an argument", word));
    words.push_back(args[at]);
  }
  return words;
}

}  // namespace

// CLI11 compares whole names only (App.hpp:2715), and suggests no near ones.
const Option& OptionSet::find_long(std::string_view name) const {
  const auto fits = meant(name);
  if (fits.empty()) {
    std::vector<std::string_view> names;
    for (const Option& option : options_) names.insert(names.end(), option.names.begin(), option.names.end());
    const std::string_view meant = nearest(name, names);
    throw OptionError(fmt::format("unrecognized option '--{}'{}", name, meant.empty() ? "" : fmt::format(": did you mean --{}?", meant)));
  }
  std::string names;
  for (const auto& [option, full] : fits) names += fmt::format(" '--{}'", full);
  const bool are_one = fits.front().first == fits.back().first;
  if (!are_one) throw OptionError(fmt::format("option '--{}' is ambiguous; possibilities:{}", name, names));
  return *fits.front().first;
}

// CLI11 takes an unknown letter in a bundle for an operand, and a '-' at its end for "--".
const Option* OptionSet::takes_next(const std::string& word, bool all_known) const {
  if (word.starts_with("--")) {
    const Option* const option = word.find('=') == std::string::npos ? &find_long(std::string_view(word).substr(2)) : nullptr;
    return option != nullptr && option->has_value ? option : nullptr;
  }
  for (std::size_t at = 1; at < word.size(); ++at) {
    const Option* const option = find_letter(word[at]);
    if (option == nullptr && is_digit(word[at])) break;  // an operand begins here
    if (option == nullptr && all_known) throw OptionError(fmt::format("invalid option -- '{}'", word[at]));
    if (option != nullptr && option->has_value) return at + 1 == word.size() ? option : nullptr;
  }
  return nullptr;
}

std::vector<std::string> OptionSet::parse(std::span<const std::string> args) {
  const std::vector<std::string> words = spelled_out(*this, args);
  CLI::App parser;
  parser.set_help_flag();
  parser.allow_extras();  // the operands
  std::vector<std::pair<Option*, std::string>> given;
  for (Option& option : options_) {
    const bool has_value = option.has_value || option.value_optional;
    const auto set_later = [&given, &option, has_value](const CLI::results_t& values) {
      given.emplace_back(&option, has_value ? values.front() : "");
      return option.given = true;
    };
    parser.add_option(joined(option.spellings(), ","), set_later)->expected(has_value ? 1 : 0)->trigger_on_parse();
  }
  parser.parse(std::vector<std::string>(words.rbegin(), words.rend()));  // CLI11 takes its words last one first
  std::ranges::stable_partition(given, [](const auto& one) { return one.first->early; });
  for (const auto& [option, value] : given) option->set(value);
  std::vector<std::string> operands = parser.remaining();
  if (const auto end = std::ranges::find(operands, "--"); end != operands.end()) operands.erase(end);
  return operands;
}

}  // namespace ib::tools
