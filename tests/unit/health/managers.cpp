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

namespace {

/// Every port has the subnet manager at `lid`.
void set_sm_lid(Patient& patient, Lid lid) {
  for (ibtest::FakeFabric::NodeId id = 0; id < patient.fabric.size(); ++id) {
    for (auto& port : patient.fabric.node(id).ports) port.info.master_sm_lid = lid;
  }
}

}  // namespace

TEST_CASE("sm-none: no manager is master, and all managers answered") {
  Patient none;
  set_sm_lid(none, Lid{0});
  none.sweep();
  none.input->managers.clear();
  const Diagnosis nobody = none.examine();
  REQUIRE(Patient::checks_of(nobody) == Found{"sm-none"});
  CHECK(nobody.findings[0].confidence == Confidence::sure);
  CHECK_THAT(std::string(nobody.findings[0].what_to_do()), ibtest::contains("Start a subnet manager"));

  Patient standby;  // it has not become master yet, or cannot
  standby.sweep();
  standby.input->managers.erase(standby.input->managers.begin());
  const Diagnosis diagnosis = standby.examine();
  REQUIRE(Patient::checks_of(diagnosis) == Found{"sm-none"});
  CHECK(diagnosis.findings[0].ends.front().port == standby.port(Patient::host0, 1));
  CHECK_THAT(std::string(diagnosis.findings[0].what_to_do()), !ibtest::contains("Start"));

  Patient refused;  // the one that did not tell may be the master
  refused.sweep();
  refused.input->managers.erase(refused.input->managers.begin());
  refused.input->silent_managers = 1;
  CHECK(refused.found().empty());
}

TEST_CASE("sm-none: a manager that our port knows and that has ended is named; one out of sight forbids another one") {
  Patient ended;  // it was on the spine, at LID 1
  ended.sweep();
  ended.input->managers.clear();
  const Diagnosis here = ended.examine();
  REQUIRE(Patient::checks_of(here) == Found{"sm-none"});
  CHECK(here.findings[0].ends.front().port == ended.port(Patient::spine, 0));
  CHECK_THAT(std::string(here.findings[0].what_to_do()), ibtest::contains("Start the subnet manager again"));

  Patient cut;  // no node has its LID
  set_sm_lid(cut, Lid{77});
  cut.sweep();
  cut.input->managers.clear();
  const Diagnosis away = cut.examine();
  REQUIRE(Patient::checks_of(away) == Found{"sm-none"});
  CHECK(away.findings[0].confidence == Confidence::likely);
  CHECK_THAT(away.findings[0].detail, ibtest::contains("LID 77"));
  CHECK_THAT(std::string(away.findings[0].what_to_do()), ibtest::contains("cables") && !ibtest::contains("Start"));
  cut.input->has_manager_elsewhere = true;  // and it answers
  CHECK(cut.found().empty());
}

TEST_CASE("sm-silent: an error where it is the master, a warning of a standby, and no other one is called for") {
  Patient hung;
  hung.sweep();
  hung.input->managers.erase(hung.input->managers.begin());
  hung.input->silent_managers = 1;
  hung.input->silent.push_back({hung.port(Patient::spine, 0), {}});
  hung.input->is_sa_silent = true;
  const Diagnosis master = hung.examine();
  REQUIRE(Patient::checks_of(master) == Found{"sm-silent"});
  CHECK(*master.findings[0].level == Level::error);
  CHECK_THAT(master.findings[0].detail, ibtest::contains("has it as its master") && ibtest::contains("administrator does not answer"));

  Patient standby;
  standby.sweep();
  standby.input->managers.pop_back();
  standby.input->silent_managers = 1;
  standby.input->silent.push_back({standby.port(Patient::host0, 1), SMState::standby});
  const Diagnosis second = standby.examine();
  REQUIRE(Patient::checks_of(second) == Found{"sm-silent"});
  CHECK(*second.findings[0].level == Level::warning);
  standby.input->silent[0].state.reset();  // another one is master
  CHECK(*standby.examine().findings[0].level == Level::warning);
  standby.input->silent[0].state = SMState::master;
  CHECK(*standby.examine().findings[0].level == Level::error);
}

TEST_CASE("sa-silent: the manager answers, its subnet administrator does not, and the way to it is well") {
  Patient patient;
  patient.sweep();
  patient.input->is_sa_silent = true;
  const Diagnosis diagnosis = patient.examine();
  REQUIRE(Patient::checks_of(diagnosis) == Found{"sa-silent"});
  CHECK(*diagnosis.findings[0].level == Level::error);
  CHECK(diagnosis.findings[0].ends.front().port == patient.port(Patient::spine, 0));
  const subnet::PortIndex out = patient.port(Patient::leaf0, 3);
  patient.input->broken_ways.push_back(
      {place_of(patient.swept->subnet, out), true, false, "a fault", {diagnosis.findings[0].ends[0].node}});
  CHECK(patient.found() == Found{"way-broken"});

  Patient none;  // the finding is that there is none
  none.sweep();
  none.input->managers.clear();
  none.input->is_sa_silent = true;
  CHECK(none.found() == Found{"sm-none"});
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
  const Diagnosis equal = same.examine();
  REQUIRE(Patient::checks_of(equal) == Found{"sm-not-best"});
  CHECK(*equal.findings[0].level == Level::info);
  Patient greater;
  greater.sweep();
  greater.input->managers[1].info.priority = 6;
  const Diagnosis diagnosis = greater.examine();
  REQUIRE(Patient::checks_of(diagnosis) == Found{"sm-not-best"});
  CHECK(*diagnosis.findings[0].level == Level::warning);
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
