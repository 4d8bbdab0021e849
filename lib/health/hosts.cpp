// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "health/hosts.hpp"

#include <fmt/format.h>
#include <regex.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <utility>

#include "base/error.hpp"
#include "base/escape.hpp"
#include "base/parse.hpp"
#include "base/split.hpp"
#include "subnet/model/names.hpp"

namespace ib::health {
namespace {

constexpr std::size_t most_hosts = 1U << 17;  // more than a subnet has LIDs
constexpr std::string_view blanks = " \t\r\n";

/// A list is what stands between two separators that are not in brackets.
std::string_view take_word(std::string_view& text) {
  bool is_inside = false;
  std::size_t end = 0;
  for (; end < text.size(); ++end) {
    if (text[end] == '[') is_inside = true;
    if (text[end] == ']') is_inside = false;
    if (!is_inside && (text[end] == ',' || blanks.find(text[end]) != std::string_view::npos)) break;
  }
  const std::string_view word = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return word;
}

std::optional<unsigned> number_in(std::string_view text) {
  unsigned value = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (code != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

[[noreturn]] void refuse(std::string_view word, std::string_view why) {
  throw UsageError(fmt::format("{} is not a list of hosts: {}", in_quotes(word), why));
}

/// Calls use() with each number of "001-064,100", with as many digits as the first of a range has.
template <class Use>
void each_number(std::string_view ranges, std::string_view word, Use use) {
  for (const std::string_view range : split_list(ranges)) {
    const std::string_view first = range.substr(0, range.find('-'));
    const std::string_view last = first.size() == range.size() ? first : range.substr(first.size() + 1);
    const std::optional<unsigned> low = number_in(first), high = number_in(last);
    if (!low || !high || *low > *high) refuse(word, fmt::format("{} is not a range of numbers", in_quotes(range)));
    if (*high - *low >= most_hosts) refuse(word, "the range is too long");
    for (unsigned number = *low; number <= *high; ++number) use(fmt::format("{:0{}}", number, first.size()));
  }
}

/// Adds the names of one word: each range in it has all its numbers.
void expand(const std::string& before, std::string_view rest, std::string_view word, std::set<std::string>& names) {
  if (names.size() > most_hosts) refuse(word, "these are too many");
  const std::size_t open = rest.find('[');
  if (open == std::string_view::npos) {
    if (rest.find(']') != std::string_view::npos) refuse(word, "a bracket is not opened");
    names.insert(before + std::string(rest));
    return;
  }
  const std::size_t close = rest.find(']', open);
  if (close == std::string_view::npos) refuse(word, "a bracket is not closed");
  if (close == open + 1) refuse(word, "brackets are empty");
  const std::string prefix = before + std::string(rest.substr(0, open));
  each_number(rest.substr(open + 1, close - open - 1), word,
              [&](const std::string& number) { expand(prefix + number, rest.substr(close + 1), word, names); });
}

bool is_of_device(char c) { return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }

std::optional<unsigned> number_behind_line(std::string_view device) {
  const auto line = device.rfind('_');
  return line == std::string_view::npos || line == 0 ? std::nullopt : number_in(device.substr(line + 1));
}

std::string_view first_word(std::string_view text) { return text.substr(0, text.find(' ')); }

Guid system_of(const subnet::Node& node) { return node.info.system_image_guid != Guid{} ? node.info.system_image_guid : node.guid(); }

}  // namespace

/// A compiled regular expression. The texts are hostile: POSIX's implementation needs no stack that grows with the text.
class HostNames::Expression {
 public:
  explicit Expression(const std::string& text) {
    const int code = ::regcomp(&compiled_, text.c_str(), REG_EXTENDED);
    if (code == 0) return;
    std::array<char, 128> why{};
    ::regerror(code, &compiled_, why.data(), why.size());
    throw UsageError(fmt::format("{} is not a regular expression: {}", in_quotes(text), why.data()));
  }
  ~Expression() { ::regfree(&compiled_); }
  Expression(const Expression&) = delete;
  Expression& operator=(const Expression&) = delete;

  std::string cut(const std::string& text) const {
    std::array<regmatch_t, 2> parts{};
    if (::regexec(&compiled_, text.c_str(), parts.size(), parts.data(), 0) != 0) return {};
    const regmatch_t& part = compiled_.re_nsub > 0 ? parts[1] : parts[0];
    return part.rm_so < 0 ? std::string()
                          : text.substr(static_cast<std::size_t>(part.rm_so), static_cast<std::size_t>(part.rm_eo - part.rm_so));
  }

 private:
  regex_t compiled_{};
};

HostNames::HostNames(const std::string& expression) : expression_(std::make_shared<Expression>(expression)) {}

std::string HostNames::host_of(const subnet::Node& node) const {
  if (node.kind() != subnet::NodeKind::ca || !node.has_description) return {};
  if (subnet::is_aggregation_node(node) || has_default_description(node)) return {};
  const std::string_view description = trim(node.description());
  if (expression_) return expression_->cut(std::string(description));
  return std::string(description.substr(0, description.find_first_of(blanks)));
}

std::set<std::string> expand_hosts(std::string_view text) {
  std::set<std::string> names;
  while (!text.empty()) {
    const std::string_view word = take_word(text);
    if (!word.empty()) expand({}, word, word, names);
  }
  return names;
}

bool has_default_description(const subnet::Node& node) {
  if (!node.has_description) return false;  // it may have one
  const std::string_view text = trim(node.description());
  return text.empty() || text.find("Mellanox Technologies") != std::string_view::npos || first_word(text) == "localhost";
}

std::optional<unsigned> hca_number(const subnet::Node& node, std::string_view host) {
  std::string rest(trim(node.description()));
  const auto at = rest.find(host);
  if (host.empty() || at == std::string::npos) return std::nullopt;
  rest.replace(at, host.size(), " ");
  std::string_view left = rest;
  while (!left.empty()) {
    const auto end = std::ranges::find_if_not(left, is_of_device);
    const std::string_view word = left.substr(0, static_cast<std::size_t>(end - left.begin()));
    if (const auto number = number_behind_line(word)) return number;
    left.remove_prefix(std::min(word.size() + 1, left.size()));
  }
  return std::nullopt;
}

std::string name_pattern(std::string_view name) {
  std::string pattern;
  for (const char c : name) {
    if (!is_digit(c)) {
      pattern += c;
    } else if (pattern.empty() || pattern.back() != '#') {
      pattern += '#';
    }
  }
  return pattern;
}

Machines::Machines(const subnet::Subnet& subnet, const HostNames& names) : machines_(subnet.nodes().size()) {
  std::map<std::pair<std::string, std::string_view>, Guid> systems;  // of the first adapter with a host name and a description
  std::set<std::string> shared;                                      // names of several machines
  for (subnet::NodeIndex at = 0; at < machines_.size(); ++at) {
    const subnet::Node& node = subnet.node(at);
    std::string name = names.host_of(node);
    if (name.empty()) continue;
    const auto [first, is_new] = systems.try_emplace({name, node.description()}, system_of(node));
    if (!is_new && first->second != system_of(node)) shared.insert(name);
    machines_[at].name = std::move(name);
  }
  for (subnet::NodeIndex at = 0; at < machines_.size(); ++at) {
    if (machines_[at].name.empty() || shared.contains(machines_[at].name)) machines_[at].system = system_of(subnet.node(at));
  }
}

}  // namespace ib::health
