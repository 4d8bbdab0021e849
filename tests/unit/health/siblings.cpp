// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// GUIDs and descriptions of nodes, hosts and switches that differ from their siblings, and rails.
#include "health/hosts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>

#include "support/catch.hpp"
#include "unit/health/patient.hpp"

namespace health_siblings_tests {

using namespace ib;
using namespace ib::health;
using ibtest::FakeFabric;
using ibtest::Found;
using ibtest::Patient;

namespace {

/// The findings of the checks of nodes on a fabric, as far as they are not of subnet managers.
struct Nodes {
  explicit Nodes(FakeFabric& fabric, const HostNames& names = {}) : swept(fabric), input(swept.subnet, swept.failures, thresholds, names) {
    input.source(Source::managers).state = CheckState::skipped;
    diagnosis = examine(input, {});
  }
  Found found() const { return Patient::checks_of(diagnosis); }
  Thresholds thresholds;
  ibtest::Swept swept;
  Input input;
  Diagnosis diagnosis;
};

void describe(FakeFabric::Node& node, std::string_view text) {
  node.description = {};
  std::ranges::copy(text, node.description.begin());
}

/// A fabric with a leaf for each number of HCA, to which the hosts are linked as `rail` says: the leaf of a host's HCA.
template <class Rail>
FakeFabric railed(unsigned hosts, unsigned hcas, std::string_view format, Rail rail) {
  FakeFabric fabric;
  const FakeFabric::NodeId spine = fabric.add_switch(0x90, hcas, "spine");
  std::vector<FakeFabric::NodeId> leaves;
  for (unsigned leaf = 0; leaf < hcas; ++leaf) {
    leaves.push_back(fabric.add_switch(0x100 + leaf, 16, "leaf" + std::to_string(leaf)));
    fabric.link(spine, leaf + 1, leaves.back(), 16);
  }
  for (unsigned host = 0; host < hosts; ++host) {
    for (unsigned hca = 0; hca < hcas; ++hca) {
      const auto id = fabric.add_ca(0x1000 + 0x100 * host + 16 * hca, 1, fmt::format(fmt::runtime(format), host, hca));
      fabric.link(leaves[rail(host, hca)], host + 1, id, 1);
      if (host == 0 && hca == 0) fabric.attach(id);
    }
  }
  fabric.assign_lids();
  return fabric;
}

constexpr unsigned spines = 2, leaves = 4, hosts = 2;
constexpr FakeFabric::NodeId first_leaf = spines, first_host = spines + 1;

}  // namespace

TEST_CASE("the name of a host in a description") {
  const auto node_of = [](std::string_view text) {
    subnet::Node node;
    node.info.node_type = smp::NodeType::channel_adapter;
    node.has_description = true;
    std::ranges::copy(text, node.description_bytes.begin());
    return node;
  };
  const HostNames words;
  const auto number_in = [&](std::string_view text) { return hca_number(node_of(text), words.host_of(node_of(text))); };
  CHECK(words.host_of(node_of("compute07 mlx5_2")) == "compute07");
  CHECK(number_in("compute07 mlx5_2") == 2U);
  CHECK(number_in("compute07 HCA-1") == std::nullopt);
  CHECK(number_in("compute07 mlx5_99999999999999999999") == std::nullopt);
  CHECK(number_in("compute07") == std::nullopt);
  CHECK(number_in("node_07") == std::nullopt);
  CHECK(number_in("node_07 mlx5_1") == 1U);
  CHECK(words.host_of(node_of("MT4123 ConnectX6   Mellanox Technologies")).empty());
  CHECK(words.host_of(node_of("localhost mlx5_0")).empty());
  CHECK(words.host_of(node_of("")).empty());
  CHECK(words.host_of(node_of("Mellanox Technologies Aggregation Node")).empty());
  const HostNames behind("/(n[0-9]+)$");
  const subnet::Node node = node_of("mlx5_3/n042");
  CHECK(behind.host_of(node) == "n042");
  CHECK(hca_number(node, "n042") == 3U);
  CHECK(name_pattern("MF0;leaf07:SB7800/U1") == "MF#;leaf#:SB#/U#");
}

TEST_CASE("duplicate-guid: two nodes, or two ports") {
  FakeFabric fabric = FakeFabric::fat_tree(leaves, spines, hosts);
  CHECK(Nodes(fabric).found().empty());
  fabric.node(first_host + 3).info.node_guid = fabric.node(first_host).info.node_guid;
  const Nodes nodes(fabric);
  REQUIRE(!nodes.diagnosis.findings.empty());
  CHECK(nodes.found().front() == "duplicate-guid");
  CHECK(nodes.diagnosis.findings[0].ends.size() == 2);
}

TEST_CASE("description-default and description-duplicate are one finding each") {
  FakeFabric fabric = FakeFabric::fat_tree(leaves, spines, hosts);
  for (const unsigned at : {0U, 1U}) describe(fabric.node(at), "Quantum Mellanox Technologies");
  const Nodes nodes(fabric);
  REQUIRE(nodes.found() == Found{"description-default"});
  CHECK(nodes.diagnosis.findings[0].ends.size() == 2);

  FakeFabric doubled = FakeFabric::fat_tree(leaves, spines, hosts);
  for (const unsigned at : {0U, 1U}) describe(doubled.node(first_host + at), "node mlx5_0");
  const Nodes same(doubled);
  REQUIRE(same.found() == Found{"description-duplicate"});
  CHECK_THAT(same.diagnosis.findings[0].detail, ibtest::contains("'node mlx5_0' of 2 nodes"));

  FakeFabric sharp = FakeFabric::fat_tree(leaves, spines, hosts);  // these are all alike
  for (const unsigned at : {0U, 1U}) describe(sharp.node(first_host + at), "Mellanox Technologies Aggregation Node");
  CHECK(Nodes(sharp).found().empty());
}

TEST_CASE("sibling-ports: a link between switches that siblings have is missed once, by both of its ends") {
  FakeFabric fabric = FakeFabric::fat_tree(leaves, spines, hosts);
  fabric.set_link(first_leaf, hosts + 1, false);
  const Nodes nodes(fabric);
  REQUIRE(nodes.found() == Found{"sibling-ports"});
  REQUIRE(nodes.diagnosis.findings[0].ends.size() == 2);
  CHECK(nodes.swept.subnet.node(nodes.diagnosis.findings[0].ends[0].node).description() == "spine0");
  CHECK(nodes.swept.subnet.node(nodes.diagnosis.findings[0].ends[1].node).description() == "leaf0");

  FakeFabric three = FakeFabric::fat_tree(3, spines, hosts);  // two siblings that agree are too few
  three.set_link(first_leaf, hosts + 1, false);
  CHECK(Nodes(three).found().empty());
}

TEST_CASE("sibling-ports: both ends of a chain of switches are one info, and those of a chain that leads elsewhere are not") {
  constexpr unsigned length = 7;
  const auto chain = [](bool is_ring) {
    FakeFabric fabric;
    for (unsigned at = 0; at < length; ++at) fabric.add_switch(0x100 + 16 * at, 8, "sw" + std::to_string(at));
    for (unsigned at = 0; at + 1 < length; ++at) fabric.link(at, 2, at + 1, 1);
    if (is_ring) fabric.link(length - 1, 2, 0, 1);
    for (unsigned at = 0; at < length; ++at) {
      const FakeFabric::NodeId host = fabric.add_ca(0x1000 + 16 * at, 1, "n" + std::to_string(at));
      fabric.link(at, 3, host, 1);
      if (at == 0) fabric.attach(host);
    }
    fabric.assign_lids();
    return fabric;
  };
  FakeFabric ring = chain(true);
  CHECK(Nodes(ring).found().empty());
  FakeFabric open = chain(false);
  const Nodes nodes(open);
  REQUIRE(nodes.found() == Found{"sibling-ports"});
  const Finding& finding = nodes.diagnosis.findings[0];
  CHECK(finding.level == Level::info);
  REQUIRE(finding.ends.size() == 2);
  CHECK(nodes.swept.subnet.node(finding.ends[0].node).description() == "sw0");
  CHECK(nodes.swept.subnet.node(finding.ends[1].node).description() == "sw6");

  // Two cables between some of the switches: the last one has as many links as most, and the first one fewer.
  FakeFabric uneven = chain(false);
  for (const FakeFabric::NodeId at : {4U, 5U}) uneven.link(at, 5, at + 1, 4);
  uneven.assign_lids();
  const Nodes doubled(uneven);
  REQUIRE(doubled.found() == Found{"sibling-ports"});
  CHECK(doubled.diagnosis.findings[0].level == Level::info);
  CHECK(doubled.diagnosis.findings[0].detail == "These are the ends of a chain of switches: each is linked to one other switch.");

  // The switch in the middle has a third neighbour: the others are no chain, and their ends lack a link.
  open.link(length / 2, 4, open.add_switch(0x900, 8, "other"), 1);
  open.assign_lids();
  const Nodes branched(open);
  CHECK(branched.found() == Found{"sibling-ports", "sibling-ports"});
  CHECK(branched.diagnosis.count(Level::warning) == 2);
}

TEST_CASE("sibling-ports: hosts with fewer links or another device; an unused second port is not a difference") {
  FakeFabric fabric;
  const FakeFabric::NodeId leaf = fabric.add_switch(0x100, 16, "leaf");
  std::vector<FakeFabric::NodeId> all;
  for (unsigned at = 0; at < 5; ++at) {
    all.push_back(fabric.add_ca(0x200 + 16 * at, 2, "node" + std::to_string(at) + " mlx5_0"));
    fabric.link(leaf, 2 * at + 1, all.back(), 1);
  }
  fabric.assign_lids();
  fabric.attach(all[0]);
  CHECK(Nodes(fabric).found().empty());
  for (const unsigned at : {0U, 1U, 2U}) fabric.link(leaf, 2 * at + 2, all[at], 2);
  CHECK(Nodes(fabric).found() == Found{"sibling-ports", "sibling-ports"});  // the other two
  for (const unsigned at : {3U, 4U}) fabric.link(leaf, 2 * at + 2, all[at], 2);
  CHECK(Nodes(fabric).found().empty());
  fabric.node(all[4]).info.device_id = 4123;
  const Nodes other(fabric);
  REQUIRE(other.found() == Found{"sibling-ports"});
  CHECK_THAT(other.diagnosis.findings[0].detail, ibtest::contains("Its device is 0x101b"));
  describe(fabric.node(all[4]), "login mlx5_0");  // one of another kind
  CHECK(Nodes(fabric).found().empty());
}

TEST_CASE("rail: an HCA on the leaf of others, where leaves have HCAs of one number each") {
  for (const auto& [swapped, is_railed] : {std::pair{false, true}, {true, true}, {true, false}}) {
    FakeFabric fabric;
    const FakeFabric::NodeId spine = fabric.add_switch(0x90, 5, "spine");
    std::vector<FakeFabric::NodeId> rails;
    for (unsigned rail = 0; rail < 5; ++rail) {
      rails.push_back(fabric.add_switch(0x100 + rail, 16, "leaf" + std::to_string(rail)));
      fabric.link(spine, rail + 1, rails.back(), 16);
    }
    for (unsigned host = 0; host < 4; ++host) {
      for (unsigned hca = 0; hca < 5; ++hca) {
        const auto id = fabric.add_ca(0x1000 + 0x100 * host + 16 * hca, 1, "n" + std::to_string(host) + " mlx5_" + std::to_string(hca));
        unsigned rail = is_railed ? hca : (hca + host) % 5;
        if (swapped && is_railed && host == 0 && hca < 2) rail = 1 - hca;
        fabric.link(rails[rail], host + 1, id, 1);
        if (host == 0 && hca == 0) fabric.attach(id);
      }
    }
    fabric.assign_lids();
    const Found expected = swapped && is_railed ? Found{"rail", "rail"} : Found{};
    CHECK(Nodes(fabric).found() == expected);
  }
}

TEST_CASE("rail: one exchanged pair of cables does not hide itself by making two of four leaves impure") {
  const auto swapped = [](unsigned host, unsigned hca) { return host == 0 && hca < 2 ? 1 - hca : hca; };
  FakeFabric fabric = railed(6, 4, "n{} mlx5_{}", swapped);
  const Nodes nodes(fabric);
  REQUIRE(nodes.found() == Found{"rail", "rail"});
  CHECK_THAT(nodes.diagnosis.findings[0].detail, ibtest::contains("5 of the 6 HCAs of this leaf are number"));
  // As it came: small leaves have a number of most by chance.
  FakeFabric chance = railed(3, 2, "n{} mlx5_{}", [](unsigned host, unsigned hca) { return host == 0 ? 1 - hca : hca; });
  CHECK(Nodes(chance).found().empty());
}

TEST_CASE("rail and sibling-ports know hosts by the expression that was given") {
  const auto swapped = [](unsigned host, unsigned hca) { return host == 0 && hca < 2 ? 1 - hca : hca; };
  FakeFabric fabric = railed(6, 4, "mlx5_{1}/n{0}", swapped);
  const HostNames names("/(n[0-9]+)$");
  CHECK(Nodes(fabric).found().empty());
  CHECK(Nodes(fabric, names).found() == Found{"rail", "rail"});
  FakeFabric fewer = railed(6, 4, "mlx5_{1}/n{0}", [](unsigned, unsigned hca) { return hca; });
  fewer.set_link(1, 3, false);  // of leaf0: that of n2
  CHECK(Nodes(fewer).found().empty());
  const Nodes by_host(fewer, names);
  REQUIRE(by_host.found() == Found{"sibling-ports"});
  CHECK(by_host.diagnosis.findings[0].ends.size() == 3);
}

TEST_CASE("sibling-ports: three or more of another device, or of other links, are a kind of their own") {
  for (const auto& [others, found] : {std::pair{3U, 0}, {2U, 2}}) {
    FakeFabric fabric = FakeFabric::fat_tree(leaves, spines, hosts);
    for (unsigned at = 0; at < others; ++at) fabric.node(first_host + (at / hosts) * (hosts + 1) + at % hosts).info.device_id = 0x1013;
    const Nodes nodes(fabric);
    CHECK(std::ranges::count(nodes.found(), "sibling-ports") == found);
  }
  for (const auto& [slower, found] : {std::pair{3U, 0}, {2U, 2}}) {
    FakeFabric fabric = FakeFabric::fat_tree(leaves, spines, hosts);
    for (unsigned at = 0; at < slower; ++at) {
      auto& info = fabric.node(first_host + (at / hosts) * (hosts + 1) + at % hosts).ports.at(1).info;
      info.link_width_supported = info.link_width_enabled = 1;
    }
    CHECK(std::ranges::count(Nodes(fabric).found(), "sibling-ports") == found);
  }
  FakeFabric fabric = FakeFabric::fat_tree(leaves, spines, hosts);  // those of a kind are compared with each other
  const std::array kind{first_host, first_host + 1, first_host + 3, first_host + 4};
  for (const auto at : kind) fabric.node(at).info.device_id = 0x1013;
  fabric.node(kind[0]).ports.at(1).info.link_width_supported = fabric.node(kind[0]).ports.at(1).info.link_width_enabled = 1;
  const Nodes nodes(fabric);
  REQUIRE(std::ranges::count(nodes.found(), "sibling-ports") == 1);
  CHECK_THAT(nodes.diagnosis.findings[0].detail, ibtest::contains("with device 0x1013"));
}

TEST_CASE("sibling-ports: links are compared by the data that they carry") {
  FakeFabric fabric = FakeFabric::fat_tree(leaves, spines, hosts);  // hosts at 1x FDR, and one at 4x QDR
  for (FakeFabric::NodeId id = 0; id < fabric.size(); ++id) {
    for (auto& port : fabric.node(id).ports) {
      port.info.capability_mask |= smp::capability_mask::is_extended_speeds_supported;
      port.info.link_speed_ext_supported = port.info.link_speed_ext_enabled = 1;
      if (!fabric.node(id).is_switch() && id != first_host) port.info.link_width_supported = port.info.link_width_enabled = 1;
      if (id == first_host) port.info.link_speed_ext_supported = port.info.link_speed_ext_enabled = 0;
    }
  }
  CHECK(std::ranges::count(Nodes(fabric).found(), "sibling-ports") == 0);
  for (auto& port : fabric.node(first_host).ports) port.info.link_width_supported = port.info.link_width_enabled = 1;
  CHECK(std::ranges::count(Nodes(fabric).found(), "sibling-ports") == 1);  // 1x QDR
}

}  // namespace health_siblings_tests
