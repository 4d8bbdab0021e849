// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "phy/reading.hpp"

#include <fmt/format.h>

#include <string_view>

#include "base/error.hpp"
#include "base/escape.hpp"
#include "base/file.hpp"
#include "base/parse.hpp"
#include "iba/text.hpp"
#include "subnet/set/set_target.hpp"

namespace ib::phy {

VsKeys VsKeys::read(const std::string& path) {
  constexpr std::size_t longest = std::size_t{16} << 20;  // 400,000 devices
  const std::string text = read_regular_file(path, longest);
  VsKeys keys;
  std::optional<std::uint64_t> single;
  SettingLines lines(text);
  while (const auto line = lines.next()) {
    const std::string_view words = trim(line->whole);
    const auto blank = words.find_first_of(" \t");
    const auto guid = parse_guid(words.substr(0, blank));
    const auto key = parse_number(blank == std::string_view::npos ? words : trim(words.substr(blank)));
    const bool is_single = key && blank == std::string_view::npos && !single && keys.by_guid_.empty();
    const bool is_of_device = blank != std::string_view::npos && key && guid && !single;
    if (!is_single && !is_of_device)
      throw UsageError(
          fmt::format("{}:{}: not a line of GUID and VS_Key, nor the only VS_Key of the file", harmless_line(path), line->number));
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

async::Task<std::uint64_t> identify_for_key(mad::Transactor& smps, const VsKeys& keys, path::Path& path) {
  if (!subnet::takes_smps(path)) throw Error("The VS_Key is not sent: no SMP shows which node is at the end of the path");
  mad::Result<smp::NodeInfo> found = co_await subnet::check_set_target(smps, path);
  const smp::NodeInfo info = std::move(found).take();
  subnet::mean_node(path, info);
  co_return keys.of(info.node_guid, info.port_guid);
}

}  // namespace ib::phy
