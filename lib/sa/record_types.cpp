// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "sa/record_types.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>

#include "base/error.hpp"
#include "base/escape.hpp"
#include "base/nearest.hpp"
#include "base/split.hpp"
#include "iba/text.hpp"

namespace ib::sa {
namespace {

std::vector<QueryInfo> make_types() {
  std::vector<QueryInfo> made;
  std::ranges::copy_if(all_queries(), std::back_inserter(made), &QueryInfo::by_sa);
  std::ranges::sort(
      made, [](const QueryInfo& a, const QueryInfo& b) { return a.classic != b.classic ? a.classic : a.name.view() < b.name.view(); });
  return made;
}

/// The parts of "LID/PORT/BLOCK". A name in the place of the LID may have slashes in it: parts that are not numbers belong to the name.
std::vector<std::string_view> parts_of(std::string_view word) {
  std::vector<std::string_view> parts = split(word, "/");
  if (parts.front().empty() || parse_number(parts.front())) return parts;
  std::size_t name_end = parts.front().size(), joined = 1;
  for (std::size_t at = 1, end = name_end; at < parts.size(); ++at) {
    end += 1 + parts[at].size();
    if (parts[at].empty() || parse_number(parts[at])) continue;
    name_end = end;
    joined = at + 1;
  }
  parts.erase(parts.begin(), parts.begin() + static_cast<std::ptrdiff_t>(joined));
  parts.insert(parts.begin(), word.substr(0, name_end));
  return parts;
}

std::array<std::string_view, 3> names_of(const QueryInfo& type) { return {type.name, type.alias, type.info->iba_name}; }

}  // namespace

std::span<const QueryInfo> record_types() {
  static const std::vector<QueryInfo> all = make_types();
  return all;
}

const QueryInfo& find_record_type(std::string_view word, std::string_view list) {
  return find_by_prefix(word, record_types(), &QueryInfo::classic, names_of, list);
}

bool names_record(std::string_view word, const StructInfo& record) {
  return std::ranges::any_of(record_types(), [&](const QueryInfo& type) {
    return type.info == &record &&
           std::ranges::any_of(names_of(type), [&](std::string_view name) { return equal_ignoring_case(name, word); });
  });
}

std::vector<std::pair<std::string_view, std::string>> take_argument(const QueryInfo& type, std::vector<std::string>& words) {
  std::vector<std::pair<std::string_view, std::string>> result;
  if (type.members.empty()) return result;
  for (const std::string_view form : split(type.members, " ")) {
    if (words.empty()) break;
    const std::vector<std::string_view> members = split(form, "/");
    const std::vector<std::string_view> parts = members.size() == 1 ? std::vector<std::string_view>{words[0]} : parts_of(words[0]);
    if (parts.size() > members.size()) throw UsageError(fmt::format("Argument {} did not match {}", in_quotes(words[0]), type.argument));
    for (std::size_t i = 0; i < parts.size(); ++i) {
      if (!parts[i].empty()) result.emplace_back(members[i], parts[i]);
    }
    words.erase(words.begin());
  }
  return result;
}

}  // namespace ib::sa
