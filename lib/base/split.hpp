// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Lists in one text: "lft,mft", "2/1".
#pragma once

#include <set>
#include <string>
#include <string_view>
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

}  // namespace ib
