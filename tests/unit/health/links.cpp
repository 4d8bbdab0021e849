// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// What the ends of links say of them: each check once firing, and once just not.
#include <array>

#include "support/catch.hpp"
#include "unit/health/patient.hpp"

namespace health_links_tests {

using namespace ib;
using namespace ib::health;
using ibtest::FakeFabric;
using ibtest::Found;
using ibtest::Patient;

TEST_CASE("a healthy fabric has no findings") {
  Patient patient;
  patient.sweep();
  const Diagnosis diagnosis = patient.examine();
  CHECK(diagnosis.findings.empty());
  CHECK_FALSE(diagnosis.any_not_read());
  CHECK(diagnosis.window_seconds == 10.0);
  CHECK(diagnosis.checks.size() == all_checks().size());
}

TEST_CASE("link-slow: below what both ends have enabled, and not below what they support") {
  Patient slow;
  slow.info(Patient::leaf0, 3).link_width_active = slow.info(Patient::spine, 1).link_width_active = 1;
  slow.sweep();
  const Diagnosis diagnosis = slow.examine();
  REQUIRE(Patient::checks_of(diagnosis) == Found{"link-slow"});
  const Finding& finding = diagnosis.findings.front();
  CHECK(*finding.level == Level::error);
  REQUIRE(finding.ends.size() == 2);
  CHECK(finding.ends[0].port == slow.port(Patient::spine, 1));
  CHECK(finding.ends[1].port == slow.port(Patient::leaf0, 3));
  REQUIRE(finding.evidence.size() == 1);
  CHECK(finding.evidence.front().field == "linkWidthActive");
  CHECK(finding.evidence.front().limit == 4.0);

  Patient meant;  // one end allows no more
  for (smp::PortInfo* info : {&meant.info(Patient::leaf0, 3), &meant.info(Patient::spine, 1)}) info->link_width_active = 1;
  meant.info(Patient::leaf0, 3).link_width_enabled = 1;
  meant.sweep();
  CHECK(meant.found() == Found{"link-misconfigured"});

  Patient speed;
  speed.make_edr();
  speed.info(Patient::leaf0, 3).link_speed_ext_active = speed.info(Patient::spine, 1).link_speed_ext_active = 1;
  speed.sweep();
  CHECK(speed.found() == Found{"link-slow"});

  Patient disabled;  // 30: extended speeds are disabled
  disabled.make_edr();
  for (const auto& [node, number] : {std::pair{Patient::leaf0, 3U}, {Patient::spine, 1U}}) {
    disabled.info(node, number).link_speed_ext_active = 0;
    disabled.info(node, number).link_speed_ext_enabled = 30;
  }
  disabled.sweep();
  CHECK(disabled.found() == Found{"link-misconfigured"});
}

TEST_CASE("link-misconfigured: a warning, and where all ports of a device have it one info") {
  Patient one;
  one.info(Patient::leaf0, 3).link_speed_enabled = 7;
  one.info(Patient::leaf0, 1).link_width_enabled = one.info(Patient::host0, 1).link_width_active = 1;
  one.info(Patient::leaf0, 1).link_width_active = 1;
  one.sweep();
  const Diagnosis diagnosis = one.examine();
  REQUIRE(Patient::checks_of(diagnosis) == Found{"link-misconfigured"});
  CHECK(*diagnosis.findings.front().level == Level::warning);
  CHECK(diagnosis.findings.front().ends.front().port == one.port(Patient::leaf0, 1));

  Patient all;
  for (FakeFabric::NodeId id = 0; id < all.fabric.size(); ++id) {
    for (auto& port : all.fabric.node(id).ports) port.info.link_width_supported = 15;
  }
  all.sweep();
  const Diagnosis decided = all.examine();
  REQUIRE(Patient::checks_of(decided) == Found{"link-misconfigured"});
  CHECK(*decided.findings.front().level == Level::info);
  CHECK(decided.findings.front().ends.size() == 12);

  Patient half;  // six of twelve linked ports; the other end of each has more enabled
  for (FakeFabric::NodeId id = 0; id < half.fabric.size(); ++id) {
    for (auto& port : half.fabric.node(id).ports) port.info.link_width_supported = port.info.link_width_enabled = 15;
  }
  for (const auto host : {Patient::host0, Patient::host1, Patient::host2, Patient::host3}) half.info(host, 1).link_width_enabled = 3;
  for (const unsigned port : {1U, 2U}) half.info(Patient::spine, port).link_width_enabled = 3;
  half.sweep();
  const Diagnosis undecided = half.examine();
  CHECK(undecided.count(Level::warning) == 6);

  Patient both;  // both ends of one cable have less enabled: somebody has set them
  for (smp::PortInfo* info : {&both.info(Patient::leaf0, 3), &both.info(Patient::spine, 1)})
    info->link_width_enabled = info->link_width_active = 1;
  both.sweep();
  const Diagnosis set = both.examine();
  CHECK(set.count(Level::warning) == 0);
  CHECK(set.count(Level::info) != 0);
}

TEST_CASE("link-misconfigured: where a device has less enabled everywhere, a port with still less is a warning on its own cable") {
  Patient patient;
  for (FakeFabric::NodeId id = 0; id < patient.fabric.size(); ++id) {
    for (auto& port : patient.fabric.node(id).ports) port.info.link_width_supported = 15;
  }
  for (smp::PortInfo* info : {&patient.info(Patient::leaf0, 3), &patient.info(Patient::spine, 1)}) info->link_width_active = 1;
  patient.info(Patient::leaf0, 3).link_width_enabled = 1;
  patient.sweep();
  const Diagnosis diagnosis = patient.examine();
  REQUIRE(Patient::checks_of(diagnosis) == Found{"link-misconfigured", "link-misconfigured"});
  CHECK(*diagnosis.findings[0].level == Level::warning);
  CHECK(diagnosis.findings[0].ends.front().port == patient.port(Patient::leaf0, 3));
  CHECK(*diagnosis.findings[1].level == Level::info);
  CHECK(diagnosis.findings[1].ends.size() == 11);
}

TEST_CASE("link-misconfigured: at least three ports that lead to one device and agree are a decision; two are not") {
  for (const auto& [hosts, is_decided] : {std::pair{3U, true}, {2U, false}}) {
    Patient patient;
    const std::array all{Patient::host0, Patient::host1, Patient::host2};
    const std::array ports{std::pair{Patient::leaf0, 1U}, std::pair{Patient::leaf0, 2U}, std::pair{Patient::leaf1, 1U}};
    for (unsigned at = 0; at < hosts; ++at) {
      patient.fabric.node(all[at]).info.device_id = 0x1017;
      patient.info(ports[at].first, ports[at].second).link_width_supported = 15;
      patient.info(all[at], 1).link_width_supported = patient.info(all[at], 1).link_width_enabled = 15;
    }
    patient.sweep();
    const Diagnosis diagnosis = patient.examine();
    const auto count = [&](Level level) {
      return std::ranges::count_if(diagnosis.findings,
                                   [level](const Finding& of) { return of.check->id == "link-misconfigured" && *of.level == level; });
    };
    CHECK(count(Level::info) == (is_decided ? 1 : 0));
    CHECK(count(Level::warning) == (is_decided ? 0 : 2));
  }
}

TEST_CASE("link-misconfigured: a cable with less enabled at both ends, where nine of ten links between such devices have more") {
  for (const auto& [leaves, is_found] : {std::pair{11U, true}, {10U, false}}) {
    Patient patient;
    patient.fabric = FakeFabric::fat_tree(leaves, 1, 1);
    for (FakeFabric::NodeId host = Patient::host0; host < patient.fabric.size(); host += 2)
      patient.fabric.node(host).info.device_id = 0x1017;
    for (smp::PortInfo* info : {&patient.info(Patient::leaf0, 2), &patient.info(Patient::spine, 1)})
      info->link_width_enabled = info->link_width_active = 1;
    patient.sweep();
    const Diagnosis diagnosis = patient.examine();
    REQUIRE(Patient::checks_of(diagnosis) == Found{"link-misconfigured"});  // one of the cable, or one of the ports of the device
    const Finding& finding = diagnosis.findings.front();
    CHECK(*finding.level == (is_found ? Level::warning : Level::info));
    CHECK(finding.subject == (is_found ? Finding::Subject::cable : Finding::Subject::group));
    CHECK(finding.ends.size() == 2);
    REQUIRE(finding.evidence.size() == (is_found ? 2 : 0));
    for (std::size_t end = 0; end < finding.evidence.size(); ++end) {
      CHECK(finding.evidence[end].field == "linkWidthEnabled");
      CHECK(finding.evidence[end].end == end);
      CHECK(finding.evidence[end].limit == 4.0);
    }
  }
}

TEST_CASE("link-misconfigured: width and speed are compared apart from each other") {
  const auto set_ends = [](Patient& patient, FakeFabric::NodeId leaf, auto change) {
    change(patient.info(leaf, 2));
    change(patient.info(Patient::spine, static_cast<unsigned>((leaf + 1) / 2)));
  };
  const auto slower = [](smp::PortInfo& info) { info.link_speed_ext_enabled = info.link_speed_ext_active = 1; };
  const auto narrow = [](smp::PortInfo& info) { info.link_width_enabled = info.link_width_active = 1; };
  for (const bool is_narrow : {true, false}) {
    Patient patient;  // 16 leaves: ten links at 4x EDR, five at 4x FDR, and one at 1x EDR
    patient.fabric = FakeFabric::fat_tree(16, 1, 1);
    patient.make_edr();
    for (FakeFabric::NodeId host = Patient::host0; host < patient.fabric.size(); host += 2)
      patient.fabric.node(host).info.device_id = 0x1017;
    for (FakeFabric::NodeId leaf = 3; leaf <= 11; leaf += 2) set_ends(patient, leaf, slower);
    if (is_narrow) set_ends(patient, Patient::leaf0, narrow);
    patient.sweep();
    const Diagnosis diagnosis = patient.examine();
    std::vector<const Finding*> warnings;
    for (const Finding& finding : diagnosis.findings) {
      CHECK(finding.check->id == std::string_view("link-misconfigured"));
      if (*finding.level == Level::warning) warnings.push_back(&finding);
    }
    REQUIRE(warnings.size() == (is_narrow ? 1 : 0));  // five of sixteen are a decision
    if (!is_narrow) continue;
    CHECK(warnings.front()->subject == Finding::Subject::cable);
    REQUIRE(warnings.front()->evidence.size() == 2);
    for (const Evidence& evidence : warnings.front()->evidence) {
      CHECK(evidence.field == "linkWidthEnabled");
      CHECK(evidence.limit == 4.0);
    }
  }
}

TEST_CASE("link-misconnected: links between the same devices are one finding") {
  Patient one;
  one.info(Patient::host0, 1).link_width_supported = 1;
  one.info(Patient::host0, 1).link_width_active = one.info(Patient::leaf0, 1).link_width_active = 1;
  one.info(Patient::host0, 1).link_width_enabled = 1;
  one.sweep();
  const Diagnosis single = one.examine();
  REQUIRE(Patient::checks_of(single) == Found{"sibling-ports", "link-misconnected"});  // three other hosts have wider links
  CHECK(single.findings.back().subject == Finding::Subject::cable);

  Patient two;
  for (const auto host : {Patient::host0, Patient::host1}) {
    two.info(host, 1).link_width_supported = two.info(host, 1).link_width_enabled = two.info(host, 1).link_width_active = 1;
    two.fabric.node(host).info.device_id = 0x1017;
    two.info(Patient::leaf0, host == Patient::host0 ? 1 : 2).link_width_active = 1;
  }
  two.sweep();
  const Diagnosis grouped = two.examine();
  REQUIRE(Patient::checks_of(grouped) == Found{"link-misconnected"});
  CHECK(grouped.findings.front().subject == Finding::Subject::group);
  CHECK(grouped.findings.front().ends.size() == 2);
}

TEST_CASE("mtu-mismatch, vl-mismatch and fec-mismatch compare the ends of Active links") {
  Patient mtu;
  mtu.info(Patient::leaf0, 1).neighbor_mtu = smp::Mtu::mtu_2048;
  mtu.sweep();
  CHECK(mtu.found() == Found{"mtu-mismatch"});

  Patient vls;
  vls.info(Patient::leaf0, 1).operational_vls = smp::VLCap::vl0_3;
  vls.sweep();
  CHECK(vls.found() == Found{"vl-mismatch"});

  Patient both;  // another MTU at both ends is a decision
  both.info(Patient::leaf0, 1).neighbor_mtu = both.info(Patient::host0, 1).neighbor_mtu = smp::Mtu::mtu_2048;
  both.sweep();
  CHECK(both.found().empty());

  Patient fec;
  fec.sweep();
  fec.input->fec_modes[fec.port(Patient::leaf0, 1)] = smp::FecMode::rs_fec;
  CHECK(fec.found().empty());  // one end tells nothing
  Patient fecs;
  fecs.sweep();
  fecs.input->fec_modes[fecs.port(Patient::leaf0, 1)] = smp::FecMode::rs_fec;
  fecs.input->fec_modes[fecs.port(Patient::host0, 1)] = smp::FecMode::none;
  CHECK(fecs.found() == Found{"fec-mismatch"});
}

}  // namespace health_links_tests
