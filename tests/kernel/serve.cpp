// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// A subnet administrator of 2,000 nodes behind umad on rxe1, for commands that ask one: says "serving" and serves until killed.
#include <cstdio>

#include "kernel/sa_server.hpp"
#include "mad/umad.hpp"

int main() {
  const ib::sys::DeviceList devices = ib::sys::DeviceList::read();
  ib::async::Loop loop;
  ibtest::SaServer sa(loop, ib::mad::open_umad(devices.find_end_port("rxe1/1")), 2000);
  std::puts("serving");
  std::fflush(stdout);
  loop.run(sa.server().run());
}
