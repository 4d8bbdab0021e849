// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The table half of OptionSet: what options there are and what each does with its value. command_line.cpp parses.
#include "tools/frame/options.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>

#include "base/letter_case.hpp"
#include "iba/text.hpp"

namespace ib::tools {
namespace {

std::vector<std::string> split_words(std::string_view text) {
  std::vector<std::string> result;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    if (end > 0) result.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return result;
}

/// The spellings by a legacy name: the letter, and one long name at most, or none.
std::vector<std::string> diags_spellings(const Spelling& spelling, bool has_long) {
  std::vector<std::string> words = split_words(spelling.diags.empty() ? spelling.names : spelling.diags);
  const auto is_long = [](const std::string& word) { return word.starts_with("--"); };
  const auto first = std::ranges::find_if(words, is_long);
  const auto others = first == words.end() || !has_long ? first : first + 1;
  words.erase(std::remove_if(others, words.end(), is_long), words.end());
  return words;
}

/// "--timeout" out of "-t --timeout": how messages name the option.
std::string display_name(std::string_view what) {
  if (const std::size_t at = what.find("--"); at != std::string_view::npos) what.remove_prefix(at);
  return std::string(what.substr(0, what.find(' ')));
}

}  // namespace

std::uint64_t c_number(const std::string& text) { return std::strtoull(text.c_str(), nullptr, 0); }

std::int64_t parse_integer(std::string_view text, std::string_view what, std::int64_t low, std::int64_t high) {
  const bool negative = text.starts_with('-');
  const std::optional<std::uint64_t> value = parse_number(negative ? text.substr(1) : text);
  if (!value) throw OptionError(fmt::format("{}: '{}' is not an integer", display_name(what), text));
  constexpr std::uint64_t limit = std::numeric_limits<std::int64_t>::max();
  const auto magnitude = static_cast<std::int64_t>(std::min(*value, limit));
  const std::int64_t number = negative ? -magnitude : magnitude;
  if (*value > limit || number < low || number > high)
    throw OptionError(fmt::format("{}: {} is not within {}…{}", display_name(what), text, low, high));
  return number;
}

std::uint64_t parse_unsigned(std::string_view text, std::string_view what, std::uint64_t low, std::uint64_t high) {
  const std::optional<std::uint64_t> value = parse_number(text);
  if (!value) throw OptionError(fmt::format("{}: '{}' is not an unsigned integer of 64 bits", display_name(what), text));
  if (*value < low || *value > high) throw OptionError(fmt::format("{}: {} is not within {}…{}", display_name(what), text, low, high));
  return *value;
}

void OptionSet::flag(const Spelling& spelling, bool& target, std::string_view help) {
  action(spelling, help, [&target] { target = true; });
}

void OptionSet::key(const Spelling& spelling, std::uint64_t& target, std::string_view metavar, std::string_view help) {
  const std::string what(display_name(spelling.names));
  value(spelling, metavar, help, [this, &target, what, name = std::string(metavar)](const std::string& text) {
    std::optional<std::uint64_t> number = parse_number(text);
    if (!number && key_prompt_) number = key_prompt_(name);
    if (!number) throw OptionError(fmt::format("{}: not an unsigned integer of 64 bits", what));
    target = *number;
  });
}

void OptionSet::count(const Spelling& spelling, int& target, std::string_view help) {
  action(spelling, help, [&target] { ++target; });
}

void OptionSet::text(const Spelling& spelling, std::optional<std::string>& target, std::string_view metavar, std::string_view help) {
  value(spelling, metavar, help,
        [&target, is_file = metavar == "FILE" && !is_diags(), what = display_name(spelling.names)](const std::string& text) {
          if (is_file && text.empty()) throw OptionError(fmt::format("{}: the name of the file is empty", what));
          target = text;
        });
}

void OptionSet::choice(const Spelling& spelling, std::optional<std::string>& target, std::vector<std::string> choices,
                       std::string_view help) {
  choice(spelling, std::move(choices), help, [&target](const std::string& chosen) { target = chosen; });
}

void OptionSet::choice(const Spelling& spelling, std::vector<std::string> choices, std::string_view help,
                       std::function<void(const std::string&)> set) {
  const std::string metavar = fmt::format("{{{}}}", fmt::join(choices, "|"));
  const auto choose = [choices, what = display_name(spelling.names), set = std::move(set)](const std::string& text) {
    const std::string* found = nullptr;
    for (const std::string& c : choices) {
      if (text.empty() || !equal_ignoring_case(std::string_view(c).substr(0, text.size()), text)) continue;
      if (found != nullptr && found->size() == text.size()) continue;  // it is that word, which another one begins with
      if (found != nullptr && c.size() != text.size()) throw OptionError(fmt::format("{}: '{}' is ambiguous", what, text));
      found = &c;
    }
    if (found == nullptr)
      throw OptionError(fmt::format("option {}: invalid choice: '{}' (choose from '{}')", what, text, fmt::join(choices, "', '")));
    set(*found);
  };
  value(spelling, metavar, help, choose);
  offer(std::move(choices));
}

void OptionSet::offer(OfferedWords words) { (operand_is_last_ ? operands_.back().offered : options_.back().offered) = std::move(words); }

void OptionSet::value(const Spelling& spelling, std::string_view metavar, std::string_view help,
                      std::function<void(const std::string&)> set) {
  Option& option = add(spelling, metavar, help);
  option.has_value = true;
  option.set = std::move(set);
}

void OptionSet::optional_value(const Spelling& spelling, std::string_view metavar, std::string_view help,
                               std::function<void(const std::string&)> set) {
  Option& option = add(spelling, metavar, help);
  option.value_optional = true;
  option.set = std::move(set);
}

void OptionSet::action(const Spelling& spelling, std::string_view help, std::function<void()> set) {
  add(spelling, {}, help).set = [set = std::move(set)](const std::string&) { set(); };
}

void OptionSet::one_of(std::vector<std::string_view> options, bool required) {
  OneOf& one_of = one_of_.emplace_back();
  for (const std::string_view together : options) one_of.options.push_back(split_words(together));
  one_of.required = required;
}

bool OptionSet::is_given(std::string_view name) const {
  const bool is_long = name.starts_with("--");
  return std::any_of(options_.begin(), options_.end(), [&](const Option& o) {
    return o.given && (is_long ? std::find(o.names.begin(), o.names.end(), name.substr(2)) != o.names.end() : o.letter == name.at(1));
  });
}

bool OptionSet::taken(std::string_view word) const {
  if (!word.starts_with("--"))
    return without_.find(word[1]) != std::string::npos || std::ranges::find(options_, word[1], &Option::letter) != options_.end();
  // A further spelling is also left out if it would hide an abbreviation of one of the command's own options.
  const std::string_view name = word.substr(2);
  return std::any_of(options_.begin(), options_.end(), [&](const Option& o) {
    return std::any_of(o.names.begin(), o.names.end(), [&](const std::string& n) {
      return n == name || (!o.common && n.starts_with(name) && std::islower(static_cast<unsigned char>(name[0])));
    });
  });
}

Option& OptionSet::add(const Spelling& spelling, std::string_view metavar, std::string_view help) {
  std::vector<std::string> words = is_diags() ? diags_spellings(spelling, !perl_) : split_words(spelling.names);
  const auto is_taken = [this](const std::string& word) { return common_ && taken(word); };
  if (is_diags() && std::ranges::any_of(words, is_taken)) words.clear();
  Option option;
  for (const std::string& word : words) {
    if (is_taken(word)) continue;
    if (word.starts_with("--")) {
      option.names.push_back(word.substr(2));
    } else {
      option.letter = word.at(1);
    }
  }
  option.metavar = metavar;
  option.help = help;
  option.common = common_;
  options_.push_back(std::move(option));
  operand_is_last_ = false;
  return options_.back();
}

}  // namespace ib::tools
