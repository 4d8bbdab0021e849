// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "tools/frame/world.hpp"

#include "mad/channel.hpp"
#include "mad/open.hpp"

namespace ib::tools {

World this_host() {
  World world;
  world.open_channel = [](const sys::EndPort& port, mad::GmpCarrier carrier) { return mad::open_channel(port, carrier); };
  world.cache_directory = "/var/cache/infiniband-diags";
  return world;
}

}  // namespace ib::tools
