// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Findings in words: which ends are named, and where the values are of.
#include "health/finding.hpp"

#include <array>

#include "health/checks/common.hpp"
#include "support/catch.hpp"
#include "unit/health/patient.hpp"

namespace health_finding_text_tests {

using namespace ib;
using namespace ib::health;
using ibtest::FakeFabric;
using ibtest::Patient;

namespace {

struct Told : Patient {
  subnet::NodeNameMap names;
  Told() { sweep(); }
  FindingText words() const { return {swept->subnet, names, nullptr}; }
  Place node(FakeFabric::NodeId id) const { return {swept->subnet.port(port(id, 1)).node, subnet::none}; }
};

Evidence number(std::string_view field, std::size_t end, std::uint64_t value) { return field_value(field, end, {value, {}}); }

}  // namespace

TEST_CASE("all nodes of a finding are named; ports of a node that is named are not") {
  const Told told;
  Finding finding;
  finding.subject = Finding::Subject::place;
  finding.ends = {told.node(Patient::leaf0), place_of(told.swept->subnet, told.port(Patient::leaf0, 2)), told.node(Patient::spine)};
  finding.evidence = {number("MTUCap", 1, 4), number("MTUCap", 2, 5)};
  const std::string leaf = told.words().place(finding.ends[0]), spine = told.words().place(finding.ends[2]);
  CHECK(told.words().ends(finding) == leaf + " and " + spine);
  CHECK(told.words().seen(finding) == "MTUCap is 4 at port 2; MTUCap is 5 at " + told.words().short_place(finding.ends[2]) + ".");
}

TEST_CASE("only a cable has another end") {
  const Told told;
  const subnet::Subnet& subnet = told.swept->subnet;
  Finding pair = on_ports(subnet, std::array{told.port(Patient::host0, 1), told.port(Patient::host1, 1)});
  pair.evidence = {number("LID", 0, 3), number("LID", 1, 3)};
  CHECK(told.words().seen(pair) == "LID is 3; LID is 3 at " + told.words().short_place(pair.ends[1]) + ".");
  CHECK(told.words().ends(pair).find(" -- ") == std::string::npos);
  Finding cable = on_cable(subnet, told.port(Patient::host0, 1));
  cable.evidence = {number("LID", 1, 3)};
  CHECK(told.words().seen(cable) == "LID is 3 at the other end.");
  CHECK(told.words().ends(cable).find(" -- ") != std::string::npos);
}

TEST_CASE("of many values the first four are shown, with the number of the others") {
  const Told told;
  Finding cable = on_cable(told.swept->subnet, told.port(Patient::host0, 1));
  for (std::uint64_t value = 1; value <= 4; ++value) cable.evidence.push_back(number("LID", 0, value));
  CHECK(told.words().seen(cable) == "LID is 1; LID is 2; LID is 3; LID is 4.");
  for (std::uint64_t value = 5; value <= 7; ++value) cable.evidence.push_back(number("LID", 1, value));
  CHECK(told.words().seen(cable) == "LID is 1; LID is 2; LID is 3; LID is 4; … and 3 more (in JSON).");
}

TEST_CASE("a limit of a count stands behind the count, a limit of a rate behind the rate") {
  const Told told;
  Finding cable = on_cable(told.swept->subnet, told.port(Patient::host0, 1));
  Evidence evidence;
  evidence.counter = counters::find_counter("vl15_dropped")->narrow;
  evidence.delta = 20;
  evidence.seconds = 10;
  evidence.limit = 1;
  cable.evidence = {evidence};
  CHECK(told.words().seen(cable) == "VL15Dropped +20 (limit 1) in 10 s (2/s).");
  cable.evidence[0].is_rate_limit = true;
  CHECK(told.words().seen(cable) == "VL15Dropped +20 in 10 s (2/s, limit 1/s).");
}

TEST_CASE("a group in one line is its number, one of it, and what is seen there") {
  const Told told;
  Finding group = on_ports(told.swept->subnet, std::array{told.port(Patient::host0, 1), told.port(Patient::host1, 1)});
  group.subject = Finding::Subject::group;
  group.evidence = {number("LMC", 0, 1), number("LMC", 1, 2)};
  group.detail = "That is meant.";
  CHECK(told.words().brief(group) == "2 ports, for example " + told.words().place(group.ends[0]) + ": LMC is 1. That is meant.");
}

}  // namespace health_finding_text_tests
