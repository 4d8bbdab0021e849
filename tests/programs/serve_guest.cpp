// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// What commands ask in the tests: a subnet administrator of 2,000 nodes, and port counters, behind umad on rxe1. Says
// "serving" and serves until killed.
#include <cstdio>

#include "iba-gen/pm.hpp"
#include "kernel/sa_server.hpp"
#include "mad/channel/open.hpp"
#include "programs/programs.hpp"

namespace ibtest::programs::serve_guest {

using namespace ib;

int run(int /*argc*/, char** /*argv*/) {
  const sys::DeviceList devices = sys::DeviceList::read();
  async::Loop loop;
  ibtest::SaServer sa(loop, mad::open_umad(devices.find_end_port("rxe1/1")), 2000);
  sa.server().on<pm::PortCounters>(mad::method::get, [](const pm::PortCounters& asked, const mad::Incoming&) {
    pm::PortCounters counters;
    counters.port_select = asked.port_select;
    counters.port_xmit_data = 123456789;
    return counters;
  });
  sa.server().serve(mad::service_of<pm::PortCounters>());
  std::puts("serving");
  std::fflush(stdout);
  loop.run(sa.server().run());
  return 0;
}

}  // namespace ibtest::programs::serve_guest
