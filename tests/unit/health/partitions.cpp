// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// P_Keys of hosts and of the switch ports before them, and groups that are too fast for their members.
#include "support/catch.hpp"
#include "unit/health/patient.hpp"

namespace health_partitions_tests {

using namespace ib;
using namespace ib::health;
using ibtest::Found;
using ibtest::Patient;

TEST_CASE("pkey-mismatch: what the switch does not know of the host's partitions; membership does not matter, nor more than the host has") {
  Patient patient;
  patient.sweep();
  patient.input->pkeys[patient.port(Patient::host0, 1)] = {0x8001, 0xffff};
  const subnet::PortIndex gate = patient.port(Patient::leaf0, 1);
  patient.input->pkeys[gate] = {0x0001, 0x7fff, 0x8002};
  CHECK(patient.found().empty());
  patient.input->pkeys[gate] = {0x7fff, 0x8002};
  const Diagnosis diagnosis = patient.examine();
  REQUIRE(Patient::checks_of(diagnosis) == Found{"pkey-mismatch"});
  CHECK(diagnosis.findings[0].ends.front().port == gate);
  CHECK(diagnosis.findings[0].ends.back().port == patient.port(Patient::host0, 1));
  CHECK_THAT(diagnosis.findings[0].detail, ibtest::contains("0x8001"));
}

TEST_CASE("pkey-no-full-member: a partition with only limited members") {
  Patient patient;
  patient.sweep();
  patient.input->pkeys[patient.port(Patient::host0, 1)] = {0x0005, 0xffff};
  patient.input->pkeys[patient.port(Patient::host1, 1)] = {0x0005, 0x7fff};
  const Diagnosis diagnosis = patient.examine();
  REQUIRE(Patient::checks_of(diagnosis) == Found{"pkey-no-full-member"});
  CHECK(diagnosis.findings[0].ends.size() == 2);
  patient.input->pkeys[patient.port(Patient::host2, 1)] = {0x8005};
  CHECK(patient.found().empty());
  patient.input->pkeys.erase(patient.port(Patient::host2, 1));  // it did not tell
  patient.input->source(Source::pkeys) = {CheckState::not_read, "", true};
  CHECK(patient.found().empty());
}

TEST_CASE("multicast-rate: a group that is faster than a member's link") {
  Patient patient;  // all links are 4x QDR
  patient.sweep();
  BroadcastGroup group;
  group.rate = sa::Rate::gbps_40;
  group.members = {patient.port(Patient::host0, 1), patient.port(Patient::host1, 1)};
  patient.input->groups = {group};
  CHECK(patient.found().empty());
  patient.input->groups[0].rate = sa::Rate::gbps_56;
  const Diagnosis diagnosis = patient.examine();
  REQUIRE(Patient::checks_of(diagnosis) == Found{"multicast-rate"});
  CHECK(diagnosis.findings[0].ends.size() == 2);
}

}  // namespace health_partitions_tests
