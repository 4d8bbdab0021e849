// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// What subnet managers set on ports, and nodes that do not answer.
#include "support/catch.hpp"
#include "unit/health/patient.hpp"

namespace health_ports_tests {

using namespace ib;
using namespace ib::health;
using ibtest::FakeFabric;
using ibtest::Found;
using ibtest::Patient;

namespace {

/// Changes the state that a port answers.
void set_state(Patient& patient, ibtest::FakeFabric::NodeId node, unsigned number, smp::PortState state) {
  const subnet::PortIndex at = patient.port(node, number);
  subnet::Port& port = patient.swept->subnet.port(at);
  port.info_bytes[32] = static_cast<std::uint8_t>((port.info_bytes[32] & 0xf0U) | static_cast<unsigned>(state));
}

}  // namespace

TEST_CASE("port-init and port-armed are findings of the cable, each with both of its ends") {
  Patient patient;
  patient.sweep();
  set_state(patient, Patient::leaf0, 1, smp::PortState::init);
  set_state(patient, Patient::host0, 1, smp::PortState::init);
  set_state(patient, Patient::leaf1, 2, smp::PortState::armed);
  const Diagnosis diagnosis = patient.examine();
  REQUIRE(Patient::checks_of(diagnosis) == Found{"port-init", "port-armed"});
  CHECK(diagnosis.findings[0].ends.size() == 2);
  CHECK(diagnosis.findings[0].evidence.size() == 2);
  CHECK(diagnosis.findings[1].evidence.size() == 1);

  Patient down;  // a port that is down is not in use
  down.fabric.set_link(Patient::leaf0, 2, false);
  down.sweep();
  CHECK(down.found().empty());
}

TEST_CASE("port-init is one finding where no manager is master, after what it comes of") {
  Patient patient;
  patient.sweep();
  for (const auto& [node, port] : {std::pair{Patient::leaf0, 1U}, {Patient::host0, 1U}, {Patient::leaf0, 2U}, {Patient::host1, 1U}})
    set_state(patient, node, port, smp::PortState::init);
  CHECK(patient.found() == Found{"port-init", "port-init"});  // a master has forgotten them
  patient.input->managers.clear();
  patient.input->has_read_managers = true;
  const Diagnosis none = examine(*patient.input, {});
  REQUIRE(Patient::checks_of(none) == Found{"sm-none", "port-init"});
  CHECK(none.findings[1].subject == Finding::Subject::group);
  CHECK(none.findings[1].ends.size() == 4);
  CHECK(none.findings[1].evidence.size() == 4);
  patient.input->silent_managers = 1;  // which may be the master
  CHECK(Patient::checks_of(examine(*patient.input, {})) == Found{"port-init", "port-init"});
}

TEST_CASE("lid-zero: an Active port without a LID; one in Initialize has none yet") {
  Patient patient;
  patient.info(Patient::host1, 1).lid = Lid{0};
  patient.sweep();
  CHECK(patient.found() == Found{"lid-zero"});
  Patient early;
  early.info(Patient::host1, 1).lid = Lid{0};
  early.sweep();
  set_state(early, Patient::host1, 1, smp::PortState::init);
  CHECK(early.found() == Found{"port-init"});
}

TEST_CASE("lid-duplicate: two ports with a LID in common, by their LMC too") {
  Patient same;
  same.info(Patient::host1, 1).lid = same.info(Patient::host2, 1).lid;
  same.sweep();
  const Diagnosis diagnosis = same.examine();
  REQUIRE(Patient::checks_of(diagnosis) == Found{"lid-duplicate"});
  CHECK(diagnosis.findings.front().ends.size() == 2);
  CHECK(diagnosis.findings.front().detail.starts_with("Both have LID "));

  Patient three;
  for (const auto host : {Patient::host1, Patient::host3}) three.info(host, 1).lid = three.info(Patient::host2, 1).lid;
  three.sweep();
  const Diagnosis of_three = three.examine();
  REQUIRE(Patient::checks_of(of_three) == Found{"lid-duplicate"});
  CHECK(of_three.findings.front().ends.size() == 3);
  CHECK(of_three.findings.front().detail.starts_with("These 3 have LID "));

  for (const auto& [lid, is_found] : {std::pair{std::uint16_t{33}, true}, {std::uint16_t{34}, false}}) {
    Patient range;
    for (const auto host : {Patient::host0, Patient::host1, Patient::host2, Patient::host3}) range.info(host, 1).lmc = 1;
    range.info(Patient::host0, 1).lid = Lid{20};
    range.info(Patient::host1, 1).lid = Lid{24};
    range.info(Patient::host2, 1).lid = Lid{32};
    range.info(Patient::host3, 1).lid = Lid{lid};
    range.fabric.attach(Patient::host0);
    range.sweep();
    CHECK((range.found() == Found{"lid-duplicate"}) == is_found);
  }
}

TEST_CASE("lmc-mismatch: the port that differs from most") {
  Patient patient;
  patient.info(Patient::host3, 1).lmc = 2;
  patient.info(Patient::host3, 1).lid = Lid{64};
  patient.sweep();
  const Diagnosis diagnosis = patient.examine();
  REQUIRE(Patient::checks_of(diagnosis) == Found{"lmc-mismatch"});
  CHECK(diagnosis.findings.front().ends.front().port == patient.port(Patient::host3, 1));
  CHECK(diagnosis.findings.front().evidence.front().limit == 0.0);

  Patient halves;  // no LMC is that of most
  std::uint16_t lid = 64;
  for (const auto host : {Patient::host0, Patient::host1}) {
    halves.info(host, 1).lmc = 1;
    halves.info(host, 1).lid = Lid{lid += 2};
  }
  halves.fabric.attach(Patient::host0);
  halves.sweep();
  CHECK(halves.found().empty());
}

TEST_CASE("duplicate-guid: ports of two adapters have one port GUID; two ports of one adapter may") {
  Patient patient;
  patient.sweep();
  const subnet::PortIndex first = patient.port(Patient::host0, 1), second = patient.port(Patient::host1, 1);
  patient.swept->subnet.port(second).guid = patient.swept->subnet.port(first).guid;
  const Diagnosis diagnosis = patient.examine();
  REQUIRE(Patient::checks_of(diagnosis) == Found{"duplicate-guid"});
  const Finding& finding = diagnosis.findings.front();
  CHECK(*finding.level == Level::error);
  REQUIRE(finding.ends.size() == 2);
  CHECK(finding.ends[0].port == first);
  CHECK(finding.ends[1].port == second);
  CHECK_THAT(finding.detail, ibtest::contains("Both ports have the GUID 0000:0000:0010:0001."));

  Patient one;
  one.fabric = FakeFabric();
  const auto leaf = one.fabric.add_switch(0x100, 4, "leaf"), ca = one.fabric.add_ca(0x200, 2, "one"),
             other = one.fabric.add_ca(0x300, 1, "two");
  one.fabric.link(leaf, 1, ca, 1);
  one.fabric.link(leaf, 2, ca, 2);
  one.fabric.link(leaf, 3, other, 1);
  one.fabric.assign_lids();
  one.fabric.attach(ca);
  one.sweep();
  REQUIRE(one.swept->subnet.port(one.port(ca, 2)).guid == Guid{0x202});
  one.swept->subnet.port(one.port(ca, 2)).guid = Guid{0x201};
  CHECK(one.found().empty());
}

TEST_CASE("node-silent names the port behind which no node answers, node-partial the attribute without an answer") {
  Patient silent;
  silent.fabric.node(Patient::host2).faults.silent = true;
  silent.sweep();
  const Diagnosis diagnosis = silent.examine();
  REQUIRE(Patient::checks_of(diagnosis) == Found{"node-silent"});
  const Finding& finding = diagnosis.findings.front();
  REQUIRE(finding.ends.size() == 2);
  CHECK(finding.ends[0].port == silent.port(Patient::leaf1, 1));
  CHECK(finding.ends[1] == Place{});

  Patient partial;
  partial.fabric.node(Patient::host2).faults.ignores = smp::NodeDescription::attribute_id;
  partial.sweep();
  const Diagnosis some = partial.examine();
  REQUIRE(Patient::checks_of(some) == Found{"node-partial"});
  CHECK(some.findings.front().detail == "Not read: NodeDescription.");

  Patient late;  // its first answers come at the last try
  late.fabric.node(Patient::host2).faults.drop_next = 3;
  late.sweep();
  CHECK(late.found().empty());
}

}  // namespace health_ports_tests
