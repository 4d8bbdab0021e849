// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// OptionSet::parse(): the words of a command line, read as getopt_long reads them (see options.hpp).
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/nearest.hpp"
#include "tools/frame/options.hpp"

namespace ib::tools {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

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

bool OptionSet::takes_next(const std::string& word) const {
  if (word.starts_with("--")) return word.find('=') == std::string::npos && find_long(std::string_view(word).substr(2)).has_value;
  for (std::size_t i = 1; i < word.size(); ++i) {
    const Option* const option = find_letter(word[i]);
    if (option != nullptr && option->has_value) return i + 1 == word.size();
    if (option == nullptr && is_digit(word[i])) return false;  // an operand begins here
  }
  return false;
}

const Option* OptionSet::find_letter(char letter) const {
  const auto option = std::ranges::find(options_, letter, &Option::letter);
  return letter == 0 || option == options_.end() ? nullptr : &*option;
}

std::size_t OptionSet::read_letters(std::span<const std::string> words, std::vector<Given>& given, std::string& rest) const {
  const std::string& word = words.front();
  for (std::size_t i = 1; i < word.size(); ++i) {
    const Option* const option = find_letter(word[i]);
    if (option == nullptr) {
      if (!is_digit(word[i])) throw OptionError(fmt::format("invalid option -- '{}'", word[i]));
      rest = "-" + word.substr(i);
      return 1;
    }
    if (option->has_value) {
      const bool is_next = i + 1 == word.size();
      given.push_back({index_of(*option), is_next ? words[1] : word.substr(i + 1)});
      return is_next ? 2 : 1;
    }
    given.push_back({index_of(*option), ""});
  }
  return 1;
}

std::vector<std::string> OptionSet::read_words(std::span<const std::string> words, std::vector<Given>& given) const {
  std::vector<std::string> operands;
  while (!words.empty() && words.front() != "--") {
    const std::string& word = words.front();
    std::size_t taken = 1;
    if (word.size() < 2 || word[0] != '-') {
      operands.push_back(word);
    } else if (word[1] == '-') {
      const std::size_t equals = std::min(word.find('='), word.size());
      const Option& option = find_long(std::string_view(word).substr(2, equals - 2));
      const bool is_next = option.has_value && equals == word.size();
      given.push_back({index_of(option), is_next ? words[1] : word.substr(std::min(equals + 1, word.size()))});
      taken = is_next ? 2 : 1;
    } else {
      std::string rest;
      taken = read_letters(words, given, rest);
      if (!rest.empty()) operands.push_back(rest);
    }
    words = words.subspan(taken);
  }
  if (!words.empty()) operands.insert(operands.end(), words.begin() + 1, words.end());
  return operands;
}

void OptionSet::check_words(std::span<const std::string> words) const {
  for (std::size_t i = 0; i < words.size() && words[i] != "--"; ++i) {
    const std::string& word = words[i];
    if (word.size() < 2 || word[0] != '-') continue;
    if (word[1] == '-') {
      const std::size_t equals = word.find('=');
      const Option& option = find_long(std::string_view(word).substr(2, std::min(equals, word.size()) - 2));
      if (equals != std::string::npos && !option.has_value && !option.value_optional)
        throw OptionError(fmt::format("option '--{}' doesn't allow an argument", option.names.front()));
    }
    if (takes_next(word) && ++i == words.size()) throw OptionError(fmt::format("option '{}' requires an argument", word));
  }
}

std::vector<std::string> OptionSet::parse(std::span<const std::string> args) {
  check_words(args);
  std::vector<Given> given;
  std::vector<std::string> operands = read_words(args, given);
  for (const bool early : {true, false}) {
    for (const Given& one : given) {
      Option& option = options_[one.option];
      option.given = true;
      if (option.early == early) option.set(one.value);
    }
  }
  return operands;
}

}  // namespace ib::tools
