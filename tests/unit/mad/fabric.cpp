// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The fake fabric itself: what other tests take for granted of it. And the typed calls, end to end.
#include "iba-gen/smp.hpp"
#include "mad/rpc/rpc.hpp"
#include "support/catch.hpp"
#include "support/fake_clock.hpp"
#include "support/fake_fabric.hpp"

namespace mad_fabric_tests {

using namespace ib;
using namespace ib::mad;
using namespace std::chrono_literals;
using ibtest::FakeFabric;

namespace {

struct Bench {
  // host0 – leaf0 port 1; leaf port 3 goes to the spine, whose port 2 goes to leaf1.
  FakeFabric fabric = FakeFabric::fat_tree(2, 1, 2);
  ibtest::FakeClock clock;
  async::Loop loop{clock};
  Rpc rpc{loop, fabric.open()};

  path::Path direct(std::initializer_list<std::uint8_t> ports) const {
    path::IbDrPath path(&fabric.end_port());
    path.timeout = 1s;
    for (const std::uint8_t port : ports) path.route[++path.hops] = port;
    return path;
  }
  path::Path lid(std::uint16_t lid) const {
    path::IbPath path;
    path.end_port = &fabric.end_port();
    path.slid = fabric.end_port().lid;
    path.dlid = Lid{lid};
    path.timeout = 1s;
    return path;
  }
  template <class T>
  Result<T> get(const path::Path& path, std::uint32_t modifier = 0) {
    return loop.run(rpc.try_subn_get<T>(path, modifier));
  }
};

std::string text(const smp::NodeDescription& description) { return reinterpret_cast<const char*>(description.node_string.data()); }

}  // namespace

TEST_CASE("directed routes lead through switches to their end") {
  Bench bench;
  REQUIRE(text(*bench.get<smp::NodeDescription>(bench.direct({}))) == "host0 HCA-1");
  REQUIRE(text(*bench.get<smp::NodeDescription>(bench.direct({1}))) == "leaf0");
  REQUIRE(text(*bench.get<smp::NodeDescription>(bench.direct({1, 3}))) == "spine0");
  REQUIRE(text(*bench.get<smp::NodeDescription>(bench.direct({1, 3, 2, 2}))) == "host3 HCA-1");
  const auto info = bench.get<smp::NodeInfo>(bench.direct({1, 3, 2}));
  REQUIRE(info->node_type == smp::NodeType::switch_);
  REQUIRE(info->local_port_num == 3);
  REQUIRE(info->node_guid == Guid{0x6001});
  // No port, a port that is down, through a CA: nobody answers.
  REQUIRE_FALSE(bench.get<smp::NodeInfo>(bench.direct({1, 9})));
  REQUIRE_FALSE(bench.get<smp::NodeInfo>(bench.direct({1, 2, 1})));
  bench.fabric.set_link(0, 2, false);
  REQUIRE_FALSE(bench.get<smp::NodeInfo>(bench.direct({1, 3, 2})));
}

TEST_CASE("LIDs lead along the forwarding tables") {
  Bench bench;
  for (FakeFabric::NodeId id = 0; id < bench.fabric.size(); ++id) {
    const auto& node = bench.fabric.node(id);
    const auto info = bench.get<smp::NodeInfo>(bench.lid(node.ports.back().info.lid.value));
    REQUIRE(info);
    REQUIRE(info->node_guid == node.info.node_guid);
  }
  REQUIRE_FALSE(bench.get<smp::NodeInfo>(bench.lid(100)));
  bench.fabric.network.lid_routing = false;
  REQUIRE_FALSE(bench.get<smp::NodeInfo>(bench.lid(1)));
}

TEST_CASE("combined routes work unless the fabric refuses them") {
  Bench bench;
  path::IbDrPath path(&bench.fabric.end_port());
  path.timeout = 1s;
  path.dlid = Lid{1};  // the spine
  path.slid = path.dr_slid = bench.fabric.end_port().lid;
  path.route[1] = 2;
  path.hops = 1;
  REQUIRE(text(*bench.get<smp::NodeDescription>(path)) == "leaf1");
  bench.fabric.network.combined_routes = false;
  REQUIRE_FALSE(bench.get<smp::NodeDescription>(path));
}

TEST_CASE("attributes have the modifiers of the IBA") {
  Bench bench;
  const path::Path leaf = bench.direct({1});
  REQUIRE(bench.get<smp::PortInfo>(leaf, 3)->port_state == smp::PortState::active);
  REQUIRE(bench.get<smp::PortInfo>(leaf, 0)->lid == bench.fabric.node(1).ports[0].info.lid);
  const auto beyond = bench.get<smp::PortInfo>(leaf, 4);
  REQUIRE(beyond.error().status() == status::invalid_attribute_or_modifier);
  REQUIRE(bench.get<smp::SwitchInfo>(leaf)->linear_fdb_top > 0);
  REQUIRE(bench.get<smp::SwitchInfo>(bench.direct({})).error().status() == status::unsupported_method_attribute);
  REQUIRE(bench.get<smp::LinearForwardingTable>(leaf, 0)->port_block[bench.fabric.end_port().lid.value] == 1);
  REQUIRE(bench.get<smp::LinearForwardingTable>(leaf, 700)->port_block[0] == 255);
}

TEST_CASE("SubnSet answers what the node has set") {
  Bench bench;
  smp::PortInfo change = *bench.get<smp::PortInfo>(bench.direct({1}), 2);
  change.port_physical_state = smp::PortPhysicalState::disabled;
  const path::Path leaf = bench.direct({1});
  const smp::PortInfo now = bench.loop.run(bench.rpc.subn_set(leaf, 2, change));
  REQUIRE(now.port_state == smp::PortState::down);
  REQUIRE(now.port_physical_state == smp::PortPhysicalState::disabled);
  REQUIRE_FALSE(bench.get<smp::NodeInfo>(bench.direct({1, 2})));
}

TEST_CASE("faults: nodes fall silent, vanish, lie, are busy, lose requests") {
  Bench bench;
  auto& faults = bench.fabric.node(1).faults;
  const path::Path leaf = bench.direct({1});
  faults.drop_next = 2;
  faults.busy_next = 1;
  REQUIRE(bench.get<smp::NodeInfo>(leaf));
  REQUIRE(bench.rpc.stats()->retries_lost == 2);
  REQUIRE(bench.rpc.stats()->retries_busy == 1);
  faults.status = status::unsupported_method;
  faults.status_attribute = smp::NodeDescription::attribute_id;
  REQUIRE(bench.get<smp::NodeInfo>(leaf));
  REQUIRE(bench.get<smp::NodeDescription>(leaf).error().status() == status::unsupported_method);
  faults.lie = [](FakeFabric::Answer& answer) { answer[16] = 0xff; };
  REQUIRE_THAT(bench.get<smp::NodeInfo>(leaf).error().message(), ibtest::starts_with("Invalid reply: attribute"));
  faults.lie = nullptr;
  faults.silent = true;
  REQUIRE_FALSE(bench.get<smp::NodeInfo>(leaf));
  REQUIRE(bench.get<smp::NodeInfo>(bench.direct({1, 3})));  // it still forwards
  faults.silent = false;
  faults.vanish_after = bench.fabric.node(1).answered + 1;
  REQUIRE(bench.get<smp::NodeInfo>(leaf));
  REQUIRE_FALSE(bench.get<smp::NodeInfo>(leaf));
}

TEST_CASE("switches answer with their multicast forwarding tables") {
  Bench bench;
  const FakeFabric::NodeId leaf = 1;
  bench.fabric.node(leaf).switch_info.multicast_fdb_cap = 64;
  bench.fabric.node(leaf).mft = {{0xc000, {0, 2}}, {0xc021, {1, 3}}};
  using Mft = smp::MulticastForwardingTable;
  CHECK(bench.get<Mft>(bench.direct({1}))->port_mask_block[0] == 5);
  const auto second = bench.get<Mft>(bench.direct({1}), 1);
  CHECK(second->port_mask_block[0] == 0);
  CHECK(second->port_mask_block[1] == 10);
  CHECK_FALSE(bench.get<Mft>(bench.direct({1}), 2));         // beyond its capacity
  CHECK_FALSE(bench.get<Mft>(bench.direct({1}), 1U << 28));  // beyond its ports
  CHECK_FALSE(bench.get<Mft>(bench.direct({})));
}

}  // namespace mad_fabric_tests
