// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// What a process that runs for months stands on: its end port stays the one that it began with, and a stack that is opened anew asks the
// SA that --sa-path names, as the first one did.
#include "tools/frame/stack.hpp"

#include <fmt/format.h>

#include "iba/text.hpp"
#include "mad/channel/channel.hpp"
#include "support/catch.hpp"
#include "support/fake_clock.hpp"
#include "support/fake_fabric.hpp"
#include "support/fake_sysfs.hpp"
#include "tools/frame/common_options.hpp"
#include "tools/frame/host.hpp"
#include "tools/frame/world.hpp"

namespace tools_stack_tests {

using namespace ib;
using ibtest::FakeFabric;
using ibtest::FakeSysfs;

namespace {

/// A host with two ports of a device, and a fabric behind each of them.
struct TwoRails {
  TwoRails() {
    sysfs.device("fake0", to_text(fabric.end_port().device->node_guid));
    for (unsigned number : {1U, 2U}) set_port(number, "4: ACTIVE");
    world = tools::this_host();
    world.open_channel = [this](const sys::EndPort&, mad::GmpCarrier) { return fabric.open(); };
  }
  void set_port(unsigned number, const std::string& state) {
    FakeSysfs::Port port;
    port.number = number;
    port.state = state;
    port.gid = to_text(fabric.end_port().default_gid());
    port.umad = fmt::format("umad{}", number - 1);
    sysfs.port("fake0", port);
    sysfs.write(fmt::format("class/infiniband/fake0/ports/{}/lid", number), fmt::format("0x{:x}\n", fabric.end_port().lid.value));
  }

  FakeFabric fabric = FakeFabric::fat_tree(2, 1, 2);
  FakeSysfs sysfs;
  tools::World world;
  ibtest::FakeClock clock;
  async::Loop loop{clock};
};

}  // namespace

TEST_CASE("a process keeps its end port, though another one is active and it is not") {
  TwoRails rails;
  tools::Host host(rails.world, {});
  CHECK(host.end_port().number == 1);
  rails.set_port(1, "1: DOWN");
  host.reread();
  CHECK(host.end_port().number == 1);
  CHECK(host.end_port().state == 1);
  rails.set_port(1, "4: ACTIVE");
  host.reread();
  CHECK(host.end_port().number == 1);
  CHECK(host.end_port().state == 4);
}

TEST_CASE("a stack that is opened again uses the SA of --sa-path") {
  TwoRails rails;
  tools::Host host(rails.world, {});
  tools::Stack stack(host, rails.loop);
  path::IbPath other;
  other.dlid = Lid{3};
  other.slid = rails.fabric.end_port().lid;
  stack.set_sa_target(other);
  for (int opened = 0; opened < 2; ++opened) {
    stack.open();
    rails.loop.run(stack.prepare_sa());
    CHECK(stack.transactor().sa_path().ib().dlid == Lid{3});
    stack.close();
    host.reread();
  }
}

}  // namespace tools_stack_tests
