// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "tools/frame/node_names.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <string>

#include "base/error.hpp"
#include "base/log.hpp"
#include "formats/node_name_map.hpp"

namespace ib::tools {
namespace {

/// Reads a map and warns of wrong lines. A file that is not a map has many of them.
subnet::NodeNameMap read_file(Log& log, const std::string& file) {
  constexpr std::size_t most_warnings = 10;
  subnet::NodeNameMap map = formats::read_node_name_map(file);
  const auto& bad = map.bad_lines();
  for (std::size_t at = 0; at < std::min(bad.size(), most_warnings); ++at)
    log.warning(fmt::format("{}:{}: no GUID at the start of the line", file, bad[at].number));
  if (bad.size() > most_warnings) log.warning(fmt::format("{}: {} more lines without a GUID", file, bad.size() - most_warnings));
  return map;
}

}  // namespace

subnet::NodeNameMap read_node_names(const World& world, const CommonOptions& options) {
  if (options.node_name_map) return read_file(*world.log, *options.node_name_map);
  for (const std::string& file : world.node_name_maps) {
    try {
      return read_file(*world.log, file);
    } catch (const SysError& error) {  // the default file need not exist or be readable
      if (error.code() != ENOENT && error.code() != EACCES) throw;
    }
  }
  return {};
}

}  // namespace ib::tools
