// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The scanner follows getopt_long with permutation, and its messages are getopt's, so that fingers that know
// infiniband-diags find what they expect.
#include "tools/options.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "iba/text.hpp"

namespace ib::tools {
namespace {

std::vector<std::string> words(std::string_view text) {
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

bool same_letters(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](unsigned char x, unsigned char y) { return std::tolower(x) == std::tolower(y); });
}

}  // namespace

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

std::uint64_t parse_unsigned(std::string_view text, std::string_view what, std::uint64_t high) {
  const std::optional<std::uint64_t> value = parse_number(text);
  if (!value) throw OptionError(fmt::format("{}: '{}' is not an unsigned integer of 64 bits", display_name(what), text));
  if (*value > high) throw OptionError(fmt::format("{}: {} is more than {}", display_name(what), text, high));
  return *value;
}

void OptionSet::flag(std::string_view names, bool& target, std::string_view help) {
  action(names, help, [&target] { target = true; });
}

void OptionSet::count(std::string_view names, int& target, std::string_view help) {
  action(names, help, [&target] { ++target; });
}

void OptionSet::text(std::string_view names, std::string& target, std::string_view metavar, std::string_view help) {
  value(names, metavar, help, [&target](std::string_view text) { target = text; });
}

void OptionSet::text(std::string_view names, std::optional<std::string>& target, std::string_view metavar, std::string_view help) {
  value(names, metavar, help, [&target](std::string_view text) { target = text; });
}

void OptionSet::choice(std::string_view names, std::optional<std::string>& target, std::vector<std::string> choices, std::string_view help) {
  const std::string metavar = fmt::format("{{{}}}", fmt::join(choices, "|"));
  value(names, metavar, help, [&target, choices = std::move(choices), what = display_name(names)](std::string_view text) {
    const std::string* found = nullptr;
    for (const std::string& c : choices) {
      if (text.empty() || !same_letters(std::string_view(c).substr(0, text.size()), text)) continue;
      if (found != nullptr && c.size() != text.size()) throw OptionError(fmt::format("{}: '{}' is ambiguous", what, text));
      found = &c;
    }
    if (found == nullptr) throw OptionError(fmt::format("option {}: invalid choice: '{}' (choose from '{}')", what, text, fmt::join(choices, "', '")));
    target = *found;
  });
}

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

void OptionSet::usage(std::string_view operands, std::size_t least, std::size_t most) {
  operands_ = operands;
  least_ = least;
  most_ = most;
}

bool OptionSet::taken(char letter) const {
  return std::any_of(options_.begin(), options_.end(), [&](const Option& o) { return o.letter == letter; });
}

bool OptionSet::taken(std::string_view name) const {
  // A further spelling that would hide an abbreviation of one of the command's own options is taken as well.
  return std::any_of(options_.begin(), options_.end(), [&](const Option& o) {
    return std::any_of(o.names.begin(), o.names.end(), [&](const std::string& n) { return n == name || (!o.common && n.starts_with(name) && std::islower(static_cast<unsigned char>(name[0]))); });
  });
}

Option& OptionSet::add(std::string_view names, std::string_view metavar, std::string_view help) {
  Option option;
  for (const std::string& word : words(names)) {
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
  return options_.back();
}

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
  if (found.empty()) throw OptionError(fmt::format("unrecognized option '--{}'", name));
  if (found.size() > 1) throw OptionError(fmt::format("option '--{}' is ambiguous; possibilities: {}", name, fmt::join(spellings, " ")));
  return *found.front();
}

bool OptionSet::looks_negative(std::string_view word) const {
  return word.size() > 1 && std::isdigit(static_cast<unsigned char>(word[1])) != 0 && !taken(word[1]);
}

std::size_t OptionSet::scan_letters(std::span<const std::string> args, std::size_t at) {
  const std::string_view word = args[at];
  for (std::size_t i = 1; i < word.size(); ++i) {
    const auto option = std::find_if(options_.begin(), options_.end(), [&](const Option& o) { return o.letter == word[i]; });
    if (option == options_.end()) throw OptionError(fmt::format("invalid option -- '{}'", word[i]));
    if (!option->has_value) {
      given_.push_back({&*option, {}});
    } else if (i + 1 < word.size()) {
      given_.push_back({&*option, std::string(word.substr(i + 1))});
      return at;
    } else if (at + 1 < args.size()) {
      given_.push_back({&*option, args[at + 1]});
      return at + 1;
    } else {
      throw OptionError(fmt::format("option requires an argument -- '{}'", word[i]));
    }
  }
  return at;
}

std::size_t OptionSet::scan_long(std::span<const std::string> args, std::size_t at) {
  const std::string_view word = std::string_view(args[at]).substr(2);
  const std::size_t equals = word.find('=');
  const Option& option = find_long(word.substr(0, equals));
  const std::string_view name = option.names.front();
  if (equals != std::string_view::npos) {
    if (!option.has_value && !option.value_optional) throw OptionError(fmt::format("option '--{}' doesn't allow an argument", name));
    given_.push_back({&option, std::string(word.substr(equals + 1))});
    return at;
  }
  if (!option.has_value) {
    given_.push_back({&option, {}});
    return at;
  }
  if (at + 1 >= args.size()) throw OptionError(fmt::format("option '--{}' requires an argument", name));
  given_.push_back({&option, args[at + 1]});
  return at + 1;
}

std::vector<std::string> OptionSet::parse(std::span<const std::string> args) {
  std::vector<std::string> operands;
  given_.clear();
  for (std::size_t i = 0; i < args.size(); ++i) {
    const std::string& word = args[i];
    if (word == "--") {
      operands.insert(operands.end(), args.begin() + static_cast<std::ptrdiff_t>(i) + 1, args.end());
      break;
    }
    if (word.size() < 2 || word[0] != '-' || looks_negative(word)) {
      operands.push_back(word);
    } else {
      i = word[1] == '-' ? scan_long(args, i) : scan_letters(args, i);
    }
  }
  for (const bool early : {true, false}) {
    for (const Given& g : given_) {
      if (g.option->early == early) g.option->set(g.value);
    }
  }
  return operands;
}

}  // namespace ib::tools
