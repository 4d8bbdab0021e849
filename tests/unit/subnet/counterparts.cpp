// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Two models of a fabric in which several nodes claim one GUID: who is who, and what has changed.
#include "subnet/diff/counterparts.hpp"

#include "subnet/diff/difference.hpp"
#include "support/catch.hpp"
#include "unit/subnet/swept.hpp"

namespace subnet_counterparts_tests {

using namespace ib;
using namespace ib::subnet;
using ibtest::FakeFabric;
using ibtest::Swept;

namespace {

constexpr Guid twin_guid{0x777};

/// A root with the host of the test at port 1, and two leaves at ports 2 and 3. Each leaf has a host with one and the same GUID at port 2,
/// and room for cables at ports 3 and 4.
struct Site {
  FakeFabric fabric;
  FakeFabric::NodeId root, left, right, here, first, second;

  explicit Site(bool is_second_first = false) {
    root = fabric.add_switch(0x100, 8, "root");
    left = fabric.add_switch(0x200, 4, "left");
    right = fabric.add_switch(0x300, 4, "right");
    here = fabric.add_ca(0x400, 1, "here");
    first = fabric.add_ca(twin_guid.value, 2, "first");
    second = fabric.add_ca(twin_guid.value, 2, "second");
    fabric.link(root, 1, here, 1);
    fabric.link(root, is_second_first ? 3 : 2, left, 1);
    fabric.link(root, is_second_first ? 2 : 3, right, 1);
    fabric.link(left, 2, first, 1);
    fabric.link(right, 2, second, 1);
    fabric.assign_lids();
    fabric.attach(here);
  }
  void unplug(FakeFabric::NodeId node, unsigned port) {
    const auto [peer, peer_port] = *fabric.node(node).ports.at(port).peer;
    fabric.node(node).ports.at(port).peer.reset();
    fabric.node(peer).ports.at(peer_port).peer.reset();
  }
};

/// The only node with this description; none if there is none.
NodeIndex called(const Subnet& subnet, std::string_view name) {
  NodeIndex found = none;
  for (NodeIndex at = 0; at < subnet.nodes().size(); ++at) {
    if (subnet.node(at).description() != name) continue;
    CHECK(found == none);
    found = at;
  }
  return found;
}

std::string_view name_now(const Counterparts& pairs, const Swept& now, const Swept& then, std::string_view name) {
  const NodeIndex node = pairs.node_now(called(then.subnet, name));
  return node == none ? "none" : now.subnet.node(node).description();
}

}  // namespace

TEST_CASE("Counterparts: twins are paired by their places, in whatever order they were found") {
  Site site;
  const Swept then(site.fabric);
  REQUIRE(then.subnet.node(then.subnet.find_node(twin_guid)).twin != none);
  std::swap(site.fabric.node(site.root).ports[2].peer, site.fabric.node(site.root).ports[3].peer);  // right is found first
  site.fabric.node(site.left).ports[1].peer->second = 3;
  site.fabric.node(site.right).ports[1].peer->second = 2;
  std::swap(site.fabric.node(site.first).description, site.fabric.node(site.second).description);  // and names do not matter
  const Swept now(site.fabric);
  REQUIRE(now.subnet.nodes().size() == 6);
  const Counterparts pairs(now.subnet, then.subnet);
  CHECK(name_now(pairs, now, then, "first") == "second");
  CHECK(name_now(pairs, now, then, "second") == "first");
  const NodeIndex first = called(then.subnet, "first");
  const PortIndex port = then.subnet.port_of(first, 1);
  CHECK(pairs.port_now(port) == now.subnet.port_of(pairs.node_now(first), 1));
  CHECK(pairs.port_then(pairs.port_now(port)) == port);
  CHECK(pairs.reversed().port_now(pairs.port_now(port)) == port);
  CHECK(pairs.node_now(none) == none);
  CHECK(Counterparts().port_now(0) == none);
  const Changes found = changes(now.subnet, then.subnet);
  CHECK(found.nodes_gone.empty());
  CHECK(found.nodes_new.empty());
  CHECK(found.renamed.size() == 2);
}

TEST_CASE("Counterparts: of twins one of which is elsewhere, the other one is known, and so is the one that is left") {
  Site site;
  const Swept then(site.fabric);
  site.unplug(site.first, 1);
  site.fabric.link(site.right, 4, site.first, 1);
  const Swept now(site.fabric);
  REQUIRE(now.subnet.nodes().size() == 6);
  const Counterparts pairs(now.subnet, then.subnet);
  CHECK(name_now(pairs, now, then, "first") == "first");
  CHECK(name_now(pairs, now, then, "second") == "second");
  const Changes found = changes(now.subnet, then.subnet);
  REQUIRE(found.moved.size() == 1);
  CHECK(found.links_gone.empty());
  CHECK(found.links_new.empty());
}

TEST_CASE("Counterparts: a twin that goes or comes is one node, and one cable") {
  Site site;
  const Swept both(site.fabric);
  site.unplug(site.first, 1);
  const Swept one(site.fabric);
  REQUIRE(one.subnet.nodes().size() == 5);
  const Changes gone = changes(one.subnet, both.subnet);
  REQUIRE(gone.nodes_gone.size() == 1);
  CHECK(both.subnet.node(gone.nodes_gone.front()).description() == "first");
  CHECK(gone.nodes_new.empty());
  CHECK(gone.links_gone.empty());  // the node says it
  const Changes come = changes(both.subnet, one.subnet);
  REQUIRE(come.nodes_new.size() == 1);
  CHECK(both.subnet.node(come.nodes_new.front()).description() == "first");
  CHECK(come.links_new.empty());
  const SubnetDifference counts = difference(one.subnet, both.subnet);
  CHECK(counts.nodes.current == 5);
  CHECK(counts.nodes.reference == 6);
  CHECK(counts.nodes.missing.size() == 1);
  CHECK(counts.end_ports.missing.size() == 1);
  CHECK(counts.links.missing.size() == 1);
  CHECK(difference(both.subnet, both.subnet).none());
}

TEST_CASE("Counterparts: twins without a place or a word in common have no counterpart, and changes are reported without harm") {
  Site site;
  const Swept then(site.fabric);
  site.unplug(site.first, 1);
  site.unplug(site.second, 1);
  site.fabric.link(site.left, 3, site.second, 2);
  site.fabric.link(site.left, 4, site.first, 2);
  for (const auto node : {site.first, site.second}) site.fabric.node(node).description = {'x'};
  const Swept now(site.fabric);
  REQUIRE(now.subnet.nodes().size() == 6);
  const Counterparts pairs(now.subnet, then.subnet);
  CHECK(name_now(pairs, now, then, "first") == "none");
  CHECK(name_now(pairs, now, then, "second") == "none");
  const Changes found = changes(now.subnet, then.subnet);
  CHECK(found.nodes_gone.size() == 2);
  CHECK(found.nodes_new.size() == 2);
}

// No request passes a host, so its second port may be of the first one of the twins. The cable is known by its other end.
TEST_CASE("changes: a second cable of a twin comes and goes") {
  Site site;
  site.fabric.link(site.right, 3, site.second, 2);
  const Swept then(site.fabric);
  REQUIRE(then.subnet.nodes().size() == 6);
  site.unplug(site.second, 2);
  const Swept now(site.fabric);
  const Changes gone = changes(now.subnet, then.subnet);
  REQUIRE(gone.links_gone.size() == 1);
  const PortIndex lost = then.subnet.port_of(called(then.subnet, "right"), 3);
  CHECK((gone.links_gone.front() == lost || then.subnet.port(gone.links_gone.front()).peer == lost));
  const Changes made = changes(then.subnet, now.subnet);
  REQUIRE(made.links_new.size() == 1);
  CHECK(made.links_gone.empty());
}

TEST_CASE("changes: the switches of a cable have one GUID") {
  FakeFabric fabric;
  const auto root = fabric.add_switch(0x100, 8, "root"), a = fabric.add_switch(0x200, 6, "a"), b = fabric.add_switch(0x200, 6, "b");
  const auto here = fabric.add_ca(0x400, 1, "here"), more = fabric.add_ca(0x500, 1, "more");
  fabric.link(root, 1, here, 1);
  fabric.link(root, 2, a, 1);
  fabric.link(a, 2, b, 3);
  fabric.link(b, 4, more, 1);
  fabric.assign_lids();
  fabric.attach(here);
  const Swept then(fabric);
  fabric.set_link(a, 2, false);
  fabric.link(root, 5, b, 5);
  const Swept now(fabric);
  const Changes there = changes(now.subnet, then.subnet), back = changes(then.subnet, now.subnet);
  CHECK(there.links_gone.size() + there.moved.size() + there.nodes_gone.size() >= 1);
  CHECK(back.links_gone.size() + back.moved.size() + back.nodes_gone.size() >= 1);
  CHECK_FALSE(difference(now.subnet, then.subnet).links.none());
}

}  // namespace subnet_counterparts_tests
