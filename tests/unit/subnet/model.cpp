// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The model's bookkeeping and the orders in which a subnet is listed.
#include "subnet/model/model.hpp"

#include <algorithm>

#include "subnet/model/order.hpp"
#include "subnet/model/rate.hpp"
#include "subnet/model/storage.hpp"
#include "support/catch.hpp"
#include "unit/subnet/swept.hpp"

namespace subnet_model_tests {

using namespace ib;
using namespace ib::subnet;
using ibtest::FakeFabric;
using ibtest::Swept;

namespace {

smp::NodeInfo node_info(std::uint64_t guid, smp::NodeType type, unsigned ports, unsigned local = 1) {
  smp::NodeInfo info;
  info.node_guid = info.port_guid = Guid{guid};
  info.node_type = type;
  info.num_ports = static_cast<std::uint8_t>(ports);
  info.local_port_num = static_cast<std::uint8_t>(local);
  return info;
}

std::array<std::uint8_t, 64> packed(const smp::PortInfo& info) {
  std::array<std::uint8_t, 64> bytes{};
  info.pack(bytes);
  return bytes;
}

/// The little fabric of ibsim's example: two switches joined by two links, a host with two ports at each of ports 1 and 2.
FakeFabric little() {
  FakeFabric fabric;
  const auto s1 = fabric.add_switch(0x200000, 8, "Switch1"), s2 = fabric.add_switch(0x200001, 8, "Switch2");
  const auto h1 = fabric.add_ca(0x100000, 2, "Hca1"), h2 = fabric.add_ca(0x100003, 2, "Hca2");
  fabric.link(s1, 1, h1, 1);
  fabric.link(s1, 2, h2, 2);
  fabric.link(s1, 3, s2, 3);
  fabric.link(s1, 4, s2, 4);
  fabric.assign_lids();
  fabric.attach(h1);
  return fabric;
}

std::vector<std::string> names(const Subnet& subnet, const std::vector<NodeIndex>& nodes) {
  std::vector<std::string> result;
  for (const NodeIndex at : nodes) result.emplace_back(subnet.node(at).description());
  return result;
}

}  // namespace

TEST_CASE("the GUID index keeps the first value of a GUID") {
  GuidIndex index;
  for (std::uint32_t i = 0; i < 5000; ++i) CHECK(index.insert(Guid{0x2c90300000000U + 4 * i}, i) == i);
  CHECK(index.insert(Guid{0x2c90300000000U}, 77) == 0);
  CHECK(index.size() == 5000);
  for (std::uint32_t i = 0; i < 5000; ++i) CHECK(index.find(Guid{0x2c90300000000U + 4 * i}) == i);
  CHECK(index.find(Guid{1}) == none);
  CHECK(GuidIndex().find(Guid{1}) == none);
}

TEST_CASE("the ports of a switch share its PortGUID, the ports of a host have their own") {
  Subnet subnet;
  const NodeIndex sw = subnet.add_node(node_info(0x10, smp::NodeType::switch_, 2)),
                  ca = subnet.add_node(node_info(0x20, smp::NodeType::channel_adapter, 2));
  subnet.set_port_guid(subnet.port_of(ca, 1), Guid{0x21});
  subnet.set_port_guid(subnet.port_of(ca, 2), Guid{0x22});
  CHECK(subnet.port_guid(subnet.port_of(sw, 0)) == Guid{0x10});
  CHECK(subnet.port_guid(subnet.port_of(sw, 2)) == Guid{0x10});
  CHECK(subnet.port_guid(subnet.port_of(ca, 1)) == Guid{0x21});
  CHECK(subnet.port_guid(subnet.port_of(ca, 2)) == Guid{0x22});
}

TEST_CASE("LIDs with LMC lead to their port, and twins to each other") {
  Subnet subnet;
  const NodeIndex ca = subnet.add_node(node_info(1, smp::NodeType::channel_adapter, 2, 2));
  smp::PortInfo info;
  info.lid = Lid{8};
  info.lmc = 2;
  CHECK(subnet.set_port_info(subnet.port_of(ca, 2), packed(info)) == none);
  for (std::uint16_t lid = 8; lid < 12; ++lid) CHECK(subnet.find_lid(Lid{lid}) == subnet.port_of(ca, 2));
  CHECK(subnet.find_lid(Lid{7}) == none);
  CHECK(subnet.find_lid(Lid{12}) == none);

  const NodeIndex twin = subnet.add_node(node_info(1, smp::NodeType::channel_adapter, 2));
  CHECK(subnet.find_node(Guid{1}) == ca);
  CHECK(subnet.node(ca).twin == twin);
  CHECK(subnet.node(twin).is_twin);
  info.lid = Lid{11};
  info.lmc = 0;
  CHECK(subnet.set_port_info(subnet.port_of(twin, 1), packed(info)) == subnet.port_of(ca, 2));
  CHECK(subnet.port_of(ca, 3) == none);
}

TEST_CASE("the LIDs of an earlier PortInfo lead nowhere") {
  Subnet subnet;
  const NodeIndex host = subnet.add_node(node_info(0x10, smp::NodeType::channel_adapter, 2));
  const PortIndex first = subnet.port_of(host, 1), second = subnet.port_of(host, 2);
  smp::PortInfo info;
  info.lid = Lid{8};
  info.lmc = 2;
  subnet.set_port_info(first, packed(info));
  info.lmc = 0;
  CHECK(subnet.set_port_info(second, packed(info)) == first);
  info.lid = Lid{10};
  CHECK(subnet.set_port_info(first, packed(info)) == none);
  for (unsigned lid = 1; lid < 16; ++lid) {
    CAPTURE(lid);
    CHECK(subnet.find_lid(Lid{static_cast<std::uint16_t>(lid)}) == (lid == 10 ? first : none));
  }
  info.lid = Lid{};
  subnet.set_port_info(first, packed(info));
  CHECK(subnet.find_lid(Lid{10}) == none);
}

TEST_CASE("a model has room for so many nodes and ports, whatever a node says of its own") {
  Subnet by_nodes(SubnetLimits{.nodes = 2}), by_ports(SubnetLimits{.ports = 300});
  const auto ca = node_info(1, smp::NodeType::channel_adapter, 2), wide = node_info(2, smp::NodeType::switch_, 255);
  by_nodes.add_node(ca);
  CHECK(by_nodes.has_room_for(wide));
  by_nodes.add_node(wide);
  CHECK_FALSE(by_nodes.has_room_for(ca));
  by_ports.add_node(wide);
  CHECK_FALSE(by_ports.has_room_for(wide));
  CHECK(by_ports.has_room_for(ca));
  CHECK_FALSE(by_ports.has_room_for(node_info(3, smp::NodeType::channel_adapter, 1, 200)));  // it names a port beyond its last
}

TEST_CASE("a port takes little more than its PortInfo, and a node little more than its answers") {
  // A subnet has up to two million ports. What few of them need does not belong here.
  CHECK(sizeof(Port) <= 64 + 32);
  CHECK(sizeof(Node) <= sizeof(smp::NodeInfo) + 64 + 20 + 36);
}

TEST_CASE("a new link takes its ends from the old ones") {
  Subnet subnet;
  const NodeIndex a = subnet.add_node(node_info(1, smp::NodeType::switch_, 4)),
                  b = subnet.add_node(node_info(2, smp::NodeType::switch_, 4));
  subnet.link(subnet.port_of(a, 1), subnet.port_of(b, 1));
  subnet.link(subnet.port_of(a, 2), subnet.port_of(b, 1));
  CHECK(subnet.port(subnet.port_of(a, 1)).peer == none);
  CHECK(subnet.port(subnet.port_of(b, 1)).peer == subnet.port_of(a, 2));
  subnet.link(subnet.port_of(b, 3), subnet.port_of(b, 3));
  CHECK(subnet.port(subnet.port_of(b, 3)).peer == subnet.port_of(b, 3));
  subnet.unlink(subnet.port_of(b, 3));
  CHECK(subnet.port(subnet.port_of(b, 3)).peer == none);
}

TEST_CASE("breadth first goes by ascending ports from the start") {
  FakeFabric fabric = little();
  const Swept swept(fabric);
  CHECK(names(swept.subnet, breadth_first(swept.subnet)) == std::vector<std::string>{"Hca1", "Switch1", "Hca2", "Switch2"});
  CHECK(names(swept.subnet, by_guid(swept.subnet)) == std::vector<std::string>{"Hca1", "Hca2", "Switch1", "Switch2"});
}

// The steps are those that Debian's ibnetdiscover -s shows on ibsim's example; its MADs were counted.
TEST_CASE("the legacy order is the order of ibnetdiscover's queue") {
  FakeFabric fabric = little();
  const Swept swept(fabric);
  const LegacySweep sweep = legacy_sweep(swept.subnet, {.with_steps = true});
  CHECK(names(swept.subnet, sweep.found) == std::vector<std::string>{"Hca1", "Switch1", "Hca2", "Switch2"});
  struct Seen {
    std::vector<std::uint8_t> route;
    std::string node;
    bool is_new, described;
    bool operator==(const Seen&) const = default;
  };
  std::vector<Seen> seen;
  for (const LegacyStep& step : sweep.steps) {
    seen.push_back(
        {step.route, std::string(swept.subnet.node(swept.subnet.port(step.port).node).description()), step.is_new, step.described});
  }
  CHECK(seen == std::vector<Seen>{{{}, "Hca1", true, false},
                                  {{1}, "Switch1", true, false},
                                  {{1, 2}, "Hca2", true, false},
                                  {{1, 3}, "Switch2", true, false},
                                  {{1, 4}, "Switch2", false, false},
                                  {{1, 3, 4}, "Switch1", false, true}});
  CHECK(sweep.hops == 3);
  CHECK(sweep.mads == 32);
  CHECK(legacy_sweep(swept.subnet, {.mlnx = true}).mads == 32 + 10);  // MlnxExtPortInfo of ports that may be at FDR10
}

TEST_CASE("a rate is read from the fields that count") {
  Subnet subnet;
  const NodeIndex at = subnet.add_node(node_info(1, smp::NodeType::channel_adapter, 1)),
                  to = subnet.add_node(node_info(2, smp::NodeType::channel_adapter, 1));
  const PortIndex port = subnet.port_of(at, 1), peer = subnet.port_of(to, 1);
  subnet.link(port, peer);
  CHECK(active_rate(subnet, port).lanes == 0);
  smp::PortInfo info;
  info.link_width_active = 2;
  info.link_width_supported = 31;
  info.link_speed_active = 4;
  info.link_speed_supported = 7;
  info.link_speed_ext_active = 2;
  info.link_speed_ext_supported = 3;
  subnet.set_port_info(port, packed(info));
  CHECK(active_rate(subnet, port).speed == Speed::qdr);  // it does not say that it has extended speeds
  CHECK(best_rate(subnet, port).lanes == 0);             // the peer is not known
  info.capability_mask = 1U << 14;
  subnet.set_port_info(port, packed(info));
  info.link_speed_ext_supported = 15;
  info.link_width_supported = 3;
  subnet.set_port_info(peer, packed(info));
  CHECK(active_rate(subnet, port).speed == Speed::edr);
  CHECK(active_rate(subnet, port).lanes == 4);
  CHECK(best_rate(subnet, port).speed == Speed::edr);
  CHECK(best_rate(subnet, port).lanes == 4);
  subnet.port(port).fdr10 = 1;
  info.link_speed_ext_active = 0;
  subnet.set_port_info(port, packed(info));
  CHECK(active_rate(subnet, port).speed == Speed::fdr10);
  info.capability_mask |= 1U << 15;
  info.capability_mask2 = 1U << 11;
  info.link_speed_ext_active2 = 1;
  subnet.set_port_info(port, packed(info));
  CHECK(active_rate(subnet, port).speed == Speed::xdr);
}

TEST_CASE("a model is copied and moved whole, also after it has grown") {
  Subnet subnet;
  for (unsigned i = 0; i < 1000; ++i) {
    const NodeIndex at = subnet.add_node(node_info(i + 1, smp::NodeType::switch_, 36));
    if (i > 0) subnet.link(subnet.port_of(at, 1), subnet.port_of(at - 1, 2));
  }
  Subnet copy = subnet;
  subnet.unlink(subnet.port_of(500, 1));
  CHECK(copy.port(copy.port_of(500, 1)).peer == copy.port_of(499, 2));
  CHECK(copy.ports().size() == 37000);
  CHECK(copy.node(999).guid() == Guid{1000});
  CHECK(copy.port(copy.port_of(999, 36)).number == 36);
  CHECK(copy.port(copy.port_of(999, 36)).peer == none);
  const Subnet moved = std::move(copy);
  CHECK(moved.nodes().size() == 1000);
  subnet = moved;
  CHECK(subnet.port(subnet.port_of(500, 1)).peer == subnet.port_of(499, 2));
}

}  // namespace subnet_model_tests
