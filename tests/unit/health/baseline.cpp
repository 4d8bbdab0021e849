// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// What is not as it was: each check once firing, and once just not.
#include <optional>

#include "support/catch.hpp"
#include "unit/health/patient.hpp"

namespace health_baseline_tests {

using namespace ib;
using namespace ib::health;
using ibtest::FakeFabric;
using ibtest::Found;
using ibtest::Patient;
using ibtest::Swept;

namespace {

/// Two fabrics that are alike: change one of them, or both, then compare.
struct Compared {
  Patient before, now;
  std::optional<Baseline> baseline;

  Diagnosis examine() {
    before.sweep();
    now.sweep();
    baseline.emplace(before.swept->subnet, subnet::changes(now.swept->subnet, before.swept->subnet));
    now.input->compare_with(*baseline);
    return now.examine();
  }
  Found found() { return Patient::checks_of(examine()); }
};

void unlink(FakeFabric& fabric, FakeFabric::NodeId node, unsigned port) { fabric.set_link(node, port, false); }

/// Plugs what is at `port` of `node` into `to_port` of `to`.
void move_cable(FakeFabric& fabric, FakeFabric::NodeId node, unsigned port, FakeFabric::NodeId to, unsigned to_port) {
  const auto [peer, peer_port] = *fabric.node(node).ports.at(port).peer;
  fabric.node(node).ports.at(port).peer.reset();
  fabric.link(to, to_port, peer, peer_port);
}

void rename(FakeFabric& fabric, FakeFabric::NodeId node, std::string_view name) {
  auto& bytes = fabric.node(node).description;
  bytes = {};
  std::ranges::copy(name, bytes.begin());
}

/// A fabric with two cables between a leaf and the spine, so that one of them can go.
Compared with_two_cables() {
  Compared compared;
  for (Patient* of : {&compared.before, &compared.now}) {
    of->fabric = FakeFabric();
    const auto spine = of->fabric.add_switch(0x5000, 4, "spine"), leaf = of->fabric.add_switch(0x6000, 4, "leaf");
    const auto host = of->fabric.add_ca(0x100, 1, "host HCA-1");
    of->fabric.link(spine, 1, leaf, 1);
    of->fabric.link(spine, 2, leaf, 2);
    of->fabric.link(leaf, 3, host, 1);
    of->fabric.assign_lids();
    of->fabric.attach(host);
  }
  return compared;
}

}  // namespace

TEST_CASE("a fabric that is as it was has no findings") {
  Compared same;
  CHECK(same.found().empty());
  Patient none;
  none.sweep();
  const Diagnosis diagnosis = none.examine();
  const auto result = std::ranges::find(diagnosis.checks, "link-gone", [](const CheckResult& of) { return of.check->id; });
  CHECK(result->state == CheckState::skipped);
}

TEST_CASE("link-gone: both nodes are there") {
  Compared gone = with_two_cables();
  unlink(gone.now.fabric, 0, 2);
  const Diagnosis diagnosis = gone.examine();
  REQUIRE(Patient::checks_of(diagnosis) == Found{"link-gone"});
  const Finding& finding = diagnosis.findings.front();
  CHECK(*finding.level == Level::error);
  CHECK(finding.confidence == Confidence::sure);
  REQUIRE(finding.ends.size() == 2);
  CHECK(finding.ends[0] == Place{gone.now.swept->subnet.find_node(Guid{0x6000}), gone.now.port(1, 2)});
  CHECK(finding.ends[1] == Place{gone.now.swept->subnet.find_node(Guid{0x5000}), gone.now.port(0, 2)});

  Compared discarding = with_two_cables();  // packets for it are one finding with it
  unlink(discarding.now.fabric, 0, 2);
  discarding.before.sweep();
  discarding.now.sweep();
  discarding.baseline.emplace(discarding.before.swept->subnet,
                              subnet::changes(discarding.now.swept->subnet, discarding.before.swept->subnet));
  discarding.now.input->compare_with(*discarding.baseline);
  for (const FakeFabric::NodeId node : {FakeFabric::NodeId{0}, FakeFabric::NodeId{1}}) {
    discarding.now.counts[discarding.now.port(node, 2)] = {discarding.now.port(node, 2), 10.0};
    discarding.now.count(node, 2, "port_xmit_discards", 5);
  }
  CHECK(Patient::checks_of(discarding.now.examine()) == Found{"link-gone"});

  Compared come = with_two_cables();
  unlink(come.before.fabric, 0, 2);
  const Diagnosis added = come.examine();
  REQUIRE(Patient::checks_of(added) == Found{"link-new"});
  CHECK(*added.findings.front().level == Level::info);
}

TEST_CASE("link-moved: the cable has one end where it was, and is neither gone nor new") {
  Compared moved = with_two_cables();
  move_cable(moved.now.fabric, 1, 3, 0, 3);  // the host's, from the leaf to the spine
  const Diagnosis diagnosis = moved.examine();
  REQUIRE(Patient::checks_of(diagnosis) == Found{"link-moved"});
  const Finding& finding = diagnosis.findings.front();
  CHECK(finding.ends[0].port == moved.now.port(2, 1));
  CHECK(finding.ends[1].port == moved.now.port(0, 3));
  CHECK_THAT(finding.detail, ibtest::contains("from 'host HCA-1' 0000:0000:0000:0100 port 1 to 'leaf' 0000:0000:0000:6000 port 3 before"));

  Compared swapped;  // the hosts of one leaf
  move_cable(swapped.now.fabric, Patient::leaf0, 1, Patient::leaf0, 2);
  swapped.now.fabric.link(Patient::host1, 1, Patient::leaf0, 1);
  CHECK(swapped.found() == Found{"link-moved", "link-moved"});
}

TEST_CASE("link-slower: width or speed, and not what became faster") {
  Compared slow;
  for (const auto& [node, port] : {std::pair{Patient::leaf0, 3U}, {Patient::spine, 1U}}) {
    slow.now.info(node, port).link_width_active = slow.now.info(node, port).link_width_enabled = 1;
    slow.before.info(node, port).link_width_supported = slow.now.info(node, port).link_width_supported = 1;
  }
  const Diagnosis diagnosis = slow.examine();
  REQUIRE(Patient::checks_of(diagnosis) == Found{"link-slower"});
  const Evidence& evidence = diagnosis.findings.front().evidence.front();
  CHECK(evidence.field == "linkWidthActive");
  CHECK(std::get<std::uint64_t>(evidence.before.number) == 4);
  CHECK(std::get<std::uint64_t>(evidence.after.number) == 1);

  Compared equal;  // 4x EDR carries what 2x HDR carries
  for (Patient* of : {&equal.before, &equal.now}) of->make_edr();
  for (const auto& [node, port] : {std::pair{Patient::leaf0, 3U}, {Patient::spine, 1U}}) {
    for (Patient* of : {&equal.before, &equal.now}) {
      of->info(node, port).link_width_supported = of->info(node, port).link_width_enabled = 0x12;
      of->info(node, port).link_speed_ext_supported = of->info(node, port).link_speed_ext_enabled = 6;
    }
    equal.now.info(node, port).link_width_active = 0x10;
    equal.now.info(node, port).link_speed_ext_active = 4;
  }
  CHECK(std::ranges::count(equal.found(), "link-slower") == 0);

  Compared fast;
  fast.now.make_edr();
  CHECK(std::ranges::count(fast.found(), "link-slower") == 0);
}

TEST_CASE("node-gone and node-new: the links of the node are not reported separately") {
  Compared gone;
  unlink(gone.now.fabric, Patient::host3, 1);
  const Diagnosis diagnosis = gone.examine();
  REQUIRE(Patient::checks_of(diagnosis) == Found{"node-gone"});
  const Finding& finding = diagnosis.findings.front();
  CHECK(finding.ends.front().is_before);
  CHECK(gone.before.swept->subnet.node(finding.ends.front().node).description() == "host3 HCA-1");
  CHECK_THAT(finding.detail, ibtest::contains("Its port 1 was linked to 'leaf1' ") && ibtest::contains(" port 2."));
  CHECK(finding.confidence == Confidence::sure);

  Compared come;
  unlink(come.before.fabric, Patient::leaf1, 3);
  CHECK(come.found() == Found{"node-new", "node-new", "node-new"});
}

TEST_CASE("region-gone: what is cut off is one finding, with the cables of its boundary and what is behind them") {
  Compared gone;
  unlink(gone.now.fabric, Patient::leaf1, 3);  // with two hosts behind it
  const Diagnosis diagnosis = gone.examine();
  REQUIRE(Patient::checks_of(diagnosis) == Found{"region-gone"});
  const Finding& finding = diagnosis.findings.front();
  CHECK(*finding.level == Level::error);
  CHECK(finding.confidence == Confidence::sure);
  REQUIRE(finding.ends.size() == 2);
  CHECK(finding.ends[0] ==
        Place{gone.now.swept->subnet.find_node(gone.now.fabric.node(Patient::spine).info.node_guid), gone.now.port(Patient::spine, 2)});
  CHECK(finding.ends[1].is_before);
  CHECK(finding.ends[1].port == gone.before.port(Patient::leaf1, 3));
  CHECK(finding.detail == "The cable is down, and with it 1 switch and 2 adapters: 'leaf1', 'host2 HCA-1', 'host3 HCA-1'.");

  Compared silent;  // it may be there: the link is up, and nobody answers
  silent.now.fabric.node(Patient::leaf1).faults.silent = true;
  const Diagnosis unknown = silent.examine();
  REQUIRE(Patient::checks_of(unknown) == Found{"node-silent"});
  CHECK(unknown.findings[0].also == std::vector<const Check*>{find_check("region-gone")});
  CHECK_THAT(unknown.findings[0].detail, ibtest::contains("Behind it were 1 switch and 2 adapters: 'leaf1'"));

  Compared here;  // only we are cut off, with one leaf and its hosts; the manager is elsewhere
  unlink(here.now.fabric, Patient::leaf0, 3);
  const Diagnosis cut = here.examine();
  CHECK(std::ranges::count(Patient::checks_of(cut), "region-gone") == 1);
  CHECK(std::ranges::count(Patient::checks_of(cut), "node-gone") == 0);
}

TEST_CASE("region-gone: several cables are one finding, which has what was found on each of them") {
  constexpr unsigned leaves = 4, spines = 2, hosts = 2;
  Compared gone;
  for (Patient* of : {&gone.before, &gone.now}) of->fabric = FakeFabric::fat_tree(leaves, spines, hosts);
  const FakeFabric::NodeId last = static_cast<FakeFabric::NodeId>(spines + (leaves - 1) * (hosts + 1));
  for (unsigned spine = 0; spine < spines; ++spine) unlink(gone.now.fabric, last, hosts + 1 + spine);
  gone.before.sweep_alone();
  gone.now.sweep_alone();
  gone.baseline.emplace(gone.before.swept->subnet, subnet::changes(gone.now.swept->subnet, gone.before.swept->subnet));
  gone.now.input->compare_with(*gone.baseline);
  for (unsigned spine = 0; spine < spines; ++spine) {
    gone.now.read(spine, leaves);
    gone.now.count(spine, leaves, "port_xmit_discards", 5);
  }
  const Diagnosis diagnosis = gone.now.examine();
  REQUIRE(Patient::checks_of(diagnosis) == Found{"region-gone"});
  CHECK(diagnosis.findings[0].ends.size() == 4);
  CHECK_THAT(diagnosis.findings[0].detail, ibtest::contains("All 2 cables are down, and with them 1 switch and 2 adapters: "));
  CHECK(!diagnosis.findings[0].also.empty());
}

TEST_CASE("node-replaced: the same place and name; another name is another node, and another place too") {
  const auto replace = [](Patient& now, FakeFabric::NodeId node) {
    now.fabric.node(node).info.node_guid = Guid{0xabc0};
    now.fabric.node(node).info.system_image_guid = Guid{0xabc3};
  };
  Compared replaced;
  replace(replaced.now, Patient::host1);
  const Diagnosis diagnosis = replaced.examine();
  REQUIRE(Patient::checks_of(diagnosis) == Found{"node-replaced"});
  CHECK(*diagnosis.findings.front().level == Level::warning);
  CHECK_THAT(diagnosis.findings.front().detail, ibtest::contains("Its GUID was 0000:0000:0010:0010"));

  Compared other;
  replace(other.now, Patient::host1);
  rename(other.now.fabric, Patient::host1, "other HCA-1");
  CHECK(other.found() == Found{"node-gone", "node-new"});

  Compared spine;  // a switch keeps its cables
  replace(spine.now, Patient::spine);
  CHECK(spine.found() == Found{"node-replaced"});
}

TEST_CASE("node-replaced: not of two nodes with one GUID, of which the baseline says which one has changed") {
  Compared twins;
  twins.now.fabric.node(Patient::host1).info.node_guid = twins.now.fabric.node(Patient::host3).info.node_guid;
  const Diagnosis diagnosis = twins.examine();
  REQUIRE(Patient::checks_of(diagnosis) == Found{"duplicate-guid"});
  CHECK_THAT(diagnosis.findings[0].detail, ibtest::contains("In the baseline 'host1 HCA-1' is 0000:0000:0010:0010."));
  CHECK_THAT(std::string(diagnosis.findings[0].what_to_do()), ibtest::contains("that had another GUID in the baseline"));
}

TEST_CASE("node-gone: a node that is silent at its port is not gone") {
  Compared silent;
  silent.now.fabric.node(Patient::host3).faults.silent = true;
  const Diagnosis diagnosis = silent.examine();
  REQUIRE(Patient::checks_of(diagnosis) == Found{"node-silent"});
  CHECK(diagnosis.findings[0].confidence == Confidence::sure);
  CHECK_THAT(diagnosis.findings[0].detail, ibtest::contains("In the baseline this is 'host3 HCA-1' "));

  Compared spine = with_two_cables();  // two links that lead to one silent node are one finding
  spine.now.fabric.node(0).faults.silent = true;
  spine.before.sweep_alone();
  spine.now.sweep_alone();
  spine.baseline.emplace(spine.before.swept->subnet, subnet::changes(spine.now.swept->subnet, spine.before.swept->subnet));
  spine.now.input->compare_with(*spine.baseline);
  const Diagnosis one = spine.now.examine();
  REQUIRE(Patient::checks_of(one) == Found{"node-silent"});
  CHECK(one.findings[0].ends.size() == 4);
  CHECK_THAT(one.findings[0].detail, ibtest::contains("All 2 links are up") && ibtest::contains("In the baseline this is 'spine' "));
}

TEST_CASE("node-renamed: the same GUID") {
  Compared renamed;
  rename(renamed.now.fabric, Patient::host1, "n01 HCA-1");
  const Diagnosis diagnosis = renamed.examine();
  REQUIRE(Patient::checks_of(diagnosis) == Found{"node-renamed"});
  CHECK_THAT(diagnosis.findings.front().detail, ibtest::contains("It was called 'host1 HCA-1'."));
}

TEST_CASE("changed: one finding a node, with each field as it was and as it is") {
  Compared changed;
  for (Patient* of : {&changed.before, &changed.now}) of->info(Patient::host1, 1).mtu_cap = smp::Mtu::mtu_4096;
  changed.now.fabric.node(Patient::host1).info.revision = 0xb0;
  changed.now.info(Patient::host1, 1).mtu_cap = smp::Mtu::mtu_2048;
  const Diagnosis diagnosis = changed.examine();
  REQUIRE(Patient::checks_of(diagnosis) == Found{"changed"});
  const Finding& finding = diagnosis.findings.front();
  REQUIRE(finding.evidence.size() == 2);
  CHECK(finding.evidence[0].field == "revision");
  CHECK(finding.evidence[0].end == 0);
  CHECK(finding.evidence[1].field == "MTUCap");
  CHECK(finding.ends.at(finding.evidence[1].end).port == changed.now.port(Patient::host1, 1));
  CHECK(std::get<std::uint64_t>(finding.evidence[1].before.number) == 5);

  Compared capabilities;
  capabilities.now.info(Patient::host1, 1).capability_mask ^= smp::capability_mask::is_sl_mapping_supported;
  const Diagnosis bits = capabilities.examine();
  REQUIRE(Patient::checks_of(bits) == Found{"changed"});
  REQUIRE(bits.findings.front().evidence.size() == 1);
  CHECK(bits.findings.front().evidence[0].field == "IsSLMappingSupported");
  CHECK(std::get<std::uint64_t>(bits.findings.front().evidence[0].before.number) +
            std::get<std::uint64_t>(bits.findings.front().evidence[0].after.number) ==
        1);

  Compared programs;  // a standby that starts, and agents, are not the hardware's
  programs.now.info(Patient::host1, 1).capability_mask ^=
      smp::capability_mask::is_sm | smp::capability_mask::is_communication_management_supported |
      smp::capability_mask::is_device_management_supported | smp::capability_mask::is_vendor_class_supported;
  CHECK(programs.found().empty());
  programs.now.info(Patient::host1, 1).capability_mask ^= smp::capability_mask::is_boot_management_supported;
  CHECK(programs.found() == Found{"changed"});

  Compared both;  // of the two masks, two bits with names and one without
  for (Patient* of : {&both.before, &both.now})
    of->info(Patient::host1, 1).capability_mask |= smp::capability_mask::is_capability_mask2_supported;
  both.now.info(Patient::host1, 1).capability_mask ^= smp::capability_mask::is_sm | smp::capability_mask::is_led_info_supported;
  both.now.info(Patient::host1, 1).capability_mask2 ^= smp::capability_mask2::is_link_width_2x_supported | 0x4000U;
  const Diagnosis masks = both.examine();
  REQUIRE(Patient::checks_of(masks) == Found{"changed"});
  std::vector<std::string_view> fields;
  for (const Evidence& evidence : masks.findings.front().evidence) fields.push_back(evidence.field);
  CHECK(fields == std::vector<std::string_view>{"IsLEDInfoSupported", "IsLinkWidth2xSupported", "capabilityMask2"});

  Compared mtu;  // of a link
  for (const auto& [node, port] : {std::pair{Patient::leaf0, 1U}, {Patient::host0, 1U}})
    mtu.now.info(node, port).neighbor_mtu = smp::Mtu::mtu_256;
  CHECK(mtu.found() == Found{"changed", "changed"});
}

TEST_CASE("changed: the master subnet manager is at another node") {
  Compared moved;
  const auto set_master = [](Patient& of, FakeFabric::NodeId master) {
    const Lid lid = of.info(master, 1).lid;
    for (FakeFabric::NodeId node = 0; node < of.fabric.size(); ++node) {
      for (FakeFabric::Port& port : of.fabric.node(node).ports) port.info.master_sm_lid = lid;
    }
  };
  set_master(moved.before, Patient::host0);
  set_master(moved.now, Patient::host1);
  const Diagnosis diagnosis = moved.examine();
  REQUIRE(Patient::checks_of(diagnosis) == Found{"sm-lid-differs", "changed"});  // the master that answers is elsewhere
  CHECK_THAT(diagnosis.findings.back().detail, ibtest::contains("it was at 'host0 HCA-1'"));

  Compared same;
  set_master(same.before, Patient::host1);
  set_master(same.now, Patient::host1);
  CHECK(same.found() == Found{"sm-lid-differs"});
}

TEST_CASE("changed: P_Keys, the priority of managers and firmware, where both readings have them") {
  Compared compared;
  compared.before.sweep();
  compared.now.sweep();
  Input &before = *compared.before.input, &now = *compared.now.input;
  const subnet::PortIndex port = compared.now.port(Patient::host1, 1), was = compared.before.port(Patient::host1, 1);
  const Guid guid = compared.now.fabric.node(Patient::host1).info.node_guid;
  before.pkeys[was] = {0x0005, 0xffff};
  now.pkeys[port] = {0x8006, 0xffff};
  now.pkeys[compared.now.port(Patient::host2, 1)] = {0xffff};  // the baseline does not tell
  before.firmware[guid] = "20.36.1";
  now.firmware[guid] = "20.38.2";
  now.managers[0].info.priority = 9;
  compared.baseline.emplace(compared.before.swept->subnet, subnet::changes(compared.now.swept->subnet, compared.before.swept->subnet),
                            tables_of(before));
  now.compare_with(*compared.baseline);
  const Diagnosis diagnosis = compared.now.examine();
  REQUIRE(Patient::checks_of(diagnosis) == Found{"changed", "changed"});
  const Finding& spine = diagnosis.findings[0];
  REQUIRE(spine.evidence.size() == 1);
  CHECK(spine.evidence[0].field == "priority");
  CHECK(std::get<std::uint64_t>(spine.evidence[0].before.number) == 5);
  CHECK(diagnosis.findings[1].detail == "P_Keys of port 1: new 0x8006; gone 0x0005. Its firmware was 20.36.1, is 20.38.2.");
}

}  // namespace health_baseline_tests
