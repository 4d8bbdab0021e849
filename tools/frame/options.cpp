// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// OptionSet: what options and operands there are and what each does with its value, so that missing, extra and wrong words are reported in
// one place. command_line.cpp parses.
#include "tools/frame/options.hpp"

#include <fmt/format.h>

#include <cctype>
#include <cstdlib>

#include "base/escape.hpp"
#include "base/split.hpp"
#include "iba/text.hpp"
#include "path/parse.hpp"
#include "subnet/model/name_search.hpp"

namespace ib::tools {
namespace {

std::vector<std::string> split_words(std::string_view text) {
  const std::vector<std::string_view> words = split_list(text, " ");
  return {words.begin(), words.end()};
}

/// The spellings by a legacy name: the letter, and one long name at most, or none.
std::vector<std::string> diags_spellings(const Spelling& spelling, bool has_long) {
  std::vector<std::string> words = split_words(spelling.diags.empty() ? spelling.names : spelling.diags);
  std::erase_if(words, [&has_long](const std::string& word) { return word.starts_with("--") && !std::exchange(has_long, false); });
  return words;
}

/// "A", "A and B", "A, B and C".
std::string listed(const std::vector<std::string>& names) {
  std::string text;
  for (std::size_t i = 0; i < names.size(); ++i) text += (i == 0 ? "" : i + 1 == names.size() ? " and " : ", ") + names[i];
  return text;
}

void read_target_port(TargetPort& to, std::string_view word, const TargetReader& reader, std::function<void(NamedPath)> found) {
  std::size_t at = word.rfind('@');
  if (const subnet::NodePort parts = subnet::split_port(word); at == std::string_view::npos && !parts.port.empty()) at = parts.node.size();
  NamedTarget target{.word = std::string(word), .found = std::move(found)};
  if (at != std::string_view::npos) {
    try {
      to.port = parse_within<std::uint8_t>(word.substr(at + 1), "PORT", {0, path::last_port});
      target.word.resize(at);
    } catch (const OptionError& error) {  // a name may have a @ in it that no port follows
      target.complaint = error.message();
    }
  }
  to.target.word = target.word;
  reader(std::move(target));
}

/// Splits the word of a target at `at`, NODE/PORT, in two where the operand behind it is the port and is not given.
void split_target(std::vector<std::string>& words, std::size_t at, const Operand& next) {
  if (!next.is_port) return;
  const subnet::NodePort parts = subnet::split_port(words[at]);
  if (parts.port.empty() || (at + 1 < words.size() && parse_number(words[at + 1])) || !next.is_port()) return;
  const std::string node(parts.node), port(parts.port);
  words[at] = node;
  words.insert(words.begin() + static_cast<std::ptrdiff_t>(at) + 1, port);
}

[[noreturn]] void refuse_together(std::string_view one, std::string_view other) {
  throw UsageError(fmt::format("{} and {} contradict each other", one, other));
}

}  // namespace

std::vector<std::string> Option::spellings() const {
  std::vector<std::string> all;
  if (letter != 0) all.push_back({'-', letter});
  for (const std::string& name : names) all.push_back("--" + name);
  return all;
}

std::string display_name(std::string_view what) {
  if (const std::size_t at = what.find("--"); at != std::string_view::npos) what.remove_prefix(at);
  return std::string(what.substr(0, what.find(' ')));
}

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
  const std::string metavar = fmt::format("{{{}}}", joined(choices, "|"));
  const auto choose = [choices, what = display_name(spelling.names), set = std::move(set)](const std::string& text) {
    const std::string* found = nullptr;
    for (const std::string& c : choices) {
      if (text.empty() || !equal_ignoring_case(std::string_view(c).substr(0, text.size()), text)) continue;
      if (found != nullptr && found->size() == text.size()) continue;  // it is that word, which another one begins with
      if (found != nullptr && c.size() != text.size()) throw OptionError(fmt::format("{}: '{}' is ambiguous", what, text));
      found = &c;
    }
    if (found == nullptr)
      throw OptionError(fmt::format("option {}: invalid choice: '{}' (choose from '{}')", what, text, joined(choices, "', '")));
    set(*found);
  };
  value(spelling, metavar, help, choose);
  offer(std::move(choices));
}

void OptionSet::offer(OfferedWords words) { (operand_is_last_ ? operands_.back().offered : last_option_->offered) = std::move(words); }

void OptionSet::value(const Spelling& spelling, std::string_view metavar, std::string_view help,
                      std::function<void(const std::string&)> set) {
  Option& option = add(spelling, metavar, help);
  option.has_value = true;
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
  return std::ranges::any_of(options_, [&](const Option& option) {
    return option.given && (name.starts_with("--") ? option.has_name(name.substr(2)) : option.letter == name.at(1));
  });
}

std::vector<std::pair<const Option*, std::string_view>> OptionSet::meant(std::string_view name) const {
  std::vector<std::pair<const Option*, std::string_view>> fits;
  for (const Option& option : options_) {
    for (const std::string& full : option.names) {
      if (full == name) return {{&option, full}};
      if (full.starts_with(name)) fits.emplace_back(&option, full);
    }
  }
  return fits;
}

bool OptionSet::taken(std::string_view word) const {
  if (!word.starts_with("--"))
    return without_.find(word[1]) != std::string::npos || std::ranges::find(options_, word[1], &Option::letter) != options_.end();
  // A further spelling is also left out if it would hide an abbreviation of one of the command's own options.
  const std::string_view name = word.substr(2);
  return std::ranges::any_of(options_, [&](const Option& option) {
    const bool hides = !option.common && std::islower(static_cast<unsigned char>(name[0])) != 0;
    return std::ranges::any_of(option.names, [&](const std::string& own) { return own == name || (hides && own.starts_with(name)); });
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
  operand_is_last_ = false;
  const bool is_hidden = option.letter == 0 && option.names.empty();
  last_option_ = &(is_hidden ? hidden_ : options_.emplace_back());
  return *last_option_ = std::move(option);
}

Operand& OptionSet::add_operand(std::string_view name) {
  Operand& operand = operands_.emplace_back();
  operand.name = name;
  operand.required = operands_required_;
  operand_is_last_ = true;
  return operand;
}

void OptionSet::operand(std::string_view name, std::function<void(const std::string&)> set) {
  add_operand(name).set = [set = std::move(set)](const std::string& word, const TargetReader&) { set(word); };
}

void OptionSet::words(std::string_view name, std::vector<std::string>& to) {
  operand(name, [&to](const std::string& word) { to.push_back(word); });
  operands_.back().repeated = true;
}

void OptionSet::target(std::string_view name, Target& to, bool takes_several) {
  Operand& operand = add_operand(name);
  operand.is_target = true;
  operand.set = [&to, takes_several](const std::string& word, const TargetReader& reader) {
    to.word = word;
    reader({.word = word, .takes_several = takes_several, .found = [&to](NamedPath found) {
              to.path = std::move(found.path);
              to.word = std::move(found.name);
            }});
  };
}

void OptionSet::target_ports(std::string_view name, std::vector<TargetPort>& to, bool takes_patterns) {
  Operand& operand = add_operand(name);
  operand.is_target = operand.repeated = true;
  operand.set = [&to, takes_patterns](const std::string& word, const TargetReader& reader) {
    const std::size_t index = to.size();
    TargetPort& added = to.emplace_back();
    const subnet::NodePort parts = subnet::split_port(word);
    if (!takes_patterns || !subnet::NameWord(std::string(parts.node)).is_pattern())
      return read_target_port(added, word, reader, [&to, index](NamedPath found) { to[index].target.path = std::move(found.path); });
    added.target.word = parts.node;
    if (!parts.port.empty()) added.port = parse_within<std::uint8_t>(parts.port, "PORT", {0, path::last_port});
  };
}

void OptionSet::check_combinations() const {
  for (const OneOf& one_of : one_of_) {
    std::string first;
    std::vector<std::string> all;
    for (const std::vector<std::string>& together : one_of.options) {
      const auto given = std::find_if(together.begin(), together.end(), [this](const std::string& name) { return is_given(name); });
      if (given != together.end() && !first.empty()) refuse_together(first, *given);
      if (given != together.end()) first = *given;
      all.insert(all.end(), together.begin(), together.end());
    }
    if (one_of.required && first.empty()) throw MissingOperands(fmt::format("One of {} is needed", listed(all)));
  }
}

std::string OptionSet::operand_line() const {
  std::string line;
  if (!instead_of_operands_.empty()) line = instead_of_operands_ + " |";
  for (const Operand& operand : operands_) {
    line += line.empty() ? "" : " ";
    line += operand.required ? operand.name : "[" + operand.name + "]";
    if (operand.repeated) line += "...";
  }
  return line;
}

void OptionSet::bind(const std::vector<std::string>& given, bool combined, const TargetReader& read_target) const {
  check_combinations();
  std::vector<std::string> words = given;
  const bool none_expected = !instead_of_operands_.empty() && is_given(instead_of_operands_);
  if (none_expected && !words.empty()) refuse_together(instead_of_operands_, operands_.front().name);
  std::size_t at = 0;
  std::vector<std::string> missing;
  for (const Operand& operand : operands_) {
    if (at >= words.size()) {
      if (operand.required && (!operand.repeated || at == words.size())) missing.push_back(operand.name);
      ++at;
      continue;
    }
    const Operand* const next = &operand != &operands_.back() ? &operand + 1 : nullptr;
    if (operand.is_target && !combined && next != nullptr) split_target(words, at, *next);
    do {
      const std::size_t first = at;
      std::string word = words[at++];
      if (operand.is_target && combined) {
        if (at == words.size()) {
          missing.push_back(operand.name + "'s route");
          break;
        }
        word += " " + words[at++];
      }
      const std::string argument =
          fmt::format("Invalid command line argument #{} {} - ", first + 1, in_quotes(path::without_secrets(word)));
      const bool is_alone = next != nullptr && next->is_target && at == words.size();
      const auto reader = [&](NamedTarget target) {
        target.argument = argument;
        target.is_alone = is_alone;
        read_target(std::move(target));
      };
      try {
        operand.set(word, reader);
      } catch (const UsageError& e) {
        throw UsageError(argument + e.message());
      }
    } while (operand.repeated && at < words.size());
  }
  if (!missing.empty() && !none_expected)
    throw MissingOperands(fmt::format("Too few arguments: {} {} missing", listed(missing), missing.size() == 1 ? "is" : "are"));
  if (at < words.size() && operands_.empty())
    throw UsageError(fmt::format("Too many arguments: {} is one, and none is expected", in_quotes(words[0])));
  if (at < words.size()) throw MissingOperands(fmt::format("Too many arguments: {} is more than are expected", in_quotes(words[at])));
}

}  // namespace ib::tools
