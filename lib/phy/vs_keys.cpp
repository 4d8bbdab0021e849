// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "phy/reading.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string_view>

#include "base/error.hpp"
#include "base/escape.hpp"
#include "base/file.hpp"
#include "base/parse.hpp"
#include "iba/text.hpp"

namespace ib::phy {
namespace {

constexpr std::size_t longest_file = std::size_t{16} << 20;  // 400,000 devices

}  // namespace

VsKeys VsKeys::read(const std::string& path) {
  const std::string text = read_regular_file(path, longest_file);
  VsKeys keys;
  std::optional<std::uint64_t> single;
  std::size_t number = 0;
  for (std::string_view rest = text; !rest.empty();) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    const std::string_view words = trim(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
    ++number;
    if (words.empty() || words.starts_with('#')) continue;
    const auto blank = words.find_first_of(" \t");
    const auto guid = parse_guid(words.substr(0, blank));
    const auto key = parse_number(blank == std::string_view::npos ? words : trim(words.substr(blank)));
    const bool is_single = key && blank == std::string_view::npos && !single && keys.by_guid_.empty();
    const bool is_of_device = blank != std::string_view::npos && key && guid && !single;
    if (!is_single && !is_of_device)
      throw UsageError(fmt::format("{}:{}: not a line of GUID and VS_Key, nor the only VS_Key of the file", harmless_line(path), number));
    if (is_single) single = key;
    if (is_of_device) keys.by_guid_[guid.value_or(Guid{})] = *key;
  }
  if (!single && keys.by_guid_.empty()) throw UsageError(fmt::format("{}: this file holds no VS_Key", harmless_line(path)));
  keys.of_all_ = single.value_or(0);
  return keys;
}

std::uint64_t VsKeys::of(Guid node, Guid port) const {
  for (const Guid guid : {node, port})
    if (const auto key = by_guid_.find(guid); key != by_guid_.end()) return key->second;
  return of_all_;
}

}  // namespace ib::phy
