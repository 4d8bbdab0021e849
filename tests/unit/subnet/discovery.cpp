// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Sweeps of healthy fabrics: everything is found, by shortest routes, with no MAD more than it takes.
#include "subnet/sweep/discovery.hpp"

#include "support/catch.hpp"
#include "support/fake_clock.hpp"
#include "unit/subnet/swept.hpp"

namespace subnet_discovery_tests {

using namespace ib;
using namespace ib::subnet;
using ibtest::FakeFabric;
using ibtest::Swept;

namespace {

DiscoverOptions by_lid() {
  DiscoverOptions options;
  options.routing = Routing::lid;
  return options;
}

/// A torus of `n` × `n` switches with a host at each: links between switches of one distance, and several ways.
FakeFabric torus(unsigned n) {
  FakeFabric fabric;
  std::vector<FakeFabric::NodeId> switches;
  for (unsigned i = 0; i < n * n; ++i) switches.push_back(fabric.add_switch(0x1000 + i, 8, "switch"));
  for (unsigned i = 0; i < n * n; ++i) {
    fabric.link(switches[i], 1, switches[i / n * n + (i + 1) % n], 2);
    fabric.link(switches[i], 3, switches[(i + n) % (n * n)], 4);
    fabric.link(switches[i], 5, fabric.add_ca(0x9000 + 16 * i, 1, "host"), 1);
  }
  fabric.assign_lids();
  fabric.attach(n * n);
  return fabric;
}

}  // namespace

TEST_CASE("a fat tree is read with exactly the MADs it takes") {
  FakeFabric fabric = FakeFabric::fat_tree(6, 3, 5);
  const Swept swept(fabric);
  CHECK(swept.count(NodeKind::ca) == 30);
  CHECK(swept.count(NodeKind::sw) == 9);
  CHECK(swept.links() == 30 + 18);
  CHECK(swept.failures.empty());
  // 1 + C + L + 2C + S(P+3), the ports of each switch counted as they are
  std::uint64_t of_switches = 0;
  for (const Node& node : swept.subnet.nodes()) {
    if (node.kind() == NodeKind::sw) of_switches += node.info.num_ports + 3U;
  }
  CHECK(swept.sent() == 1 + 30 + 18 + 2 * 30 + of_switches);
  CHECK(swept.stats.plan == swept.sent());
  CHECK(swept.explained() == 0);
}

TEST_CASE("routes are the shortest ones and lead where they say") {
  FakeFabric fabric = torus(5);
  const Swept swept(fabric);
  REQUIRE(swept.count(NodeKind::sw) == 25);
  std::array<std::uint8_t, 64> route{};
  unsigned farthest = 0;
  for (NodeIndex at = 0; at < swept.subnet.nodes().size(); ++at) {
    const unsigned hops = route_to(swept.subnet, at, route);
    CHECK(hops == swept.subnet.node(at).hops);
    PortIndex end = swept.subnet.start;
    for (unsigned hop = 1; hop <= hops; ++hop) {
      const PortIndex out = swept.subnet.port_of(swept.subnet.port(end).node, route[hop]);
      REQUIRE(swept.subnet.port(out).peer != none);
      end = swept.subnet.port(out).peer;
    }
    CHECK(swept.subnet.port(end).node == at);
    farthest = std::max(farthest, hops);
  }
  CHECK(farthest == 1 + 4 + 1);  // host, switch, at most two steps in each direction, host
}

TEST_CASE("every MAD beyond the plan is counted by reason") {
  for (unsigned n : {3U, 4U, 5U}) {
    FakeFabric fabric = torus(n);
    const Swept swept(fabric);
    CHECK(swept.links() == 2 * n * n + n * n);
    CHECK(swept.failures.empty());
    CHECK(swept.sent() == swept.stats.plan + swept.explained());
    CHECK(swept.explained() <= 2 * n * n);  // at most one extra NodeInfo for each switch link
  }
}

TEST_CASE("by LID the same is found") {
  FakeFabric fabric = torus(4);
  const Swept directed(fabric);
  SECTION("where all routes work") {}
  SECTION("where directed routes from a LID are not answered") { fabric.network.combined_routes = false; }
  SECTION("where nothing is answered by LID") { fabric.network.lid_routing = fabric.network.combined_routes = false; }
  std::vector<std::string> told;
  DiscoverOptions options = by_lid();
  options.notice = [&](std::string_view line) { told.emplace_back(line); };
  const Swept swept(fabric, options);
  CHECK(swept.guids() == directed.guids());
  CHECK(swept.link_names() == directed.link_names());
  CHECK(swept.failures.empty());
  CHECK(told.empty() == fabric.network.combined_routes);
  CHECK(swept.sent() == swept.stats.plan + swept.explained());
  const auto& first = swept.rpc->stats()->first_tries;
  const bool fell_back = std::any_of(first.begin(), first.end(), [](const auto& entry) { return entry.first != mad::requested; });
  CHECK(fell_back != fabric.network.combined_routes);
}

TEST_CASE("a sweep that begins at a LID tries the routes from there shortly, and for long only where they work") {
  FakeFabric fabric = torus(3);
  Swept swept(fabric);
  path::IbPath start;
  start.end_port = &fabric.end_port();
  start.dlid = Lid{1};
  start.slid = fabric.end_port().lid;
  start.dqpn = start.sqpn = Qpn{0};
  start.qkey = 0;
  DiscoverOptions options;
  options.radius = 1;
  const auto sweep = [&] {
    const async::Time begun = swept.clock.now();
    swept.loop.run(Swept::sweep(swept, start, options));
    return swept.clock.now() - begun;
  };
  SECTION("they work") {
    CHECK(sweep() < std::chrono::milliseconds(50));
    CHECK(swept.subnet.nodes().size() == 6);
    CHECK(swept.failures.empty());
  }
  SECTION("none is answered") {
    fabric.network.combined_routes = false;
    CHECK(sweep() < std::chrono::milliseconds(500));
    CHECK(swept.subnet.nodes().size() == 1);
    CHECK(swept.failures.size() == 5);
    CHECK(swept.failed(Failure::Kind::no_answer) == 5);
  }
  SECTION("one node is silent") {
    constexpr FakeFabric::NodeId neighbour = 3;
    fabric.node(neighbour).faults.silent = true;
    CHECK(sweep() > std::chrono::milliseconds(500));
    CHECK(swept.subnet.nodes().size() == 5);
    CHECK(swept.failed(Failure::Kind::no_answer) == 1);
  }
}

TEST_CASE("attributes that are not needed are not requested, as the plan says") {
  FakeFabric fabric = torus(3);
  fabric.link(0, 6, fabric.add_router(0xa000, 1, "a router"), 1);
  fabric.assign_lids();
  const Swept whole(fabric);
  const bool described = GENERATE(true, false), end_ports = GENERATE(true, false), switch_infos = GENERATE(true, false);
  DiscoverOptions options;
  SECTION("by directed routes") {}
  SECTION("by LID") { options.routing = Routing::lid; }
  SECTION("near the start") { options.radius = 2; }
  if (!described) options.needs.descriptions = {NodeKind::router};
  if (!end_ports) options.needs.end_ports = {};
  options.needs.switch_infos = switch_infos;
  const Swept swept(fabric, options);
  CHECK(swept.failures.empty());
  CHECK(swept.sent() == swept.stats.plan + swept.explained());
  if (options.radius == ~0U) CHECK(swept.link_names() == whole.link_names());
  for (const Node& node : swept.subnet.nodes()) {
    const bool is_switch = node.kind() == NodeKind::sw;
    CHECK(node.has_description == (described || node.kind() == NodeKind::router));
    CHECK(node.has_switch_info == (is_switch && switch_infos && node.hops < options.radius));
    for (const Port& port : swept.subnet.ports_of(node)) {
      const PortIndex index = node.first_port + port.number;
      if (is_switch && port.number == 0) CHECK(port.has_info == (end_ports || options.routing == Routing::lid));
      if (is_switch && port.number != 0 && node.hops < options.radius) CHECK(port.has_info);
      if (!is_switch && port.peer != none) CHECK(port.has_info == (end_ports || index == swept.subnet.start));
    }
  }
}

TEST_CASE("of a single node nothing beyond its ports is requested") {
  FakeFabric fabric = FakeFabric::fat_tree(3, 2, 4);
  for (FakeFabric::NodeId id = 0; id < fabric.size(); ++id) {
    if (fabric.node(id).is_switch()) fabric.attach(id, 0);
  }
  DiscoverOptions options;
  options.radius = 1;
  options.alone = true;
  const Swept swept(fabric, options);
  REQUIRE(swept.subnet.nodes().size() == 1);
  CHECK(swept.sent() == 1 + 1 + 1 + 1U + swept.subnet.node(0).info.num_ports);
  CHECK(swept.stats.plan == swept.sent());
  CHECK(swept.subnet.node(0).has_switch_info);
}

TEST_CASE("the NodeInfo of a known node is not requested") {
  FakeFabric fabric = FakeFabric::fat_tree(2, 1, 2);
  const Swept whole(fabric);
  const NodeIndex start = whole.subnet.port(whole.subnet.start).node;
  const NodeIndex leaf = whole.subnet.port(whole.subnet.port(whole.subnet.start).peer).node;
  DiscoverOptions options;
  SECTION("the first one") { options.known = KnownNode{whole.subnet.node(start).info}; }
  SECTION("the next one") { options.known = KnownNode{whole.subnet.node(leaf).info, 1}; }
  const Swept swept(fabric, options);
  CHECK(swept.sent() == whole.sent() - 1);
  CHECK(swept.stats.plan == swept.sent());
  CHECK(swept.link_names() == whole.link_names());
}

TEST_CASE("a node that is known and is not there does not count") {
  FakeFabric fabric = FakeFabric::fat_tree(2, 1, 2);
  DiscoverOptions options;
  options.known = KnownNode{fabric.node(0).info, 7};
  const Swept swept(fabric, options);
  CHECK(swept.subnet.nodes().size() == fabric.size());
  CHECK(swept.stats.plan == swept.sent());
}

TEST_CASE("a switch that turns out to be nearer than the rim is read whole") {
  // Two ways lead to the last switch: the short one over a slow switch.
  FakeFabric fabric;
  const auto first = fabric.add_switch(0x100, 4, "first"), slow = fabric.add_switch(0x200, 4, "slow");
  const auto one = fabric.add_switch(0x300, 4, "one"), two = fabric.add_switch(0x400, 4, "two"), last = fabric.add_switch(0x500, 4, "last");
  const auto host = fabric.add_ca(0x600, 1, "host"), beyond = fabric.add_ca(0x700, 1, "beyond");
  fabric.link(first, 1, host, 1);
  fabric.link(first, 2, slow, 1);
  fabric.link(slow, 2, last, 1);
  fabric.link(first, 3, one, 1);
  fabric.link(one, 2, two, 1);
  fabric.link(two, 2, last, 2);
  fabric.link(last, 3, beyond, 1);
  fabric.assign_lids();
  fabric.attach(host);
  fabric.node(slow).faults.delay = std::chrono::milliseconds(300);
  DiscoverOptions options;
  options.radius = 4;
  const Swept swept(fabric, options);
  const NodeIndex at = swept.subnet.find_node(Guid{0x500});
  REQUIRE(at != none);
  CHECK(swept.subnet.node(at).hops == 3);
  CHECK(swept.subnet.node(at).has_switch_info);
  CHECK(swept.subnet.find_node(Guid{0x700}) != none);
  CHECK(swept.sent() == swept.stats.plan + swept.explained());
}

TEST_CASE("a node that fails is named, whatever is wanted") {
  FakeFabric fabric = FakeFabric::fat_tree(2, 1, 2);
  fabric.node(1).faults.status = mad::status::unsupported_method_attribute;
  fabric.node(1).faults.status_attribute = smp::PortInfo::attribute_id;
  DiscoverOptions options;
  options.needs.descriptions = {};
  const Swept swept(fabric, options);
  REQUIRE(!swept.failures.empty());
  for (const Node& node : swept.subnet.nodes()) CHECK(node.has_description == (node.guid() == fabric.node(1).info.node_guid));
  CHECK(swept.sent() == swept.stats.plan + swept.explained());
}

TEST_CASE("answers of nodes are kept") {
  FakeFabric fabric;
  const auto sw = fabric.add_switch(0x100, 4, std::string(64, 'x'));
  const auto one = fabric.add_ca(0x200, 2, "two ports");
  const auto other = fabric.add_router(0x300, 1, "a router");
  fabric.link(sw, 1, one, 1);
  fabric.link(sw, 2, one, 2);
  fabric.link(sw, 3, other, 1);
  fabric.assign_lids();
  fabric.attach(one);
  const Swept swept(fabric);
  const Subnet& subnet = swept.subnet;
  REQUIRE(subnet.nodes().size() == 3);
  const NodeIndex at = subnet.find_node(Guid{0x100});
  CHECK(subnet.node(at).description() == std::string(64, 'x'));  // no terminator
  CHECK(subnet.node(subnet.find_node(Guid{0x300})).kind() == NodeKind::router);
  const NodeIndex host = subnet.find_node(Guid{0x200});
  CHECK(subnet.find_port(Guid{0x202}) == subnet.port_of(host, 2));
  CHECK(subnet.lid(subnet.port_of(host, 1)) != subnet.lid(subnet.port_of(host, 2)));
  CHECK(subnet.lid(subnet.port_of(at, 3)) == subnet.lid(subnet.port_of(at, 0)));
  CHECK(subnet.find_lid(subnet.lid(subnet.port_of(at, 3))) == subnet.port_of(at, 0));
  CHECK(subnet.start == subnet.port_of(host, 1));
  CHECK(swept.failed(Failure::Kind::no_answer) == 0);
}

TEST_CASE("a switch may have 254 ports") {
  FakeFabric fabric;
  const auto sw = fabric.add_switch(0x100, 254, "director");
  for (unsigned port = 1; port <= 254; ++port) fabric.link(sw, port, fabric.add_ca(0x10000 + 16 * port, 1, "host"), 1);
  fabric.assign_lids();
  fabric.attach(1);
  const Swept swept(fabric);
  CHECK(swept.count(NodeKind::ca) == 254);
  CHECK(swept.failures.empty());
}

TEST_CASE("a sweep from a switch, and of one node that is linked to nothing") {
  FakeFabric fabric = FakeFabric::fat_tree(2, 2, 2);
  for (FakeFabric::NodeId id = 0; id < fabric.size(); ++id) {
    if (!fabric.node(id).is_switch()) continue;
    fabric.attach(id, 0);
    break;
  }
  const Swept swept(fabric);
  CHECK(swept.subnet.nodes().size() == fabric.size());
  CHECK(swept.subnet.port(swept.subnet.start).number == 0);

  FakeFabric alone;
  alone.attach(alone.add_ca(0x200, 1, "alone"));
  const Swept one(alone);
  CHECK(one.subnet.nodes().size() == 1);
  CHECK(one.failures.empty());
}

TEST_CASE("a radius limits the sweep to the neighbours, each link to them with both ends read") {
  FakeFabric fabric = FakeFabric::fat_tree(3, 2, 4);
  DiscoverOptions options;
  options.radius = 2;
  const Swept swept(fabric, options);
  CHECK(swept.subnet.nodes().size() == 2 + 3 + 2);  // the leaf's hosts, the leaf, the spines
  for (const Port& port : swept.subnet.ports()) {
    if (port.peer != none) CHECK(port.has_info);
  }
}

namespace {

/// Counts the calls that are open at a time.
class Counting final : public mad::Transactor {
 public:
  explicit Counting(mad::Transactor& below) : Transactor(below.end_port()), below_(below) {}
  async::Task<mad::Result<mad::Reply>> try_call(const mad::Request& request) override {
    most = std::max(most, ++open_);
    mad::Result<mad::Reply> reply = co_await below_.try_call(request);
    --open_;
    co_return reply;
  }
  std::size_t most = 0;

 private:
  mad::Transactor& below_;
  std::size_t open_ = 0;
};

/// The most requests that a sweep has open at a time.
std::size_t most_open(FakeFabric& fabric) {
  ibtest::FakeClock clock;
  async::Loop loop(clock);
  mad::Rpc rpc(loop, fabric.open());
  Counting counting(rpc);
  Subnet subnet;
  path::IbDrPath start;
  start.end_port = &fabric.end_port();
  start.sqpn = Qpn{0};
  loop.run(discover(counting, subnet, start, {}));
  return counting.most;
}

}  // namespace

TEST_CASE("a sweep has few requests open where nodes answer, and many where they wait for silent nodes") {
  // 60 leaves of 38 ports are found in a few round trips: 2,500 things to ask at once.
  FakeFabric fabric = FakeFabric::fat_tree(60, 2, 36);
  CHECK(most_open(fabric) <= 300);
  FakeFabric dead = FakeFabric::fat_tree(60, 2, 36);
  for (FakeFabric::NodeId id = 0; id < dead.size(); ++id) {
    if (!dead.node(id).is_switch() && id > 3) dead.node(id).faults.silent = true;
  }
  CHECK(most_open(dead) > 2000);
}

TEST_CASE("a model is filled again by the next sweep, and has only the failures of that sweep") {
  FakeFabric fabric = FakeFabric::fat_tree(2, 1, 2);
  fabric.node(4).faults.silent = true;
  Swept swept(fabric);
  CHECK_FALSE(swept.failures.empty());
  fabric.node(4).faults.silent = false;
  fabric.set_link(5, 1, false);
  path::IbDrPath start(&fabric.end_port());
  swept.loop.run(Swept::sweep(swept, start, {}));
  const Swept fresh(fabric);
  CHECK(swept.failures.empty());
  CHECK(swept.guids() == fresh.guids());
  CHECK(swept.link_names() == fresh.link_names());
  CHECK(swept.subnet.find_node(fabric.node(5).info.node_guid) == none);
}

}  // namespace subnet_discovery_tests
