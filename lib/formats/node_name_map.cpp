// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The parser scans one buffer, because maps of large sites have tens of thousands of lines.
#include "formats/node_name_map.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "base/file.hpp"
#include "iba/text.hpp"

namespace ib::formats {

using subnet::NodeNameMap;

namespace {

constexpr std::size_t longest_file = std::size_t{16} << 20;  // bytes: 200,000 long lines
constexpr std::string_view blanks = " \t\r\v\f", blanks_or_hash = " \t\r\v\f#";

std::string_view skip_blanks(std::string_view text) {
  const auto at = text.find_first_not_of(blanks);
  return at == std::string_view::npos ? std::string_view{} : text.substr(at);
}

/// Removes a GUID from the front of `text`. Nothing if the GUID is not followed by a blank, '#' or the end.
std::optional<Guid> take_guid(std::string_view& text) {
  const std::string_view word = text.substr(0, text.find_first_of(blanks_or_hash));
  const std::optional<std::uint64_t> number = parse_number(word);
  const std::optional<Guid> guid = number ? Guid{*number} : parse_guid(word);
  if (guid) text.remove_prefix(word.size());
  return guid;
}

/// The name in the rest of a line. It starts after its opening quotes, if any, and ends before the next '"' or '#'.
std::string_view name_in(std::string_view text) {
  const auto begin = text.find_first_not_of('"');
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_first_of("\"#", begin) - begin);
}

}  // namespace

NodeNameMap parse_node_name_map(std::string_view text) {
  NodeNameMap map;
  for (std::size_t number = 1; !text.empty(); ++number) {
    std::string_view whole = text.substr(0, text.find('\n'));
    text.remove_prefix(whole.size() < text.size() ? whole.size() + 1 : text.size());
    if (whole.ends_with('\r')) whole.remove_suffix(1);
    std::string_view line = skip_blanks(whole);
    if (line.empty() || line.front() == '#') continue;
    const std::optional<Guid> guid = take_guid(line);
    if (!guid) {
      map.add_bad_line({number, std::string(whole)});
      continue;
    }
    const std::string_view name = name_in(skip_blanks(line));
    if (!name.empty()) map.add(*guid, name);
  }
  return map;
}

NodeNameMap parse_node_name_map_as_diags(std::string_view text) {
  constexpr std::size_t longest_line = 255;
  constexpr const char* around_name = "\"#";
  NodeNameMap map;
  for (std::size_t number = 1; !text.empty(); ++number) {
    std::string line(text.substr(0, std::min(longest_line, text.find('\n'))));
    text.remove_prefix(std::min(text.size(), line.size() < longest_line ? line.size() + 1 : line.size()));
    line.resize(std::strlen(line.c_str()));  // to C, a zero byte ends it
    const char* at = line.c_str() + std::strspn(line.c_str(), blanks.data());
    if (*at == '\0' || *at == '#') continue;
    char* end = nullptr;
    const Guid guid{std::strtoull(at, &end, 0)};
    if (end == at || (*end != '\0' && blanks_or_hash.find(*end) == std::string_view::npos)) {
      map.add_bad_line({number, line});
      return map;
    }
    at = end + std::strspn(end, blanks.data());
    at += std::strspn(at, around_name);
    const std::string_view name(at, std::strcspn(at, around_name));
    if (!name.empty()) map.add(guid, name);
  }
  return map;
}

NodeNameMap read_node_name_map(const std::string& file) { return parse_node_name_map(read_regular_file(file, longest_file)); }

NodeNameMap read_node_name_map_as_diags(const std::string& file) {
  return parse_node_name_map_as_diags(read_regular_file(file, longest_file));
}

}  // namespace ib::formats
