// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The table half of OptionSet: what options there are and what each does with its value. command_line.cpp parses.
#include "tools/frame/options.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>

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

/// "--timeout" out of "-t --timeout": how messages name the option.
std::string display_name(std::string_view what) {
  if (const std::size_t at = what.find("--"); at != std::string_view::npos) what.remove_prefix(at);
  return std::string(what.substr(0, what.find(' ')));
}

}  // namespace

std::string Spelling::all() const {
  if (!instead.empty()) return std::string(instead);
  std::string result = letter != 0 ? fmt::format("-{} --{}", letter, name) : fmt::format("--{}", name);
  if (!others.empty()) result += fmt::format(" {}", others);
  return result;
}

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

void OptionSet::flag(std::string_view names, bool& target, std::string_view help) {
  action(names, help, [&target] { target = true; });
}

void OptionSet::key(std::string_view names, std::uint64_t& target, std::string_view metavar, std::string_view help) {
  const std::string what(display_name(names));
  value(names, metavar, help, [this, &target, what, name = std::string(metavar)](std::string_view text) {
    std::optional<std::uint64_t> number = parse_number(text);
    if (!number && key_prompt_) number = key_prompt_(name);
    if (!number) throw OptionError(fmt::format("{}: not an unsigned integer of 64 bits", what));
    target = *number;
  });
}

void OptionSet::count(std::string_view names, int& target, std::string_view help) {
  action(names, help, [&target] { ++target; });
}

void OptionSet::text(std::string_view names, std::optional<std::string>& target, std::string_view metavar, std::string_view help) {
  value(names, metavar, help, [&target, is_file = metavar == "FILE", what = display_name(names)](std::string_view text) {
    if (is_file && text.empty()) throw OptionError(fmt::format("{}: the name of the file is empty", what));
    target = text;
  });
}

void OptionSet::choice(std::string_view names, std::optional<std::string>& target, std::vector<std::string> choices,
                       std::string_view help) {
  choice(names, std::move(choices), help, [&target](const std::string& chosen) { target = chosen; });
}

void OptionSet::choice(std::string_view names, std::vector<std::string> choices, std::string_view help,
                       std::function<void(const std::string&)> set) {
  const std::string metavar = fmt::format("{{{}}}", fmt::join(choices, "|"));
  const auto choose = [choices, what = display_name(names), set = std::move(set)](std::string_view text) {
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
  value(names, metavar, help, choose);
  offer(std::move(choices));
}

void OptionSet::offer(OfferedWords words) { (operand_is_last_ ? operands_.back().offered : options_.back().offered) = std::move(words); }

void OptionSet::value(std::string_view names, std::string_view metavar, std::string_view help, std::function<void(std::string_view)> set) {
  Option& option = add(names, metavar, help);
  option.has_value = true;
  option.set = std::move(set);
}

void OptionSet::optional_value(std::string_view names, std::string_view metavar, std::string_view help,
                               std::function<void(std::string_view)> set) {
  Option& option = add(names, metavar, help);
  option.value_optional = true;
  option.set = std::move(set);
}

void OptionSet::action(std::string_view names, std::string_view help, std::function<void()> set) {
  add(names, {}, help).set = [set = std::move(set)](std::string_view) { set(); };
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

bool OptionSet::taken(char letter) const {
  return std::any_of(options_.begin(), options_.end(), [&](const Option& o) { return o.letter == letter; });
}

bool OptionSet::taken(std::string_view name) const {
  // A further spelling is also left out if it would hide an abbreviation of one of the command's own options.
  return std::any_of(options_.begin(), options_.end(), [&](const Option& o) {
    return std::any_of(o.names.begin(), o.names.end(), [&](const std::string& n) {
      return n == name || (!o.common && n.starts_with(name) && std::islower(static_cast<unsigned char>(name[0])));
    });
  });
}

Option& OptionSet::add(std::string_view names, std::string_view metavar, std::string_view help) {
  Option option;
  for (const std::string& word : split_words(names)) {
    const bool is_long = word.starts_with("--");
    if (common_ && (is_long ? taken(std::string_view(word).substr(2)) : taken(word.at(1)))) continue;
    if (is_long) {
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
