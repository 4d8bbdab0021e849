// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Forwarding tables as a whole: unicast packets and those of groups that do not arrive, and credit loops.
#include "health/routes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "routing/tables.hpp"
#include "support/catch.hpp"
#include "unit/health/patient.hpp"

namespace health_routes_tests {

using namespace ib;
using namespace ib::health;
using ibtest::FakeFabric;
using ibtest::Found;
using ibtest::Patient;

namespace {

using Vls = std::array<std::uint8_t, routing::sl_count>;

constexpr std::uint16_t group = 0xc001;

/// What is read beside linear tables.
struct Known {
  bool multicast = false;                         ///< multicast tables
  std::optional<Vls> vls = Vls{};                 ///< of all SLtoVL mapping tables; nothing: they are not read
  std::map<std::uint16_t, routing::SlSet> sls{};  ///< of groups
};

struct Routed {
  Diagnosis diagnosis;
  std::vector<Finding> findings;  ///< of the check
  bool lacks_lanes{};
  std::size_t lane_tables = 0;  ///< output ports of which SLtoVL mapping tables were wanted
};

async::Task<> set_lanes(RouteTables& tables, const Vls& vls, std::vector<routing::WantedLanes> ports) {
  for (const routing::WantedLanes& of : ports) {
    for (const std::uint8_t in : of.in) tables.lanes.set(of.at, tables.network.switches()[of.at].slots, in, of.out, vls);
  }
  co_return;
}

async::Task<> analyse(Patient& of, const Known& known, Routed& routed) {
  path::IbDrPath start;
  start.end_port = &of.fabric.end_port();
  start.sqpn = Qpn{0};
  RouteTables tables(of.swept->subnet);
  tables.has_multicast = known.multicast;
  tables.groups.sls = known.sls;
  const routing::TablesToRead to{.linear = &tables.linear, .multicast = known.multicast ? &tables.multicast : nullptr};
  const subnet::Failures failures = co_await routing::read_tables(*of.swept->rpc, tables.network, to, start);
  CHECK(failures.empty());
  tables.multicast.finish();
  routing::ReadLanes lanes = [&](std::vector<routing::WantedLanes> ports) {
    routed.lane_tables += ports.size();
    return set_lanes(tables, *known.vls, std::move(ports));
  };
  if (!known.vls) lanes = nullptr;
  RouteAnalysis analysis = co_await analyse_routes(tables, lanes, {});
  of.input->route_findings = std::move(analysis.findings);
  routed.lacks_lanes = analysis.lacks_lanes;
}

Routed judged(Patient& patient, const Known& known) {
  Routed routed;
  patient.sweep();
  patient.swept->loop.run(analyse(patient, known, routed));
  routed.diagnosis = patient.examine();
  for (const Finding& finding : routed.diagnosis.findings) {
    if (finding.check->id == "routes") routed.findings.push_back(finding);
  }
  return routed;
}

/// A patient whose hosts are all in a group, by the spine.
struct Grouped : Patient {
  Grouped() {
    for (const FakeFabric::NodeId id : {spine, leaf0, leaf1}) fabric.node(id).switch_info.multicast_fdb_cap = 64;
    fabric.node(leaf0).mft[group] = fabric.node(leaf1).mft[group] = {1, 2, 3};
    fabric.node(spine).mft[group] = {1, 2};
  }
  std::set<unsigned>& entry(FakeFabric::NodeId id) { return fabric.node(id).mft[group]; }
  /// The only finding.
  Finding only() {
    const Routed found = judged(*this, {.multicast = true});
    REQUIRE(found.findings.size() == 1);
    CHECK(found.findings[0].level == Level::error);
    return found.findings[0];
  }
  Place at(FakeFabric::NodeId id) { return {swept->subnet.port(port(id, 0)).node, subnet::none}; }
};

/// Three switches in a ring: port 1 leads to a host, port 2 to the next switch, port 3 to the one before.
struct Ring : Patient {
  static constexpr std::array<FakeFabric::NodeId, 3> switches{0, 1, 3}, hosts{2, 4, 5};
  Ring() {
    fabric = FakeFabric();
    for (unsigned id = 0; id < 6; ++id) {
      const bool is_switch = std::ranges::count(switches, id) > 0;
      is_switch ? fabric.add_switch(0x100 + id * 0x10U, 3, fmt::format("ring{}", id))
                : fabric.add_ca(0x1000 + id * 0x10U, 1, fmt::format("host{} HCA-1", id));
    }
    for (unsigned at = 0; at < 3; ++at) {
      fabric.link(switches[at], 1, hosts[at], 1);
      fabric.link(switches[at], 2, switches[(at + 1) % 3], 3);
      fabric.node(switches[at]).switch_info.multicast_fdb_cap = 64;
    }
    fabric.assign_lids();
    fabric.attach(hosts[0]);
  }
  /// All packets go forwards, over up to two links between switches.
  void go_round() {
    for (unsigned at = 0; at < 3; ++at) {
      for (unsigned to = 0; to < 3; ++to) fabric.node(switches[at]).lft[info(hosts[to], 1).lid.value] = to == at ? 1 : 2;
    }
  }
  /// Three groups with all hosts. The switch of the middle is another one in each.
  void add_groups() {
    for (unsigned middle = 0; middle < 3; ++middle) {
      for (unsigned at = 0; at < 3; ++at) {
        std::set<unsigned>& entry = fabric.node(switches[at]).mft[static_cast<std::uint16_t>(group + middle)];
        entry = {1, 2, 3};
        if (at == (middle + 1) % 3) entry.erase(2);
        if (at == (middle + 2) % 3) entry.erase(3);
      }
    }
  }
  /// The ports 2 of all switches.
  std::vector<Place> forwards() {
    std::vector<Place> places;
    for (const FakeFabric::NodeId id : switches) places.push_back(place_of(swept->subnet, port(id, 2)));
    return places;
  }
};

Vls identity() {
  Vls vls{};
  for (unsigned sl = 0; sl < 8; ++sl) vls[sl] = static_cast<std::uint8_t>(sl);
  return vls;
}

}  // namespace

TEST_CASE("routes: an entry that is missing, one that leads to a port without a link, a loop") {
  Patient good;
  CHECK(Patient::checks_of(judged(good, {}).diagnosis).empty());

  Patient missing;
  missing.fabric.node(Patient::leaf0).lft[missing.info(Patient::host3, 1).lid.value] = 255;
  const Diagnosis lost = judged(missing, {}).diagnosis;
  REQUIRE(Patient::checks_of(lost) == Found{"routes"});
  CHECK(lost.findings[0].ends.front() == Place{missing.swept->subnet.port(missing.port(Patient::leaf0, 0)).node, subnet::none});
  CHECK_THAT(lost.findings[0].detail, ibtest::contains("2 pairs lost"));

  Patient circle;
  circle.fabric.node(Patient::spine).lft[circle.info(Patient::host3, 1).lid.value] = 1;  // back to where they came from
  CHECK(Patient::checks_of(judged(circle, {}).diagnosis) == Found{"routes"});
}

TEST_CASE("routes: a group whose members all reach each other, by a tree") {
  Grouped good;
  CHECK(judged(good, {.multicast = true}).findings.empty());
  good.entry(Patient::spine).insert(9);
  CHECK(judged(good, {}).findings.empty());  // its tables are not read
}

TEST_CASE("routes: an entry of a group for a port without a link, or that is not there, and a switch without one") {
  Grouped dead;
  dead.fabric.set_link(Patient::host3, 1, false);
  dead.fabric.node(Patient::leaf1).lft[dead.info(Patient::host3, 1).lid.value] = 255;
  Routed found = judged(dead, {.multicast = true});
  const auto of_port = std::ranges::find_if(found.findings, [](const Finding& of) { return of.detail.find("MLID") != of.detail.npos; });
  REQUIRE(of_port != found.findings.end());
  CHECK(of_port->ends.front() == place_of(dead.swept->subnet, dead.port(Patient::leaf1, 2)));
  CHECK_THAT(of_port->detail, ibtest::contains("no Active link, to MLID 0xc001"));

  Grouped odd;
  odd.entry(Patient::spine).insert(9);
  const Finding missing = odd.only();
  CHECK(missing.ends == std::vector{odd.at(Patient::spine)});
  CHECK_THAT(missing.detail, ibtest::contains("names port 9, which the switch does not have"));

  Grouped ended;
  ended.entry(Patient::leaf1) = {};
  const Finding none = ended.only();
  CHECK(none.ends == std::vector{ended.at(Patient::leaf1)});
  CHECK_THAT(none.detail, ibtest::contains("MLID 0xc001 come to the switch, which has no entry"));
}

TEST_CASE("routes: members that get nothing, and entries that form no tree") {
  Grouped cut;
  cut.entry(Patient::spine) = {1};
  const Finding lost = cut.only();
  CHECK(lost.ends == std::vector{place_of(cut.swept->subnet, cut.port(Patient::host2, 1))});
  CHECK_THAT(lost.detail, ibtest::contains("4 pairs lost, for example LID "));

  Ring circle;
  for (const FakeFabric::NodeId id : Ring::switches) circle.fabric.node(id).mft[group] = {1, 2, 3};
  const Routed found = judged(circle, {.multicast = true});
  REQUIRE(found.findings.size() == 1);
  CHECK(found.findings[0].ends.size() == 3);
  CHECK_THAT(found.findings[0].detail, ibtest::contains("form no tree"));
}

TEST_CASE("routes: ports that wait for each other in a circle: found, possible, not known, and none") {
  Ring ring;
  ring.go_round();
  const Routed found = judged(ring, {});
  REQUIRE(found.findings.size() == 1);
  CHECK(found.lane_tables == 3);
  CHECK(found.findings[0].level == Level::error);
  CHECK(found.findings[0].confidence == Confidence::sure);
  CHECK(found.findings[0].ends == ring.forwards());
  CHECK_THAT(found.findings[0].detail, ibtest::contains("in a circle at these 3 ports, for example LID "));

  CHECK_THAT(std::string(found.findings[0].what_to_do()), ibtest::contains("a routing engine"));  // a sweep sets the same routes again

  const Routed possible = judged(ring, {.vls = identity()});
  REQUIRE(possible.findings.size() == 1);
  CHECK(possible.findings[0].level == Level::warning);
  CHECK(possible.findings[0].confidence == Confidence::possible);
  CHECK_THAT(possible.findings[0].detail, ibtest::contains("if they use SLs that are not known"));

  const Routed open = judged(ring, {.vls = {}});
  CHECK(open.findings.empty());
  CHECK(open.lacks_lanes);

  Ring shortest;
  const Routed none = judged(shortest, {.vls = {}});
  CHECK(none.findings.empty());
  CHECK_FALSE(none.lacks_lanes);
  const Routed unasked = judged(shortest, {});
  CHECK(unasked.lane_tables == 0);
}

TEST_CASE("routes: a circle that only routes between Aggregation Nodes close is worth a look, not a warning") {
  Ring ring;
  ring.go_round();
  for (const std::size_t at : {0U, 2U}) {
    auto& description = ring.fabric.node(Ring::hosts[at]).description;
    description = {};
    std::ranges::copy(std::string_view("Mellanox Technologies Aggregation Node"), description.begin());
  }
  const Routed possible = judged(ring, {.vls = identity()});
  REQUIRE(possible.findings.size() == 1);
  CHECK(possible.findings[0].level == Level::info);
  CHECK_THAT(possible.findings[0].detail, ibtest::contains("Without the routes between Aggregation Nodes there would be no circle."));
  const Routed found = judged(ring, {});
  REQUIRE(found.findings.size() == 1);
  CHECK(found.findings[0].level == Level::warning);
}

TEST_CASE("routes: groups close a circle that unicast leaves open, unless their SLs keep them apart") {
  Ring ring;
  ring.add_groups();
  CHECK(judged(ring, {}).findings.empty());
  const Routed found = judged(ring, {.multicast = true});
  REQUIRE_FALSE(found.findings.empty());
  CHECK(found.findings[0].level == Level::error);
  CHECK_THAT(found.findings[0].detail, ibtest::contains(" to MLID 0xc00"));
  const auto with = [&ring](routing::SlSet first, routing::SlSet second, routing::SlSet third) {
    return judged(ring, {.multicast = true, .vls = identity(), .sls = {{group, first}, {group + 1, second}, {group + 2, third}}});
  };
  CHECK(with(1, 1, 1).findings.size() == found.findings.size());
  CHECK(with(1, 2, 4).findings.empty());
  const Routed possible = judged(ring, {.multicast = true, .vls = identity()});
  REQUIRE_FALSE(possible.findings.empty());
  CHECK(possible.findings[0].level == Level::warning);
}

}  // namespace health_routes_tests
