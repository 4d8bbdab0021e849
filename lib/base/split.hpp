// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Lists in one text: "lft,mft", "2/1". Also the case of ASCII letters, whatever the locale says; other bytes are left as they are.
#pragma once

#include <algorithm>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ib {

/// The parts of `text` between the characters in `separators`. Empty parts count: "a,,b" has three, "a," two, and "" has one.
std::vector<std::string_view> split(std::string_view text, std::string_view separators = ",");
/// As split(), but nothing stands behind a separator at the end: "a,,b" has three parts, "a," one, and "" has none.
std::vector<std::string_view> split_list(std::string_view text, std::string_view separators = ",");
/// The names in "n[001-064,100],gpu7": commas or white space stand between them, and ranges keep their zeros. Throws UsageError.
std::set<std::string> expand_hosts(std::string_view text);
/// Appends a part to a list for people.
inline void add_part(std::string& list, std::string_view part, std::string_view separator = ", ") {
  list.append(list.empty() ? "" : separator).append(part);
}

/// Such a list of all texts in a range.
std::string joined(const auto& parts, std::string_view separator) {
  std::string list;
  bool is_first = true;
  for (const auto& part : parts) list.append(std::exchange(is_first, false) ? "" : separator).append(std::string_view(part));
  return list;
}

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
