// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "base/split.hpp"

namespace ib {

std::vector<std::string_view> split(std::string_view text, std::string_view separators) {
  std::vector<std::string_view> parts;
  while (true) {
    const std::size_t end = text.find_first_of(separators);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

std::vector<std::string_view> split_list(std::string_view text, std::string_view separators) {
  std::vector<std::string_view> parts = split(text, separators);
  if (parts.back().empty()) parts.pop_back();
  return parts;
}

}  // namespace ib
