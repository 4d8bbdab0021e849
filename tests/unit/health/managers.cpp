// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Subnet managers: one master, the best, with a standby, known to all ports, and at work.
#include "support/catch.hpp"
#include "unit/health/patient.hpp"

namespace health_managers_tests {

using namespace ib;
using namespace ib::health;
using ibtest::Found;
using ibtest::Patient;
using smp::SMState;

TEST_CASE("sm-none: nobody is master, and all managers told") {
  Patient none;
  none.sweep();
  none.input->managers.clear();
  CHECK(none.found() == Found{"sm-none"});

  Patient standby;  // it has not become master yet, or cannot
  standby.sweep();
  standby.input->managers.erase(standby.input->managers.begin());
  const Diagnosis diagnosis = standby.examine();
  REQUIRE(Patient::checks_of(diagnosis) == Found{"sm-none"});
  CHECK(diagnosis.findings[0].ends.front().port == standby.port(Patient::host0, 1));

  Patient refused;  // the one that did not tell may be the master
  refused.sweep();
  refused.input->managers.erase(refused.input->managers.begin());
  refused.input->silent_managers = 1;
  CHECK(refused.found().empty());
}

TEST_CASE("sm-many-masters, sm-no-standby") {
  Patient two;
  two.sweep();
  two.input->managers[1].info.sm_state = SMState::master;
  const Diagnosis diagnosis = two.examine();
  REQUIRE(Patient::checks_of(diagnosis) == Found{"sm-many-masters"});
  CHECK(diagnosis.findings[0].ends.size() == 2);

  Patient alone;
  alone.sweep();
  alone.input->managers.pop_back();
  CHECK(alone.found() == Found{"sm-no-standby"});
  alone.input->silent_managers = 1;
  CHECK(alone.found().empty());
}

TEST_CASE("sm-not-best: greater priority, then lower GUID") {
  Patient same;  // the spine has the lower GUID
  same.sweep();
  same.input->managers[1].info.priority = 5;
  CHECK(same.found().empty());
  std::swap(same.input->managers[0].info.guid, same.input->managers[1].info.guid);
  CHECK(same.found() == Found{"sm-not-best"});
  Patient greater;
  greater.sweep();
  greater.input->managers[1].info.priority = 6;
  const Diagnosis diagnosis = greater.examine();
  REQUIRE(Patient::checks_of(diagnosis) == Found{"sm-not-best"});
  CHECK(diagnosis.findings[0].evidence.size() == 2);
  CHECK(diagnosis.findings[0].evidence[1].after.number == decltype(Value::number)(std::uint64_t{6}));
}

TEST_CASE("sm-lid-differs: a port in use that knows another LID; one of the master's further LIDs is the master's") {
  Patient patient;
  patient.info(Patient::host3, 1).master_sm_lid = Lid{3};
  patient.sweep();
  const Diagnosis diagnosis = patient.examine();
  REQUIRE(Patient::checks_of(diagnosis) == Found{"sm-lid-differs"});
  CHECK(diagnosis.findings[0].ends.front().port == patient.port(Patient::host3, 1));
  CHECK(diagnosis.findings[0].evidence[0].limit == 1.0);

  Patient moved;  // all know the master on host0
  for (ibtest::FakeFabric::NodeId id = 0; id < moved.fabric.size(); ++id) {
    for (auto& port : moved.fabric.node(id).ports) port.info.master_sm_lid = moved.info(Patient::host0, 1).lid;
  }
  moved.sweep();
  CHECK(moved.found() == Found{"sm-lid-differs"});
  std::swap(moved.input->managers[0].info.sm_state, moved.input->managers[1].info.sm_state);
  std::swap(moved.input->managers[0].info.priority, moved.input->managers[1].info.priority);
  CHECK(moved.found().empty());
}

TEST_CASE("sm-stuck: answers to requests of rounds in between are ours too") {
  for (const auto& [moved, is_stuck] : {std::pair{12U, true}, {13U, false}}) {
    Patient patient;
    patient.sweep();
    Manager& manager = patient.input->managers[1];
    manager.act_count_before = 100;
    manager.own_requests = 12;
    manager.info.act_count = 100 + moved;
    CHECK((patient.found() == Found{"sm-stuck"}) == is_stuck);
  }
}

TEST_CASE("sm-stuck: actCount moved by no more than the answer to ourselves") {
  for (const auto& [moved, is_found] : {std::pair{0U, true}, {1U, true}, {2U, false}}) {
    Patient patient;
    patient.sweep();
    patient.input->managers[0].act_count_before = 0xffffffff;  // it wraps
    patient.input->managers[0].info.act_count = 0xffffffff + moved;
    CHECK((patient.found() == Found{"sm-stuck"}) == is_found);
  }
  Patient once;  // the window is too short
  once.sweep();
  CHECK(once.found().empty());
}

}  // namespace health_managers_tests
