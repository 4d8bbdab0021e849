// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// A cable is plugged into another switch in the middle of a sweep. Whenever that happens, no node becomes two, and what has been seen at
// its new place is read to the end there.
#include <fmt/format.h>

#include "support/catch.hpp"
#include "unit/subnet/swept.hpp"

namespace subnet_moved_cables_tests {

using namespace ib;
using namespace ib::subnet;
using namespace std::chrono_literals;
using ibtest::FakeFabric;
using ibtest::Swept;

namespace {

/// A host at a root switch, two switches below it, of which the second is slow, and below the first one a switch with a host and a lone
/// host. The slow switch may be a link farther from the root than the first one.
struct Site {
  FakeFabric fabric;
  FakeFabric::NodeId root, quick, slow, moving, behind, host;

  explicit Site(bool is_far) {
    root = fabric.add_switch(0x100, 8, "root");
    const auto here = fabric.add_ca(0x300, 1, "here");
    quick = fabric.add_switch(0x200, 8, "quick");
    slow = fabric.add_switch(0x201, 8, "slow");
    moving = fabric.add_switch(0x400, 24, "moving");
    behind = fabric.add_ca(0x500, 1, "behind");
    host = fabric.add_ca(0x600, 1, "host");
    fabric.link(root, 1, here, 1);
    fabric.link(root, 2, quick, 1);
    if (is_far) {
      const auto between = fabric.add_switch(0x700, 4, "between");
      fabric.link(root, 3, between, 1);
      fabric.link(between, 2, slow, 1);
    } else {
      fabric.link(root, 3, slow, 1);
    }
    fabric.link(quick, 2, moving, 1);
    fabric.link(quick, 3, host, 1);
    fabric.link(moving, 2, behind, 1);
    fabric.assign_lids();
    fabric.attach(here);
    fabric.node(slow).faults.delay = 3ms;
  }

  /// Plugs both cables of the first switch into the second one after so many requests. The switch's cable may go to another of its ports.
  void move_after(unsigned requests, unsigned entry) {
    fabric.network.tamper = [this, requests, entry, sent = 0U](Bytes, std::optional<FakeFabric::Answer> answer) mutable {
      if (++sent == requests) {
        for (const unsigned port : {2U, 3U}) fabric.node(quick).ports[port].peer.reset();
        fabric.node(moving).ports[1].peer.reset();
        fabric.link(slow, 2, moving, entry);
        fabric.link(slow, 3, host, 1);
      }
      std::vector<FakeFabric::Answer> arrive;
      if (answer) arrive.push_back(std::move(*answer));
      return arrive;
    };
  }
};

/// Checks that each node is one hop farther from the start than the node before it, and that the numbers of requests add up.
void check_numbers(const Swept& swept) {
  for (const Node& node : swept.subnet.nodes()) {
    if (node.via != none) CHECK(node.hops == swept.subnet.node(swept.subnet.port(node.via).node).hops + 1);
  }
  CHECK(swept.sent() == swept.stats.plan + swept.explained());
}

/// Whether a node is in the model at the port `number` of the slow switch.
bool is_at_new_place(const Swept& swept, std::uint64_t guid, unsigned number) {
  const NodeIndex slow = swept.subnet.find_node(Guid{0x201});
  const PortIndex port = swept.subnet.port_of(slow, number);
  const PortIndex peer = port == none ? none : swept.subnet.port(port).peer;
  return peer != none && swept.subnet.node(swept.subnet.port(peer).node).guid() == Guid{guid};
}

void check_node(const Swept& swept, std::uint64_t guid) {
  const NodeIndex at = swept.subnet.find_node(Guid{guid});
  REQUIRE(at != none);
  const Node& node = swept.subnet.node(at);
  CHECK(node.has_description);
  for (unsigned number = node.kind() == NodeKind::sw ? 0 : 1; number < node.slots; ++number)
    CHECK(swept.subnet.port(node.first_port + number).has_info);
  for (const Failure& failure : swept.failures) {
    INFO(name(failure.kind) << ' ' << failure.port << ' ' << failure.beyond << ' ' << failure.attribute << ' ' << failure.why);
    CHECK(failure.node != at);
  }
  CHECK(swept.subnet.node(swept.subnet.port(node.via).node).guid() == Guid{0x201});
}

}  // namespace

TEST_CASE("a cable that is moved in the middle of a sweep makes no node two, and what is beyond it is read by the new way") {
  unsigned moved_switches = 0, moved_hosts = 0;
  for (const Routing routing : {Routing::directed, Routing::lid}) {
    for (const unsigned entry : {1U, 3U}) {
      for (unsigned requests = 1; requests < 120; ++requests) {
        Site site(entry == 3);
        site.move_after(requests, entry);
        DiscoverOptions options;
        options.routing = routing;
        const Swept swept(site.fabric, options);
        CAPTURE(requests, entry, routing == Routing::lid);
        check_numbers(swept);
        std::vector<std::uint64_t> guids = swept.guids();
        CHECK(std::ranges::adjacent_find(guids) == guids.end());
        CHECK(swept.failed(Failure::Kind::duplicate_guid) == 0);
        if (is_at_new_place(swept, 0x400, 2)) {
          ++moved_switches;
          check_node(swept, 0x400);
        }
        if (is_at_new_place(swept, 0x600, 3)) {
          ++moved_hosts;
          check_node(swept, 0x600);
        }
      }
    }
  }
  CHECK(moved_switches > 20);
  CHECK(moved_hosts > 20);
}

}  // namespace subnet_moved_cables_tests
