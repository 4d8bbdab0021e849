// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Nodes that fall silent while they are read: one costs one chain of tries, a thousand about as much, and each is one failure.

#include "support/catch.hpp"
#include "unit/subnet/swept.hpp"

namespace subnet_silence_tests {

using namespace ib;
using namespace ib::subnet;
using namespace std::chrono_literals;
using ibtest::FakeFabric;
using ibtest::Swept;

namespace {

/// A host, a switch, hubs at that switch and up to 2000 leaves of `ports` ports at the hubs, each by one link, so that a leaf is asked
/// for its NodeInfo once.
struct Tree {
  explicit Tree(unsigned count, unsigned ports = 36) {
    const auto root = fabric.add_switch(0x100, 16, "root");
    const auto host = fabric.add_ca(0x8000, 1, "host");
    fabric.link(root, 1, host, 1);
    for (unsigned i = 0; i < count; ++i) {
      if (i % 200 == 0) {
        hub = fabric.add_switch(0x200 + i / 200, 254, "hub");
        fabric.link(root, 2 + i / 200, hub, 1);
      }
      leaves.push_back(fabric.add_switch(0x10000 + i, ports, "leaf"));
      fabric.link(hub, 2 + i % 200, leaves.back(), 1);
    }
    fabric.assign_lids();
    fabric.attach(host);
  }
  FakeFabric fabric;
  FakeFabric::NodeId hub{};
  std::vector<FakeFabric::NodeId> leaves;
};

DiscoverOptions routed(Routing routing) {
  DiscoverOptions options;
  options.routing = routing;
  return options;
}

/// How long a sweep takes in which a node never answers: one chain of tries and next to nothing else.
async::Duration one_chain() {
  Tree tree(1);
  tree.fabric.node(tree.leaves[0]).faults.silent = true;
  return Swept(tree.fabric).took;
}

}  // namespace

TEST_CASE("a switch that falls silent costs one chain of tries and is one failure, wherever it stops") {
  const async::Duration chain = one_chain();
  for (const Routing routing : {Routing::directed, Routing::lid}) {
    // After NodeInfo; after NodeDescription, PortInfo of port 0 and SwitchInfo; in the middle of the ports; before the last one.
    for (const unsigned answers : {1U, 2U, 3U, 4U, 5U, 20U, 39U}) {
      Tree tree(3);
      tree.fabric.node(tree.leaves[1]).faults.answers_left = answers;
      const Swept swept(tree.fabric, routed(routing));
      CAPTURE(answers, routing == Routing::lid);
      REQUIRE(swept.failures.size() == 1);
      const Failure& failure = swept.failures[0];
      CHECK(failure.kind == Failure::Kind::no_answer);
      CHECK(swept.subnet.node(failure.node).guid() == Guid{0x10001});
      CHECK(failure.port == -1);
      CHECK_FALSE(failure.beyond);
      CHECK(failure.attribute == "NodeInfo");
      CHECK(failure.error != nullptr);
      CHECK(failure.why == "It answered at first and then stopped answering; " + std::to_string(40 - answers) +
                               (answers == 39 ? " of its attributes is not known." : " of its attributes are not known."));
      CHECK(swept.took < chain * 3 / 2);
      CHECK(swept.subnet.nodes().size() == tree.fabric.size());
      CHECK(swept.sent() == swept.stats.plan + swept.explained());
    }
  }
}

TEST_CASE("a thousand switches that fall silent cost about as much as one") {
  for (const Routing routing : {Routing::directed, Routing::lid}) {
    for (const unsigned answers : {1U, 4U, 7U}) {
      Tree one(1000, 8), many(1000, 8);
      one.fabric.node(one.leaves[0]).faults.answers_left = answers;
      for (const FakeFabric::NodeId leaf : many.leaves) many.fabric.node(leaf).faults.answers_left = answers;
      const Swept first(one.fabric, routed(routing)), second(many.fabric, routed(routing));
      CAPTURE(answers, routing == Routing::lid, first.took / 1ms, second.took / 1ms);
      CHECK(first.failures.size() == 1);
      CHECK(second.failures.size() == 1000);
      CHECK(second.took < first.took * 2);
      CHECK(second.sent() == second.stats.plan + second.explained());
    }
  }
}

TEST_CASE("a switch whose links go down while it is read costs one chain of tries") {
  const async::Duration chain = one_chain();
  for (const Routing routing : {Routing::directed, Routing::lid}) {
    for (unsigned answers = 1; answers < 60; ++answers) {
      FakeFabric fabric = FakeFabric::fat_tree(8, 4, 8);
      REQUIRE(fabric.node(0).ports.size() == 9);  // a spine, with a link to each leaf
      fabric.node(0).faults.vanish_after = answers;
      const Swept swept(fabric, routed(routing));
      CAPTURE(answers, routing == Routing::lid);
      CHECK(swept.took < chain * 3 / 2);
      CHECK(swept.subnet.nodes().size() >= fabric.size() - 1);
    }
  }
}

TEST_CASE("a node that was silent for a while is read to the end") {
  Tree tree(3);
  FakeFabric::Node& leaf = tree.fabric.node(tree.leaves[1]);
  unsigned asked = 0;
  leaf.faults.deaf = [&asked] { return ++asked > 10 && asked <= 10 + 4 + 3; };  // for one chain
  const Swept swept(tree.fabric);
  CHECK(swept.failures.empty());
  CHECK(swept.subnet.ports_of(swept.subnet.node(swept.subnet.find_node(Guid{0x10001})))[36].has_info);
  CHECK(swept.sent() == swept.stats.plan + swept.explained());
}

TEST_CASE("one unanswered attribute is a failure only of that attribute") {
  for (const std::uint16_t attribute : {smp::NodeDescription::attribute_id, smp::SwitchInfo::attribute_id, smp::PortInfo::attribute_id,
                                        smp::MlnxExtPortInfo::attribute_id}) {
    Tree tree(3);
    tree.fabric.node(tree.leaves[1]).faults.ignores = attribute;
    DiscoverOptions options;
    options.mlnx_extended_port_info = true;
    const Swept swept(tree.fabric, options);
    CAPTURE(attribute);
    std::size_t unanswered = 0;
    for (const Failure& failure : swept.failures) {
      if (failure.kind != Failure::Kind::no_answer) continue;
      CHECK(failure.attribute != "NodeInfo");
      CHECK(swept.subnet.node(failure.node).guid() == Guid{0x10001});
      ++unanswered;
    }
    // Of ports all 37; of ports that may be FDR10 the linked one and port 0.
    CHECK(unanswered == (attribute == smp::PortInfo::attribute_id ? 37 : attribute == smp::MlnxExtPortInfo::attribute_id ? 2 : 1));
  }
}

TEST_CASE("an attribute that is not answered hides no other one, where one request is sent at a time") {
  for (const std::uint16_t attribute : {smp::NodeDescription::attribute_id, smp::SwitchInfo::attribute_id}) {
    Tree tree(3);
    tree.fabric.node(tree.leaves[1]).faults.ignores = attribute;
    const Swept swept(tree.fabric, {}, 3, {}, mad::RpcLimits::outstanding(1));
    CAPTURE(attribute);
    CHECK(swept.failures.size() == 1);
    for (const Port& port : swept.subnet.ports_of(swept.subnet.node(swept.subnet.find_node(Guid{0x10001})))) CHECK(port.has_info);
  }
}

TEST_CASE("where a tenth of all MADs is lost no node is declared dead") {
  for (const Routing routing : {Routing::directed, Routing::lid}) {
    for (unsigned seed = 1; seed <= 5; ++seed) {
      Tree tree(300);
      tree.fabric.network.loss = 0.1;
      tree.fabric.seed(seed);
      const Swept swept(tree.fabric, routed(routing), 5);
      CAPTURE(seed, routing == Routing::lid);
      for (const Failure& failure : swept.failures) CHECK(failure.attribute != "NodeInfo");
      CHECK(swept.subnet.nodes().size() == tree.fabric.size());
    }
  }
}

TEST_CASE("a sweep may end while its requests are on their way") {
  Tree tree(3);
  tree.fabric.node(tree.leaves[1]).faults.answers_left = 3;
  tree.fabric.node(tree.leaves[2]).faults.deaf = [&tree, asked = 0]() mutable {
    if (++asked == 20) tree.fabric.channel().later(1s, [&tree] { tree.fabric.channel().break_down(EIO); });
    return false;
  };
  REQUIRE_THROWS_AS(Swept(tree.fabric), SysError);
}

}  // namespace subnet_silence_tests
