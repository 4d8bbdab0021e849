// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "health/hosts.hpp"

#include <fmt/format.h>
#include <regex.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <utility>

#include "base/error.hpp"
#include "base/escape.hpp"
#include "base/parse.hpp"
#include "subnet/model/names.hpp"

namespace ib::health {
namespace {

constexpr std::string_view blanks = " \t\r\n";

bool is_of_device(char c) { return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }

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

bool has_default_description(const subnet::Node& node) {
  if (!node.has_description) return false;  // it may have one
  const std::string_view text = trim(node.description());
  return text.empty() || text.find("Mellanox Technologies") != std::string_view::npos || first_word(text) == "localhost";
}

std::optional<std::uint64_t> hca_number(const subnet::Node& node, std::string_view host) {
  std::string rest(trim(node.description()));
  const auto at = rest.find(host);
  if (host.empty() || at == std::string::npos) return std::nullopt;
  rest.replace(at, host.size(), " ");
  std::string_view left = rest;
  while (!left.empty()) {
    const auto end = std::ranges::find_if_not(left, is_of_device);
    const std::string_view word = left.substr(0, static_cast<std::size_t>(end - left.begin()));
    const auto line = word.rfind('_');
    const bool has_line = line != std::string_view::npos && line != 0;
    if (const auto number = has_line ? parse_digits(word.substr(line + 1), 10) : std::nullopt) return number;
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
