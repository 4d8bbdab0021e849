// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Links that went down, where one end can not tell, or where they did not come back.
#include "support/catch.hpp"
#include "unit/health/patient.hpp"

namespace health_flaps_tests {

using namespace ib;
using namespace ib::health;
using ibtest::FakeFabric;
using ibtest::Found;
using ibtest::Patient;

namespace {

/// The only finding of a diagnosis, which has to be of this check.
const Finding& only(const Diagnosis& diagnosis, std::string_view check) {
  REQUIRE(Patient::checks_of(diagnosis) == Found{std::string(check)});
  return diagnosis.findings.front();
}

/// Takes the link at a port away, and reads the counters of that port nevertheless.
void lose_link(Patient& patient, FakeFabric::NodeId node, unsigned port) {
  patient.fabric.set_link(node, port, false);
  patient.sweep();
  patient.read(node, port);
}

/// A spine and a leaf with two cables, of which the second is dead, and was not when the first reading was taken.
struct TwoCables : Patient {
  TwoCables() {
    fabric = FakeFabric();
    fabric.add_switch(0x5000, 4, "spine");
    fabric.add_switch(0x6000, 4, "leaf");
    const auto host = fabric.add_ca(0x100, 1, "host HCA-1");
    for (const unsigned number : {1U, 2U}) fabric.link(0, number, 1, number);
    fabric.link(1, 3, host, 1);
    fabric.assign_lids();
    fabric.attach(host);
    fabric.set_link(0, 2, false);
    swept = std::make_unique<ibtest::Swept>(fabric);
    input = std::make_unique<Input>(swept->subnet, swept->failures, thresholds);
    input->source(Source::managers).state = CheckState::skipped;
    for (const FakeFabric::NodeId node : {0, 1}) {
      read(node, 2);
      subnet::Port& pulled = swept->subnet.port(port(node, 2));  // nobody disabled it: it is polling
      pulled.info_bytes[33] = static_cast<std::uint8_t>((pulled.info_bytes[33] & 0x0fU) | 0x20U);
    }
    input->former_peers = {{port(0, 2), port(1, 2)}, {port(1, 2), port(0, 2)}};
  }
};

}  // namespace

TEST_CASE("LinkDowned that is full at one end does not say that the other node restarted") {
  Patient full;
  full.sweep();
  full.fill(Patient::leaf0, 3, "link_downed_counter", 255);
  full.count(Patient::spine, 1, "link_downed_counter", 3);
  const Diagnosis diagnosis = full.examine();
  const Finding& finding = only(diagnosis, "link-flap");
  CHECK(*finding.level == Level::warning);
  CHECK(finding.confidence == Confidence::possible);
  CHECK_THAT(finding.detail, ibtest::contains("is saturated"));

  Patient last;  // it became full by what it counted: both ends counted
  last.sweep();
  CounterChange& filled = last.fill(Patient::leaf0, 3, "link_downed_counter", 255);
  filled.before = 254;
  filled.delta = 1;
  last.count(Patient::spine, 1, "link_downed_counter", 1);
  const Diagnosis both = last.examine();
  CHECK(*only(both, "link-flap").level == Level::error);
}

TEST_CASE("LinkDowned cleared at only one end does not mean that the node restarted") {
  Patient cleared;
  cleared.sweep();
  cleared.clear(Patient::leaf0, 3, "link_downed_counter", 4, 0);
  cleared.count(Patient::spine, 1, "link_downed_counter", 1);
  const Diagnosis diagnosis = cleared.examine();
  const Finding& finding = only(diagnosis, "link-flap");
  CHECK(*finding.level == Level::warning);
  CHECK(finding.confidence == Confidence::possible);
  CHECK(finding.also == std::vector{find_check("counter-cleared")});

  Patient since;  // it has counted after that
  since.sweep();
  since.clear(Patient::leaf0, 3, "link_downed_counter", 4, 2);
  since.count(Patient::spine, 1, "link_downed_counter", 1);
  const Diagnosis both = since.examine();
  CHECK(*only(both, "link-flap").level == Level::error);

  Patient restarted;  // all of its counters began anew, and its link came up once more while it started
  restarted.sweep();
  restarted.clear(Patient::host0, 1, "link_downed_counter", 4, 1);
  restarted.counts.at(restarted.port(Patient::host0, 1)).began_anew = true;
  restarted.count(Patient::leaf0, 1, "link_downed_counter", 1);
  const Diagnosis restart = restarted.examine();
  CHECK(only(restart, "link-restart").confidence == Confidence::sure);
}

TEST_CASE("LinkDowned only at the host is its driver or firmware; only at the switch, the other node restarted") {
  Patient host;
  host.sweep();
  host.count(Patient::host0, 1, "link_downed_counter", 1);
  const Diagnosis driver = host.examine();
  CHECK(only(driver, "link-restart").confidence == Confidence::likely);
  CHECK(only(driver, "link-restart").detail == "The switch did not count it: the driver or the firmware of this host.");
  CHECK(only(driver, "link-restart").ends.front().port == host.port(Patient::host0, 1));

  for (const auto& [node, port] : {std::pair{Patient::leaf0, 1U}, {Patient::spine, 1U}}) {
    Patient at_switch;
    at_switch.sweep();
    at_switch.count(node, port, "link_downed_counter", 1);
    const Diagnosis restart = at_switch.examine();
    CHECK(only(restart, "link-restart").detail == "The other end did not count it.");
  }
}

TEST_CASE("a link that went down and did not come back is a warning, whatever its other end may be") {
  Patient dead;
  lose_link(dead, Patient::leaf0, 2);
  dead.count(Patient::leaf0, 2, "link_downed_counter", 1);
  const Diagnosis diagnosis = dead.examine();
  const Finding& finding = only(diagnosis, "link-flap");
  CHECK(*finding.level == Level::warning);
  CHECK(finding.confidence == Confidence::possible);
  CHECK(finding.ends.size() == 1);
  CHECK_THAT(finding.detail, ibtest::contains("did not come back"));

  Patient still;
  lose_link(still, Patient::leaf0, 2);  // it was down before
  CHECK(still.found().empty());
}

TEST_CASE("a link that went down and stayed down has both ends, taken from the first reading") {
  TwoCables both;
  both.count(0, 2, "link_downed_counter", 1);
  both.count(1, 2, "link_downed_counter", 1);
  const Diagnosis counted = both.examine();
  const Finding& sure = only(counted, "link-flap");
  CHECK(*sure.level == Level::error);
  CHECK(sure.ends.size() == 2);
  CHECK(sure.evidence.size() == 2);

  TwoCables one;
  one.count(0, 2, "link_downed_counter", 1);
  const Diagnosis half = one.examine();
  const Finding& doubted = only(half, "link-flap");
  CHECK(*doubted.level == Level::warning);
  CHECK(doubted.ends.size() == 2);

  TwoCables disabled;  // by somebody
  disabled.count(0, 2, "link_downed_counter", 1);
  disabled.count(1, 2, "link_downed_counter", 1);
  subnet::Port& port = disabled.swept->subnet.port(disabled.port(0, 2));
  port.info_bytes[33] = static_cast<std::uint8_t>((port.info_bytes[33] & 0x0fU) | 0x30U);
  const Diagnosis off = disabled.examine();
  CHECK(*only(off, "link-flap").level == Level::warning);
  CHECK_THAT(only(off, "link-flap").detail, ibtest::contains("is disabled"));
}

}  // namespace health_flaps_tests
