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

/// The width of help texts on a terminal of that many columns.
std::size_t help_width(const std::optional<std::string>& columns) {
  constexpr int least = 40, margin = 2;
  const int given = columns ? std::atoi(columns->c_str()) : 0;
  return given > least ? static_cast<std::size_t>(given - margin) : World().help_width;
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
  world.help_width = help_width(environment("COLUMNS"));
  world.is_dumb = environment("TERM") == "dumb";
  world.no_colours = environment("NO_COLOR").has_value();
  world.diags_directory = environment("IBPATH").value_or(world.diags_directory);
  world.executable = executable();
  world.read_link = read_link;
  return world;
}

}  // namespace ib::tools
