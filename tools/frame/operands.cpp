// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The operands of a command. Each is bound to a member of the command, in their order, so that missing, extra and wrong
// operands are reported in one place.
#include <fmt/format.h>

#include <algorithm>

#include "base/escape.hpp"
#include "path/parse.hpp"
#include "tools/frame/options.hpp"

namespace ib::tools {
namespace {

/// "A", "A and B", "A, B and C".
std::string listed(const std::vector<std::string>& names) {
  std::string text;
  for (std::size_t i = 0; i < names.size(); ++i) text += (i == 0 ? "" : i + 1 == names.size() ? " and " : ", ") + names[i];
  return text;
}

/// A target with a @ in it that no port follows: a name may have one.
std::optional<TargetPort> read_whole(std::string_view word, const TargetReader& read) {
  try {
    return TargetPort{{std::string(word), read(word)}, std::nullopt};
  } catch (const UsageError&) {
    return std::nullopt;
  }
}

TargetPort read_target_port(std::string_view word, const TargetReader& read) {
  TargetPort got;
  const std::size_t at = word.rfind('@');
  if (at != std::string_view::npos) {
    try {
      got.port = parse_within<std::uint8_t>(word.substr(at + 1), "PORT", {0, 254});
    } catch (const UsageError&) {
      if (const auto named = read_whole(word, read)) return *named;
      throw;
    }
  }
  got.target.word = word.substr(0, at);
  got.target.path = read(got.target.text());
  return got;
}

[[noreturn]] void refuse_together(std::string_view one, std::string_view other) {
  throw UsageError(fmt::format("{} and {} contradict each other", one, other));
}

}  // namespace

Operand& OptionSet::add_operand(std::string_view name) {
  Operand& operand = operands_.emplace_back();
  operand.name = name;
  operand.required = operands_required_;
  operand_is_last_ = true;
  return operand;
}

void OptionSet::operand(std::string_view name, std::function<void(std::string_view)> set) {
  add_operand(name).set = [set = std::move(set)](std::string_view word, const TargetReader&) { set(word); };
}

void OptionSet::word(std::string_view name, std::string& to) {
  operand(name, [&to](std::string_view word) { to = word; });
}

void OptionSet::word(std::string_view name, std::optional<std::string>& to) {
  operand(name, [&to](std::string_view word) { to = word; });
}

void OptionSet::words(std::string_view name, std::vector<std::string>& to) {
  operand(name, [&to](std::string_view word) { to.emplace_back(word); });
  operands_.back().repeated = true;
}

void OptionSet::target(std::string_view name, Target& to) {
  Operand& operand = add_operand(name);
  operand.is_target = true;
  operand.set = [&to](std::string_view word, const TargetReader& read) {
    to.word = word;
    to.path = read(word);
  };
}

void OptionSet::target_port(std::string_view name, Target& to, std::optional<std::uint8_t>& port) {
  Operand& operand = add_operand(name);
  operand.is_target = true;
  operand.set = [&to, &port](std::string_view word, const TargetReader& read) {
    TargetPort got = read_target_port(word, read);
    to = std::move(got.target);
    if (got.port) port = got.port;
  };
}

void OptionSet::target_ports(std::string_view name, std::vector<TargetPort>& to) {
  Operand& operand = add_operand(name);
  operand.is_target = operand.repeated = true;
  operand.set = [&to](std::string_view word, const TargetReader& read) { to.push_back(read_target_port(word, read)); };
}

std::function<void(subnet::Subnet&)> OptionSet::stored_fabric_reader() const {
  if (stored_file_ == nullptr || !*stored_file_) return {};
  return [read = read_stored_, file = **stored_file_](subnet::Subnet& subnet) { read(file, subnet); };
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

void OptionSet::bind(const std::vector<std::string>& words, bool combined, const TargetReader& read_target) const {
  check_combinations();
  const bool none_expected = !instead_of_operands_.empty() && is_given(instead_of_operands_);
  if (none_expected && !words.empty()) refuse_together(instead_of_operands_, operands_.front().name);
  std::size_t at = 0;
  std::vector<std::string> missing;
  for (const Operand& operand : operands_) {
    do {
      const std::size_t first = at;
      std::string word = at < words.size() ? words[at] : "";
      if (at++ >= words.size()) {
        if (operand.required && (!operand.repeated || first == words.size())) missing.push_back(operand.name);
        break;
      }
      if (operand.is_target && combined) {
        if (at == words.size()) {
          missing.push_back(operand.name + "'s route");
          break;
        }
        word += " " + words[at++];
      }
      try {
        operand.set(word, read_target);
      } catch (const UsageError& e) {
        throw UsageError(
            fmt::format("Invalid command line argument #{} {} - {}", first + 1, quoted(path::without_secrets(word)), e.message()));
      }
    } while (operand.repeated && at < words.size());
  }
  if (!missing.empty() && !none_expected)
    throw MissingOperands(fmt::format("Too few arguments: {} {} missing", listed(missing), missing.size() == 1 ? "is" : "are"));
  if (at < words.size()) {
    throw UsageError(operands_.empty() ? fmt::format("Too many arguments: {} is one, and none is expected", quoted(words[0]))
                                       : fmt::format("Too many arguments, expected no more than {}.", at));
  }
}

}  // namespace ib::tools
