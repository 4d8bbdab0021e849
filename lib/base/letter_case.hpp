// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Upper and lower case of ASCII letters, whatever the locale says. Other bytes are left as they are.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>

namespace ib {

constexpr char to_lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

inline std::string to_lower(std::string_view text) {
  std::string result(text);
  std::ranges::transform(result, result.begin(), [](char c) { return to_lower(c); });
  return result;
}

inline bool equal_ignoring_case(std::string_view a, std::string_view b) {
  return std::ranges::equal(a, b, [](char x, char y) { return to_lower(x) == to_lower(y); });
}

}  // namespace ib
