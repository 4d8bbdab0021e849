// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "tools/frame/world.hpp"

#include <sys/auxv.h>

#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "formats/node_name_map.hpp"
#include "mad/channel/open.hpp"
#include "tools/build_info.hpp"

namespace ib::tools {

namespace {

std::optional<std::string> environment(const char* name) {
  const char* const value = std::getenv(name);
  return value != nullptr && *value != '\0' ? std::optional<std::string>(value) : std::nullopt;
}

/// The path by which the kernel ran this program.
std::string executable() {
  const unsigned long text = getauxval(AT_EXECFN);
  return text != 0 ? reinterpret_cast<const char*>(text) : "";  // NOLINT: the kernel hands over pointers as numbers
}

std::optional<std::string> read_link(const std::string& path) {
  std::error_code failure;
  const std::filesystem::path target = std::filesystem::read_symlink(path, failure);
  return failure ? std::nullopt : std::optional(target.string());
}

}  // namespace

World this_host() {
  World world;
  world.open_channel = [](const sys::EndPort& port, mad::GmpCarrier carrier) { return mad::open_channel(port, carrier); };
  world.from = environment("IBTOOL_FROM");
  world.cache = environment("IBTOOL_CACHE");
  world.node_name_maps = {formats::node_name_map_files.begin(), formats::node_name_map_files.end()};
  world.diags_release = &diags_release(diags_version);
  world.executable = executable();
  world.read_link = read_link;
  return world;
}

}  // namespace ib::tools
