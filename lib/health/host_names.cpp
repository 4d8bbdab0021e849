// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "health/host_names.hpp"

#include <algorithm>
#include <charconv>

#include "base/parse.hpp"
#include "subnet/names.hpp"

namespace ib::health {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

std::string_view first_word(std::string_view text) { return text.substr(0, text.find(' ')); }

}  // namespace

bool has_default_description(const subnet::Node& node) {
  if (!node.has_description) return false;  // it may have one
  const std::string_view text = trim(node.description());
  return text.empty() || text.find("Mellanox Technologies") != std::string_view::npos || first_word(text) == "localhost";
}

std::string_view host_name(const subnet::Node& node) {
  const bool is_host = node.kind() == subnet::NodeKind::ca && node.has_description && !subnet::is_aggregation_node(node);
  return is_host && !has_default_description(node) ? first_word(trim(node.description())) : std::string_view();
}

std::optional<unsigned> hca_number(const subnet::Node& node) {
  const std::string_view text = trim(node.description()), host = host_name(node);
  if (host.empty() || host.size() == text.size()) return std::nullopt;
  const std::string_view device = first_word(trim(text.substr(host.size())));
  const auto line = device.rfind('_');
  if (line == std::string_view::npos || line + 1 == device.size()) return std::nullopt;
  unsigned number = 0;
  const auto [end, code] = std::from_chars(device.data() + line + 1, device.data() + device.size(), number);
  if (code != std::errc() || end != device.data() + device.size()) return std::nullopt;
  return number;
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

}  // namespace ib::health
