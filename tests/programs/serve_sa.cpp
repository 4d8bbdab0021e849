// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// A subnet administrator of ours on the simulated fabric, beside opensm, for test_tables.py. Serves until killed.
#include "kernel/sa_server.hpp"
#include "mad/channel/open.hpp"
#include "programs/programs.hpp"
#include "sys/device.hpp"

namespace ibtest::programs::serve_sa {

int run(int /*argc*/, char** /*argv*/) {
  const auto devices = ib::sys::DeviceList::read();
  ib::async::Loop loop;
  ibtest::SaServer sa(loop, ib::mad::open_umad(devices.default_end_port()), 500);
  loop.run(sa.server().run());
  return 0;
}

}  // namespace ibtest::programs::serve_sa
