// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The subnet as its administrator tells it: the same as a sweep finds, by few queries and no SMP, and what contradicts
// itself is told.
#include "subnet/sweep/discovery.hpp"

#include "mad/rpc/rpc.hpp"
#include "support/catch.hpp"
#include "support/fake_clock.hpp"
#include "support/fake_sa.hpp"
#include "unit/subnet/swept.hpp"

namespace subnet_sa_discovery_tests {

using namespace ib;
using namespace ib::subnet;
using ibtest::FakeFabric;
using ibtest::FakeSa;
using ibtest::Swept;

namespace {

struct SaDiscoverOptions : DiscoverOptions {
  std::optional<Lid> start;
  std::vector<sa::NodeRecord> nodes;
};

/// A discovery from the SA of a fabric, on a fake clock.
struct FromSa : SweptSubnet {
  explicit FromSa(FakeFabric& of, SaDiscoverOptions options = {}, SubnetLimits limits = {}) : SweptSubnet{Subnet(limits), {}}, fabric(of) {
    Discovered discovered = loop.run(discover_from_sa(rpc, subnet, options, options.start, options.nodes));
    stats = std::move(discovered.stats);
    failures = std::move(discovered.failures);
  }
  std::size_t smps() const {
    std::size_t sum = 0;
    for (std::size_t node = 0; node <= fabric.size(); ++node) sum += fabric.requests_to(node);
    return sum;
  }

  FakeFabric& fabric;
  ibtest::FakeClock clock;
  async::Loop loop{clock};
  mad::Rpc rpc{loop, fabric.open()};
  DiscoverStats stats;
};

/// Everything that a model says, line by line, in an order of its own.
std::vector<std::string> facts(const Subnet& subnet) {
  std::vector<std::string> lines;
  const auto end = [&](PortIndex at) {
    const Port& port = subnet.port(at);
    return std::to_string(subnet.node(port.node).guid().value) + "." + std::to_string(port.number);
  };
  for (const Node& node : subnet.nodes()) {
    std::string line = "node " + std::to_string(node.guid().value) + " " + std::string(node.description());
    line += " type " + std::to_string(static_cast<int>(node.kind())) + " ports " + std::to_string(node.info.num_ports);
    line += " hops " + std::to_string(node.hops) + " switch info " + std::to_string(node.has_switch_info);
    line += " top " + std::to_string(node.switch_info().linear_fdb_top);
    if (node.kind() != NodeKind::sw) line += " entry " + std::to_string(node.entry_port) + " " + std::to_string(node.info.port_guid.value);
    lines.push_back(line);
  }
  for (PortIndex at = 0; at < subnet.ports().size(); ++at) {
    const Port& port = subnet.port(at);
    std::string line = "port " + end(at) + " info " + std::to_string(port.has_info) + " lid " + std::to_string(subnet.lid(at).value);
    line += " state " + std::to_string(static_cast<unsigned>(port.state())) + " guid " + std::to_string(port.guid.value);
    if (port.peer != none) line += " -> " + end(port.peer);
    lines.push_back(line);
  }
  lines.push_back("start " + end(subnet.start));
  std::sort(lines.begin(), lines.end());
  return lines;
}

/// Two switches joined by two cables, a host with a port on each, one with one port, a dead port; seen from the second.
FakeFabric odd_fabric() {
  FakeFabric fabric;
  const auto a = fabric.add_switch(0x100, 6, "a"), b = fabric.add_switch(0x200, 6, "b");
  const auto two = fabric.add_ca(0x300, 2, "two ports"), one = fabric.add_ca(0x400, 1, "one port"), dead = fabric.add_ca(0x500, 1, "dead");
  fabric.link(a, 1, b, 1);
  fabric.link(a, 2, b, 3);
  fabric.link(two, 1, a, 4);
  fabric.link(two, 2, b, 4);
  fabric.link(one, 1, b, 5);
  fabric.link(dead, 1, a, 6);
  fabric.set_link(dead, 1, false);
  fabric.assign_lids();
  fabric.attach(one);
  return fabric;
}

}  // namespace

TEST_CASE("four queries give the result of a sweep, and no SMP is sent") {
  for (FakeFabric& fabric : std::array{FakeFabric::fat_tree(4, 2, 3), odd_fabric()}) {
    const Swept swept(fabric);
    FakeSa sa(fabric);
    const FromSa from_sa(fabric);
    CHECK(sa.asked.size() == 4);
    CHECK(from_sa.stats.plan == 4);
    for (const FakeSa::Query& query : sa.asked) {
      CHECK(query.method == mad::method::get_table);
      CHECK(query.component_mask == 0);
    }
    CHECK(from_sa.failures.empty());
    CHECK(facts(from_sa.subnet) == facts(swept.subnet));
    const std::size_t smps = from_sa.smps();
    const FromSa again(fabric);
    CHECK(again.smps() == smps);
  }
}

TEST_CASE("a table that comes without its end is one failure, and what came of it is the model") {
  FakeFabric fabric = FakeFabric::fat_tree(4, 2, 3);
  const Swept swept(fabric);
  FakeSa sa(fabric);
  sa.cut = true;
  SaDiscoverOptions options;
  for (const Node& node : swept.subnet.nodes()) {  // the table of nodes was read before
    sa::NodeRecord record;
    record.lid = swept.subnet.lid(swept.subnet.end_port_of(node.first_port + node.entry_port));
    record.node_info = node.info;
    options.nodes.push_back(record);
  }
  const FromSa from_sa(fabric, options);
  CHECK(from_sa.subnet.nodes().size() == swept.subnet.nodes().size());
  REQUIRE(from_sa.failures.size() == 2);  // the table of switches fits
  CHECK(from_sa.failures[0].why == "The SA's table of PortInfoRecords came without its end: 2 arrived.");
  CHECK(from_sa.failures[1].why == "The SA's table of LinkRecords came without its end: 25 arrived.");
  for (const Failure& failure : from_sa.failures) CHECK(failure.node == none);
}

TEST_CASE("where the start of the discovery is not in what came of the table of nodes, the error says that it came without its end") {
  FakeFabric fabric = FakeFabric::fat_tree(4, 2, 3);
  FakeSa sa(fabric);
  sa.cut = true;
  try {
    const FromSa from_sa(fabric);
    FAIL("no error");
  } catch (const Error& error) {
    CHECK(error.message().starts_with("The SA does not know the port at LID "));
    CHECK(std::ranges::count(error.lines(0), "The SA's table of NodeRecords came without its end: 1 arrived.") == 1);
  }
}

TEST_CASE("a neighbourhood is read by as many queries as it needs") {
  FakeFabric fabric = odd_fabric();
  FakeSa sa(fabric);
  SaDiscoverOptions options;
  options.start = Lid{1};  // switch a
  options.radius = 1;
  const FromSa around(fabric, options);
  CHECK(around.subnet.nodes().size() == 3);
  CHECK(around.failures.empty());
  CHECK(around.subnet.start == around.subnet.find_lid(Lid{1}));
  const Node& a = around.subnet.node(around.subnet.find_node(Guid{0x100}));
  CHECK(around.subnet.port(a.first_port + 6).state() == smp::PortState::down);
  const Port& second = around.subnet.port(around.subnet.port(a.first_port + 2).peer);
  CHECK(second.number == 3);
  CHECK(second.has_info);  // the far end of the second cable too
  // a: NodeInfo, SwitchInfo, 7 PortInfos and 3 links; b: NodeInfo, SwitchInfo, 3 PortInfos; the host: 2
  constexpr std::size_t queries = 1 + 1 + 7 + 3 + 5 + 2;
  CHECK(sa.asked.size() == queries);
  sa.asked.clear();
  sa.lmc = 3;  // the links of LID 1 are not found by it
  const FromSa rounded(fabric, options);
  CHECK(facts(rounded.subnet) == facts(around.subnet));
  CHECK(rounded.failures.empty());
  CHECK(sa.asked.size() == queries + 3);
}

TEST_CASE("contradictions of the SA are reported, and unconnected records are not used") {
  FakeFabric fabric = FakeFabric::fat_tree(2, 1, 2);
  FakeSa sa(fabric);
  const auto kinds = [](const SweptSubnet& swept, Failure::Kind kind) { return std::ranges::count(swept.failures, kind, &Failure::kind); };

  SECTION("links from nowhere, into nowhere and two from one port") {
    sa.lie = [](std::uint16_t attribute, std::vector<FakeSa::Record>& records) {
      if (attribute != sa::LinkRecord::attribute_id) return;
      sa::LinkRecord link = sa::LinkRecord::unpack(records.front());
      for (const Lid lid : {Lid{999}, Lid{0xffff}, Lid{0}}) {
        link.to_lid = lid;
        records.emplace_back(sa::LinkRecord::wire_size);
        link.pack(records.back());
      }
      link.to_lid = link.from_lid;
      link.to_port = 2;
      records.emplace_back(sa::LinkRecord::wire_size);
      link.pack(records.back());
    };
    const FromSa from_sa(fabric);
    CHECK(from_sa.subnet.nodes().size() == 7);
    REQUIRE(kinds(from_sa, Failure::Kind::false_answer) == 2);
    const auto& failures = from_sa.failures;
    CHECK(failures.back().why == "The SA has 3 LinkRecords of ports that it does not know, the first of port 3 of LID 999.");
  }

  SECTION("ports that a node does not have") {
    sa.lie = [](std::uint16_t attribute, std::vector<FakeSa::Record>& records) {
      if (attribute == sa::PortInfoRecord::attribute_id) records.front()[2] = 200;  // PortNum of a switch
    };
    const FromSa from_sa(fabric);
    CHECK(kinds(from_sa, Failure::Kind::false_answer) == 1);
    CHECK(kinds(from_sa, Failure::Kind::no_record) == 1);  // port 0 is missing now
  }

  SECTION("two nodes with one GUID, and two with one LID") {
    sa.lie = [](std::uint16_t attribute, std::vector<FakeSa::Record>& records) {
      if (attribute != sa::NodeRecord::attribute_id) return;
      sa::NodeRecord a = sa::NodeRecord::unpack(records[4]), b = sa::NodeRecord::unpack(records[5]);
      b.node_info.node_guid = a.node_info.node_guid;
      b.pack(records[5]);
      sa::NodeRecord c = sa::NodeRecord::unpack(records[6]);
      c.lid = a.lid;
      c.pack(records[6]);
    };
    const FromSa from_sa(fabric);
    CHECK(kinds(from_sa, Failure::Kind::duplicate_guid) == 1);
    CHECK(kinds(from_sa, Failure::Kind::duplicate_lid) >= 1);
    CHECK(from_sa.subnet.nodes().size() == 7);
  }

  SECTION("a port that is up without a link, and one without PortInfo") {
    sa.lie = [](std::uint16_t attribute, std::vector<FakeSa::Record>& records) {
      if (attribute == sa::LinkRecord::attribute_id) {
        std::erase_if(records, [](const FakeSa::Record& bytes) {
          const sa::LinkRecord link = sa::LinkRecord::unpack(bytes);
          return link.from_lid == Lid{7} || link.to_lid == Lid{7};
        });
      }
      if (attribute == sa::PortInfoRecord::attribute_id) records.erase(records.begin() + 1);
    };
    const FromSa from_sa(fabric);
    CHECK(kinds(from_sa, Failure::Kind::no_record) == 3);
  }
}

TEST_CASE("a model from the SA stays within its limit, which is reported once") {
  FakeFabric fabric = FakeFabric::fat_tree(2, 1, 2);
  FakeSa sa(fabric);
  for (const SubnetLimits limits : {SubnetLimits{.nodes = 6}, SubnetLimits{.ports = 3 + 4 + 4 + 3 * 2}}) {
    const FromSa from_sa(fabric, {}, limits);
    CHECK(from_sa.subnet.nodes().size() == 6);
    CHECK(std::ranges::count(from_sa.failures, no_room_text, &Failure::why) == 1);
  }
}

TEST_CASE("endless contradictions are reported up to a limit") {
  FakeFabric fabric = FakeFabric::fat_tree(2, 1, 2);
  FakeSa sa(fabric);
  sa.lie = [](std::uint16_t attribute, std::vector<FakeSa::Record>& records) {
    if (attribute != sa::LinkRecord::attribute_id) return;
    sa::LinkRecord link = sa::LinkRecord::unpack(records.front());
    link.to_lid = link.from_lid;
    link.to_port = 2;
    FakeSa::Record second(sa::LinkRecord::wire_size);
    link.pack(second);
    records.resize(100000, second);
  };
  const FromSa from_sa(fabric);
  CHECK(from_sa.failures.size() < 70000);
  CHECK(std::ranges::count(from_sa.failures, "There are more contradictions between records.", &Failure::why) == 1);
}

TEST_CASE("an SA that does not know this port, or does not answer, is an error") {
  FakeFabric fabric = FakeFabric::fat_tree(2, 1, 2);
  FakeSa sa(fabric);
  sa.lie = [](std::uint16_t, std::vector<FakeSa::Record>& records) { records.clear(); };
  CHECK_THROWS_WITH(FromSa(fabric), "The SA does not know the port at LID 3, where the discovery was to begin");
  sa.silent = true;
  CHECK_THROWS_AS(FromSa(fabric), mad::MadTimeout);
  sa.silent = false;
  sa.status = 0x0100;
  CHECK_THROWS_AS(FromSa(fabric), mad::SaError);
  SaDiscoverOptions options;
  options.start = Lid{77};
  options.radius = 1;
  sa.status = 0;
  CHECK_THROWS_AS(FromSa(fabric, options), mad::SaError);
}

}  // namespace subnet_sa_discovery_tests
