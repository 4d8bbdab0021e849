// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// An agent that does not answer one attribute gets the requests for the others.
#include <set>

#include "iba-gen/pm.hpp"
#include "support/catch.hpp"
#include "unit/snapshot/recorder.hpp"

namespace snapshot_mute_attributes_tests {

using namespace ib;
using ibtest::FakeFabric;
using ibtest::Passed;
using ibtest::ReadFabric;
using snapshot::Part;
using snapshot::SurveyedPart;

namespace {

constexpr std::uint16_t class_port_info = 1;

struct Bench : ibtest::CountingFabric {
  FakeFabric::Node& sw() { return fabric.node(leaf); }
};

}  // namespace

TEST_CASE("a node that does not answer one table gets the requests for the others") {
  Bench bench;
  bench.sw().faults.ignores = smp::LinearForwardingTable::attribute_id;
  ReadFabric read(bench.fabric, 1);
  SurveyedPart done = read.read(Part::lft);
  REQUIRE(done.failures.size() == 1);
  CHECK(done.failures[0].attribute == "LinearForwardingTable");
  CHECK(done.failures[0].kind == subnet::Failure::Kind::no_answer);
  done = read.read(Part::sl2vl);
  CHECK(done.failures.empty());
  CHECK(done.answered == done.planned);
  CHECK_THAT(read.modifiers(smp::SLToVLMappingTable::attribute_id), ibtest::contains("0,1:0 "));
  // A node that died is found out by one chain of tries all the same.
  bench.sw().faults.silent = true;
  done = read.read(Part::pkeys);
  REQUIRE(done.failures.size() == 1);
  CHECK(read.read(Part::guids).failures.empty());
  CHECK_FALSE(ibtest::contains("0,1:").match(read.modifiers(smp::GuidInfo::attribute_id)));
}

TEST_CASE("a PMA that does not answer one attribute gets the requests for the others, also in later parts") {
  Bench bench;
  const std::uint16_t mute = GENERATE(class_port_info, pm::PortCounters::attribute_id);
  CAPTURE(mute);
  bench.pma.service().faults.ignores = mute;
  ReadFabric read(bench.fabric, 1);
  SurveyedPart done = read.read(Part::counters);
  REQUIRE(done.failures.size() == 1);
  CHECK(done.failures[0].kind == subnet::Failure::Kind::no_answer);
  CHECK(done.failures[0].attribute == (mute == class_port_info ? "ClassPortInfo" : "PortCounters"));
  CHECK_THAT(read.selects(pm::PortCountersExt::attribute_id), ibtest::contains("1:1 "));
  const auto is_answered = [](const Passed& one) { return one.to == "1" && one.status == 0; };
  CHECK(std::ranges::any_of(read.of_part, is_answered));
  done = read.read(Part::details);
  CHECK(std::ranges::any_of(read.of_part, is_answered));
}

}  // namespace snapshot_mute_attributes_tests
