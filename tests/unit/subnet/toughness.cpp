// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Sweeps of fabrics with something wrong: the sweep ends in good time, what can be found is found, and what is missing
// is named.
#include <algorithm>
#include <random>

#include "support/catch.hpp"
#include "unit/subnet/swept.hpp"

namespace subnet_toughness_tests {

using namespace ib;
using namespace ib::subnet;
using namespace std::chrono_literals;
using ibtest::FakeFabric;
using ibtest::Swept;

namespace {

/// Hosts of a fat tree, in the order of creation.
std::vector<FakeFabric::NodeId> hosts_of(FakeFabric& fabric) {
  std::vector<FakeFabric::NodeId> hosts;
  for (FakeFabric::NodeId id = 0; id < fabric.size(); ++id) {
    if (!fabric.node(id).is_switch()) hosts.push_back(id);
  }
  return hosts;
}

/// One switch with `n` hosts, attached to the first.
FakeFabric star(unsigned n) {
  FakeFabric fabric;
  const auto sw = fabric.add_switch(0x100, n, "hub");
  for (unsigned port = 1; port <= n; ++port) fabric.link(sw, port, fabric.add_ca(0x10000 + 16 * port, 1, "host"), 1);
  fabric.assign_lids();
  fabric.attach(1);
  return fabric;
}

}  // namespace

TEST_CASE("lost MADs are sent again") {
  FakeFabric fabric = FakeFabric::fat_tree(4, 2, 4);
  fabric.network.loss = 0.2;
  fabric.seed(7);
  const Swept swept(fabric, {}, 12);
  CHECK(swept.subnet.nodes().size() == fabric.size());
  CHECK(swept.failures.empty());
  CHECK(swept.rpc->stats()->retries_lost > 0);
  CHECK(swept.sent() == swept.stats.plan + swept.explained());
}

TEST_CASE("where MADs are lost no node is taken for two") {
  std::size_t unanswered = 0;
  for (unsigned seed = 1; seed <= 40; ++seed) {
    FakeFabric fabric = FakeFabric::fat_tree(4, 2, 4);
    std::mt19937 random(seed);
    const auto lost = [&random] { return random() % 2 == 0; };
    for (FakeFabric::NodeId id = 0; id < fabric.size(); ++id) {
      if (id != hosts_of(fabric).front()) fabric.node(id).faults.deaf = lost;
    }
    const Swept swept(fabric);
    CAPTURE(seed);
    const std::vector<std::uint64_t> guids = swept.guids();
    CHECK(std::ranges::adjacent_find(guids) == guids.end());
    CHECK(swept.failed(Failure::Kind::duplicate_guid) == 0);
    CHECK(swept.failed(Failure::Kind::duplicate_lid) == 0);
    unanswered += swept.failed(Failure::Kind::no_answer);
  }
  CHECK(unanswered > 0);
}

TEST_CASE("a silent node is missing, and named by the port that leads to it") {
  FakeFabric fabric = star(8);
  fabric.node(3).faults.silent = true;
  const Swept swept(fabric);
  CHECK(swept.subnet.nodes().size() == 8);
  REQUIRE(swept.failures.size() == 1);
  const Failure& failure = swept.failures[0];
  CHECK(failure.kind == Failure::Kind::no_answer);
  CHECK(failure.beyond);
  CHECK(swept.subnet.node(failure.node).guid() == Guid{0x100});
  CHECK(failure.port == 3);
  CHECK(failure.error != nullptr);
  CHECK(swept.sent() == swept.stats.plan + swept.explained());
}

TEST_CASE("a silent switch hides only what has no other way") {
  FakeFabric fabric = FakeFabric::fat_tree(4, 2, 4);
  for (FakeFabric::NodeId id = 0; id < fabric.size(); ++id) {
    if (!fabric.node(id).is_switch() || fabric.node(id).ports.size() != 5) continue;  // a spine has a port to each leaf
    fabric.node(id).faults.silent = true;
    break;
  }
  const Swept swept(fabric);
  CHECK(swept.subnet.nodes().size() == fabric.size() - 1);
  CHECK(swept.failed(Failure::Kind::no_answer) == 4);
}

TEST_CASE("many dead ports cost about one retry chain") {
  FakeFabric one = star(120), many = star(120);
  one.node(5).faults.silent = true;
  for (unsigned id = 5; id < 105; ++id) many.node(id).faults.silent = true;
  const Swept first(one), second(many);
  CHECK(second.subnet.nodes().size() == 21);
  CHECK(second.failed(Failure::Kind::no_answer) == 100);
  CHECK(first.took > 1s);  // the timeout is a real one
  CHECK(second.took < first.took * 3 / 2);
}

TEST_CASE("silent nodes at each level do not add up") {
  FakeFabric fabric;  // a chain of switches with a dead host at each
  std::vector<FakeFabric::NodeId> chain;
  for (unsigned i = 0; i < 20; ++i) {
    chain.push_back(fabric.add_switch(0x100 + i, 4, "link"));
    const auto dead = fabric.add_ca(0x9000 + 16 * i, 1, "dead");
    fabric.node(dead).faults.silent = true;
    fabric.link(chain[i], 3, dead, 1);
    if (i > 0) fabric.link(chain[i - 1], 1, chain[i], 2);
  }
  const auto host = fabric.add_ca(0x8000, 1, "host");
  fabric.link(chain[0], 2, host, 1);
  fabric.attach(host);
  const Swept swept(fabric);
  CHECK(swept.count(NodeKind::sw) == 20);
  CHECK(swept.failed(Failure::Kind::no_answer) == 20);
  FakeFabric single = star(8);
  single.node(3).faults.silent = true;
  const Swept one(single);
  CHECK(swept.took < one.took + one.took / 2 + 20 * 100ms);
}

TEST_CASE("a node that falls silent or loses its links half way does not stop the sweep") {
  for (unsigned after = 1; after < 20; ++after) {
    FakeFabric fabric = FakeFabric::fat_tree(4, 2, 4);
    FakeFabric::NodeId spine = 0;
    for (FakeFabric::NodeId id = 0; id < fabric.size(); ++id) {
      if (fabric.node(id).is_switch() && fabric.node(id).ports.size() == 5) spine = id;
    }
    CAPTURE(after);
    SECTION("silent") { fabric.node(spine).faults.answers_left = after; }
    SECTION("gone") { fabric.node(spine).faults.vanish_after = after; }
    const Swept swept(fabric);
    CHECK(swept.subnet.nodes().size() >= fabric.size() - 1);
    CHECK(swept.count(NodeKind::ca) == 16);
    for (const Failure& failure : swept.failures) CHECK(failure.kind == Failure::Kind::no_answer);
  }
}

TEST_CASE("a refused attribute is a fact and not the end") {
  FakeFabric fabric = star(4);
  fabric.node(0).faults.status = 0x1c;
  fabric.node(0).faults.status_attribute = smp::SwitchInfo::attribute_id;
  fabric.node(2).faults.busy_next = 2;
  const Swept swept(fabric);
  CHECK(swept.subnet.nodes().size() == 5);
  REQUIRE(swept.failures.size() == 1);
  CHECK(swept.failures[0].kind == Failure::Kind::refused);
  CHECK(swept.failures[0].attribute == "SwitchInfo");
  CHECK_FALSE(swept.subnet.node(swept.subnet.find_node(Guid{0x100})).has_switch_info);
}

TEST_CASE("the hop limit ends a route, not the sweep") {
  FakeFabric fabric;
  FakeFabric::NodeId last = fabric.add_ca(0x8000, 1, "host");
  fabric.attach(last);
  for (unsigned i = 0; i < 80; ++i) {
    const auto next = fabric.add_switch(0x100 + i, 2, "link");
    fabric.link(last, 1 + (i > 0), next, 1);
    last = next;
  }
  const Swept swept(fabric);
  CHECK(swept.count(NodeKind::sw) == 63);
  REQUIRE(swept.failures.size() == 1);
  CHECK(swept.failures[0].kind == Failure::Kind::hop_limit);
  CHECK(swept.failures[0].port == 2);
}

TEST_CASE("a switch may be linked to itself") {
  FakeFabric fabric = star(8);
  const auto sw = fabric.add_switch(0x200, 8, "looped");
  fabric.node(0).ports.resize(10);
  fabric.node(0).info.num_ports = 9;
  fabric.link(0, 9, sw, 1);
  fabric.link(sw, 2, sw, 3);
  const Swept swept(fabric);
  CHECK(swept.subnet.nodes().size() == 10);
  CHECK(swept.failures.empty());
  const auto names = swept.link_names();
  CHECK(std::count(names.begin(), names.end(), "200.2-200.3") == 1);
}

TEST_CASE("two adapters with one GUID are two nodes, and reported") {
  FakeFabric fabric = FakeFabric::fat_tree(4, 2, 4);
  const auto hosts = hosts_of(fabric);
  fabric.node(hosts[9]).info.node_guid = fabric.node(hosts[3]).info.node_guid;
  const Swept swept(fabric);
  CHECK(swept.subnet.nodes().size() == fabric.size());
  CHECK(swept.failed(Failure::Kind::duplicate_guid) == 1);
  CHECK(swept.links() == 16 + 8);
}

TEST_CASE("two switches with one GUID are two nodes, with what is behind each of them") {
  FakeFabric fabric = FakeFabric::fat_tree(4, 2, 4);
  std::vector<FakeFabric::NodeId> leaves, spines;
  for (FakeFabric::NodeId id = 0; id < fabric.size(); ++id) {
    if (fabric.node(id).is_switch()) (fabric.node(id).ports.size() == 5 ? spines : leaves).push_back(id);
  }
  SECTION("leaves") {
    REQUIRE(leaves.size() == 4);
    fabric.node(leaves[2]).info = fabric.node(leaves[1]).info;
  }
  SECTION("the first leaf and another") { fabric.node(leaves[3]).info = fabric.node(leaves[0]).info; }
  SECTION("spines") { fabric.node(spines[1]).info = fabric.node(spines[0]).info; }
  const Swept swept(fabric);
  CHECK(swept.count(NodeKind::ca) == 16);
  CHECK(swept.count(NodeKind::sw) == 6);
  CHECK(swept.links() == 16 + 8);
  CHECK(swept.failed(Failure::Kind::duplicate_guid) == 1);
  CHECK(swept.failed(Failure::Kind::no_answer) == 0);
}

TEST_CASE("all leaves with one GUID are distinguished") {
  FakeFabric fabric = FakeFabric::fat_tree(6, 2, 3);
  std::optional<FakeFabric::NodeId> first;
  for (FakeFabric::NodeId id = 0; id < fabric.size(); ++id) {
    if (!fabric.node(id).is_switch() || fabric.node(id).ports.size() == 7) continue;  // a spine
    if (first) fabric.node(id).info = fabric.node(*first).info;
    if (!first) first = id;
  }
  const Swept swept(fabric);
  CHECK(swept.count(NodeKind::ca) == 18);
  CHECK(swept.count(NodeKind::sw) == 8);
  CHECK(swept.failed(Failure::Kind::duplicate_guid) == 5);
}

TEST_CASE("two ports with one LID are reported") {
  FakeFabric fabric = star(4);
  fabric.node(3).ports[1].info.lid = fabric.node(2).ports[1].info.lid;
  const Swept swept(fabric);
  CHECK(swept.subnet.nodes().size() == 5);
  CHECK(swept.failed(Failure::Kind::duplicate_lid) == 1);
}

TEST_CASE("false claims in NodeInfo are reported and do no harm") {
  const auto claim = [](std::size_t offset, std::uint8_t value) {
    return [=](FakeFabric::Answer& mad) {
      if (mad[16] == 0 && mad[17] == 0x11) mad[64 + offset] = value;
    };
  };
  FakeFabric fabric = FakeFabric::fat_tree(2, 2, 3);
  const auto hosts = hosts_of(fabric);
  std::function<void(FakeFabric::Answer&)> lie;
  FakeFabric::NodeId liar = hosts[1];
  std::size_t told = 1;
  SECTION("an adapter of type 0") { lie = claim(2, 0); }
  SECTION("an adapter with no ports") { lie = claim(3, 0); }
  SECTION("an adapter with 255 ports") { lie = claim(3, 255); }
  SECTION("an adapter that answers from port 200") { lie = claim(36, 200); }
  SECTION("an adapter that says it is a switch with 255 ports") {
    lie = [=](FakeFabric::Answer& mad) {
      claim(2, 2)(mad);
      claim(3, 255)(mad);
    };
  }
  SECTION("a host that always has another GUID") {
    lie = [n = 0](FakeFabric::Answer& mad) mutable {
      if (mad[17] == 0x11) mad[64 + 19] = static_cast<std::uint8_t>(++n);
    };
    told = 0;
  }
  fabric.node(liar).faults.lie = lie;
  const Swept swept(fabric);
  CHECK(swept.subnet.nodes().size() == fabric.size());
  CHECK(swept.failed(Failure::Kind::false_answer) == told);
}

TEST_CASE("a switch that never has the same GUID twice is survived") {
  FakeFabric fabric = FakeFabric::fat_tree(4, 2, 4);
  for (FakeFabric::NodeId id = 0; id < fabric.size(); ++id) {
    if (!fabric.node(id).is_switch() || fabric.node(id).ports.size() != 5) continue;
    fabric.node(id).faults.lie = [n = 0](FakeFabric::Answer& mad) mutable {
      if (mad[17] == 0x11) mad[64 + 18] = static_cast<std::uint8_t>(++n);
    };
    break;
  }
  const Swept swept(fabric);
  CHECK(swept.count(NodeKind::ca) >= 16);
  CHECK(swept.sent() < 20000);
}

TEST_CASE("a sweep goes no further than a model may grow, and says so once") {
  for (const SubnetLimits limits : {SubnetLimits{.nodes = 5}, SubnetLimits{.ports = 9 + 4 * 2}}) {
    FakeFabric fabric = star(8);
    const Swept swept(fabric, {}, 3, limits);
    CHECK(swept.subnet.nodes().size() == 5);
    CHECK(swept.subnet.ports().size() == 9 + 4 * 2);
    CHECK(std::ranges::count(swept.failures, no_room_text, &Failure::why) == 1);
  }
}

TEST_CASE("nodes that answer anything at all are survived") {
  for (unsigned seed = 0; seed < 40; ++seed) {
    FakeFabric fabric = FakeFabric::fat_tree(3, 2, 3);
    std::mt19937 random(seed);
    for (FakeFabric::NodeId id = 0; id < fabric.size(); ++id) {
      if (random() % 3 != 0 && seed % 2 == 0) continue;
      fabric.node(id).faults.lie = [random](FakeFabric::Answer& mad) mutable {
        for (unsigned i = 0; i < 4; ++i) mad[64 + random() % 64] = static_cast<std::uint8_t>(random());
      };
    }
    CAPTURE(seed);
    DiscoverOptions options;
    if (seed % 4 < 2) options.routing = Routing::lid;
    const Swept swept(fabric, options);
    CHECK(swept.subnet.nodes().size() >= 1);
    CHECK(swept.sent() < 300000);
  }
}

}  // namespace subnet_toughness_tests
