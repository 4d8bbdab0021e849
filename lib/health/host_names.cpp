// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "health/host_names.hpp"

#include <algorithm>
#include <charconv>

#include "base/parse.hpp"

namespace ib::health {
namespace {

bool is_of_device(char c) { return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }

/// The number N of a word `device_N`.
std::optional<unsigned> number_behind_line(std::string_view device) {
  const auto line = device.rfind('_');
  if (line == std::string_view::npos || line == 0 || line + 1 == device.size()) return std::nullopt;
  unsigned number = 0;
  const auto [end, code] = std::from_chars(device.data() + line + 1, device.data() + device.size(), number);
  if (code != std::errc() || end != device.data() + device.size()) return std::nullopt;
  return number;
}

std::string_view first_word(std::string_view text) { return text.substr(0, text.find(' ')); }

}  // namespace

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

}  // namespace ib::health
