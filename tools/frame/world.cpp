// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "tools/frame/world.hpp"

#include <cstdlib>

#include "mad/channel.hpp"
#include "mad/open.hpp"

namespace ib::tools {

namespace {

std::optional<std::string> environment(const char* name) {
  const char* const value = std::getenv(name);
  return value != nullptr && *value != '\0' ? std::optional<std::string>(value) : std::nullopt;
}

}  // namespace

World this_host() {
  World world;
  world.open_channel = [](const sys::EndPort& port, mad::GmpCarrier carrier) { return mad::open_channel(port, carrier); };
  world.from = environment("IBTOOL_FROM");
  world.cache = environment("IBTOOL_CACHE");
  world.cache_directory = "/var/cache/infiniband-diags";
  return world;
}

}  // namespace ib::tools
