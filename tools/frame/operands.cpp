// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The operands of a command. Each is bound to a member of the command, in their order, so that missing, extra and wrong
// operands are reported in one place.
#include <fmt/format.h>

#include <algorithm>

#include "base/escape.hpp"
#include "iba/text.hpp"
#include "path/parse.hpp"
#include "tools/frame/name_match.hpp"
#include "tools/frame/options.hpp"

namespace ib::tools {
namespace {

/// "A", "A and B", "A, B and C".
std::string listed(const std::vector<std::string>& names) {
  std::string text;
  for (std::size_t i = 0; i < names.size(); ++i) text += (i == 0 ? "" : i + 1 == names.size() ? " and " : ", ") + names[i];
  return text;
}

/// The reader of a target into `to`.
std::function<void(NamedPath)> into(Target& to) {
  return [&to](NamedPath found) {
    to.path = std::move(found.path);
    to.word = std::move(found.name);
  };
}

void read_target_port(TargetPort& to, std::string_view word, const TargetReader& reader, std::function<void(NamedPath)> found) {
  std::size_t at = word.rfind('@');
  if (const NodePort parts = split_port(word); at == std::string_view::npos && !parts.port.empty()) at = parts.node.size();
  NamedTarget target{.word = std::string(word), .found = std::move(found)};
  if (at != std::string_view::npos) {
    const std::string_view text = word.substr(at + 1);
    const std::optional<std::uint64_t> port = parse_number(text);
    if (port && *port <= path::last_port) {
      to.port = static_cast<std::uint8_t>(*port);
      target.word.resize(at);
    } else {  // a name may have a @ in it that no port follows
      target.complaint =
          port ? fmt::format("PORT: {} is not within 0…{}", text, path::last_port) : fmt::format("PORT: '{}' is not an integer", text);
    }
  }
  to.target.word = target.word;
  reader.read(std::move(target));
}

/// Splits the word of a target at `at`, NODE/PORT, in two where the operand behind it is the port and is not given.
void split_target(std::vector<std::string>& words, std::size_t at, const Operand& next) {
  if (!next.is_port) return;
  const NodePort parts = split_port(words[at]);
  if (parts.port.empty() || (at + 1 < words.size() && parse_number(words[at + 1])) || !next.is_port()) return;
  const std::string node(parts.node), port(parts.port);
  words[at] = node;
  words.insert(words.begin() + static_cast<std::ptrdiff_t>(at) + 1, port);
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

void OptionSet::operand(std::string_view name, std::function<void(const std::string&)> set) {
  add_operand(name).set = [set = std::move(set)](const std::string& word, const TargetReader&) { set(word); };
}

void OptionSet::word(std::string_view name, std::string& to) {
  operand(name, [&to](const std::string& word) { to = word; });
}

void OptionSet::word(std::string_view name, std::optional<std::string>& to) {
  operand(name, [&to](const std::string& word) { to = word; });
}

void OptionSet::words(std::string_view name, std::vector<std::string>& to) {
  operand(name, [&to](const std::string& word) { to.push_back(word); });
  operands_.back().repeated = true;
}

void OptionSet::target(std::string_view name, Target& to) {
  Operand& operand = add_operand(name);
  operand.is_target = true;
  operand.set = [&to](const std::string& word, const TargetReader& reader) {
    to.word = word;
    reader.read({.word = word, .found = into(to)});
  };
}

void OptionSet::target_each(std::string_view name, Target& to) {
  target(name, to);
  operands_.back().set = [&to](const std::string& word, const TargetReader& reader) {
    to.word = word;
    reader.read({.word = word, .takes_several = true, .found = into(to)});
  };
}

void OptionSet::target_ports(std::string_view name, std::vector<TargetPort>& to) {
  Operand& operand = add_operand(name);
  operand.is_target = operand.repeated = true;
  operand.set = [&to](const std::string& word, const TargetReader& reader) {
    const std::size_t index = to.size();
    to.emplace_back();
    read_target_port(to.back(), word, reader, [&to, index](NamedPath found) { to[index].target.path = std::move(found.path); });
  };
}

void OptionSet::target_patterns(std::string_view name, std::vector<TargetPort>& to) {
  target_ports(name, to);
  operands_.back().set = [&to, set_one = operands_.back().set](const std::string& word, const TargetReader& reader) {
    const NodePort parts = split_port(word);
    if (!NameWord(std::string(parts.node)).is_pattern()) return set_one(word, reader);
    TargetPort& added = to.emplace_back();
    added.target.word = parts.node;
    if (!parts.port.empty()) added.port = parse_within<std::uint8_t>(parts.port, "PORT", {0, path::last_port});
  };
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

void OptionSet::bind(const std::vector<std::string>& given, bool combined, const TargetReader& read_target) const {
  check_combinations();
  std::vector<std::string> words = given;
  const bool none_expected = !instead_of_operands_.empty() && is_given(instead_of_operands_);
  if (none_expected && !words.empty()) refuse_together(instead_of_operands_, operands_.front().name);
  std::size_t at = 0;
  std::vector<std::string> missing;
  for (const Operand& operand : operands_) {
    const bool has_next = &operand != &operands_.back();
    if (operand.is_target && !combined && has_next && at < words.size()) split_target(words, at, (&operand)[1]);
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
      const std::string argument =
          fmt::format("Invalid command line argument #{} {} - ", first + 1, in_quotes(path::without_secrets(word)));
      const TargetReader reader{[&](NamedTarget target) {
        target.argument = argument;
        read_target.read(std::move(target));
      }};
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
