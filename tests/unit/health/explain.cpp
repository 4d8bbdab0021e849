// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// One fault is one finding, with all checks that saw it.
#include "health/diagnosis.hpp"

#include <fmt/format.h>

#include <array>
#include <optional>
#include <set>
#include <utility>
#include <variant>
#include <vector>

#include "health/checks/common.hpp"
#include "mad/error.hpp"
#include "support/catch.hpp"
#include "unit/health/patient.hpp"

namespace health_explain_tests {

using namespace ib;
using namespace ib::health;
using ibtest::FakeFabric;
using ibtest::Found;
using ibtest::Patient;
using ibtest::Swept;

namespace {

constexpr unsigned leaves = 4, spines = 2, hosts = 2;
constexpr FakeFabric::NodeId spine0 = 0, leaf0 = spines, host0 = spines + 1;
constexpr unsigned to_spine0 = hosts + 1;  // port of each leaf

std::vector<const Check*> checks(std::initializer_list<std::string_view> ids) {
  std::vector<const Check*> all;
  for (const std::string_view id : ids) all.push_back(find_check(id));
  return all;
}

/// A fabric with siblings, and what it was before.
struct Compared {
  FakeFabric before = FakeFabric::fat_tree(leaves, spines, hosts), now = FakeFabric::fat_tree(leaves, spines, hosts);
  Thresholds thresholds;
  std::optional<Swept> was, is;
  std::optional<Baseline> baseline;
  std::optional<Input> input;

  void sweep(bool compares = true) {
    was.emplace(before);
    is.emplace(now);
    input.emplace(is->subnet, is->failures, thresholds);
    input->source(Source::managers).state = CheckState::skipped;
    if (!compares) return;
    baseline.emplace(was->subnet, subnet::changes(is->subnet, was->subnet));
    input->compare_with(*baseline);
  }
  Diagnosis examine(const Selection& selection = {}) { return ib::health::examine(*input, selection); }
  subnet::NodeIndex node(FakeFabric::NodeId id) { return is->subnet.find_node(now.node(id).info.node_guid); }
  subnet::PortIndex port(FakeFabric::NodeId id, unsigned number) { return is->subnet.port_of(node(id), number); }
};

std::size_t count_of(const Diagnosis& diagnosis, std::string_view id) {
  return std::ranges::find_if(diagnosis.checks, [id](const CheckResult& result) { return result.check->id == id; })->finding_count;
}

}  // namespace

TEST_CASE("a cable that is gone is not missed by siblings besides") {
  Compared gone;
  gone.now.set_link(leaf0, to_spine0, false);
  gone.sweep();
  const Diagnosis diagnosis = gone.examine();
  REQUIRE(Patient::checks_of(diagnosis) == Found{"link-gone"});
  CHECK(diagnosis.findings[0].also == checks({"sibling-ports"}));
  CHECK(count_of(diagnosis, "sibling-ports") == 1);
  // Who does not want the one check keeps the other one.
  CHECK(Patient::checks_of(gone.examine({.only = {}, .skip = checks({"link-gone"})})) == Found{"sibling-ports"});

  Compared elsewhere;  // this one has always been missing
  for (FakeFabric* of : {&elsewhere.before, &elsewhere.now}) *of = FakeFabric::fat_tree(2 * leaves, spines, hosts);
  for (FakeFabric* of : {&elsewhere.before, &elsewhere.now}) of->set_link(leaf0, to_spine0, false);
  elsewhere.now.set_link(leaf0 + hosts + 1, to_spine0 + 1, false);
  elsewhere.sweep();
  CHECK(Patient::checks_of(elsewhere.examine()) == Found{"link-gone", "sibling-ports"});
}

TEST_CASE("an adapter that is gone is not missed by its host besides") {
  Compared gone;
  for (FakeFabric* of : {&gone.before, &gone.now}) {
    *of = FakeFabric();
    const auto leaf = of->add_switch(0x6000, 8, "leaf");
    for (unsigned at = 0; at < 8; ++at)
      of->link(leaf, at + 1, of->add_ca(0x1000 + 16 * at, 1, fmt::format("n{} mlx5_{}", at / 2, at % 2)), 1);
    of->assign_lids();
    of->attach(1);
  }
  gone.now.set_link(0, 8, false);
  gone.sweep();
  const Diagnosis diagnosis = gone.examine();
  REQUIRE(Patient::checks_of(diagnosis) == Found{"node-gone"});
  CHECK(diagnosis.findings[0].also == checks({"sibling-ports"}));
}

TEST_CASE("a cable that went down and is missed by siblings is one finding") {
  Compared dead;
  dead.now.set_link(leaf0, to_spine0, false);
  dead.sweep(false);
  const subnet::PortIndex a = dead.port(leaf0, to_spine0), b = dead.port(spine0, 1);
  dead.input->former_peers = {{a, b}, {b, a}};
  for (const subnet::PortIndex at : {a, b}) {
    PortChanges counts;
    counts.port = at;
    counts.seconds = 10;
    counts.changes = {{ChangeKind::counted, 1, &Patient::counter("link_downed_counter"), 0, 1}};
    dead.input->counts.add(counts);
  }
  const Diagnosis diagnosis = dead.examine();
  REQUIRE(Patient::checks_of(diagnosis) == Found{"link-flap"});
  CHECK(diagnosis.findings[0].also == checks({"sibling-ports"}));
}

namespace {

/// A node that left a request without an answer: one by LID, or an SMP.
void lose_request(Compared& of, FakeFabric::NodeId node, bool by_lid) {
  std::vector<std::uint8_t> request(256);
  request[1] = by_lid ? 4 : 1;  // the class: PM, or SMP
  subnet::Failure lost{.kind = subnet::Failure::Kind::no_answer,
                       .node = of.node(node),
                       .port = 1,
                       .beyond = false,
                       .attribute = by_lid ? "ClassPortInfo" : "PortInfo",
                       .why = {},
                       .error = {}};
  lost.error = std::make_shared<mad::MadError>("lost", request, Bytes{}, path::IbDrPath{});
  of.is->failures.push_back(lost);
}

/// leaf0 and spine0, whose ports say that their link is up and beyond which nobody answers; and a request by LID to host0 that was lost.
void make_dumb_cable(Compared& of, bool by_lid) {
  of.now.set_link(leaf0, to_spine0, false);
  of.sweep(false);
  for (const auto& [id, number] : {std::pair{leaf0, int{to_spine0}}, {spine0, 1}}) {
    subnet::Failure silent{.kind = subnet::Failure::Kind::no_answer,
                           .node = of.node(id),
                           .port = number,
                           .beyond = true,
                           .attribute = "NodeInfo",
                           .why = {},
                           .error = {}};
    of.is->failures.push_back(silent);
  }
  lose_request(of, host0, by_lid);
}

}  // namespace

TEST_CASE("a cable that is up and passes nothing is one finding, with the requests that were lost on it") {
  Compared dumb;
  make_dumb_cable(dumb, true);
  const Diagnosis diagnosis = dumb.examine();
  REQUIRE(Patient::checks_of(diagnosis) == Found{"node-silent"});
  const Finding& finding = diagnosis.findings[0];
  REQUIRE(finding.ends.size() == 2);
  CHECK(std::set{finding.ends[0].port, finding.ends[1].port} == std::set{dumb.port(leaf0, to_spine0), dumb.port(spine0, 1)});
  CHECK(finding.confidence == Confidence::likely);
  CHECK_THAT(finding.detail, ibtest::contains("nothing passes it"));
  CHECK_THAT(finding.detail, ibtest::contains("may have gone over it (Not read: ClassPortInfo"));
  CHECK(finding.also == checks({"node-partial", "sibling-ports"}));

  Compared guilty;  // an SMP by the route that found the node was not lost there
  make_dumb_cable(guilty, false);
  CHECK(Patient::checks_of(guilty.examine()) == Found{"node-silent", "node-partial"});

  Compared two;  // nodes that are silent at two leaves are no cable between these
  two.sweep(false);
  for (const FakeFabric::NodeId leaf : {leaf0, leaf0 + hosts + 1}) {
    subnet::Failure silent{.kind = subnet::Failure::Kind::no_answer,
                           .node = two.node(leaf),
                           .port = 1,
                           .beyond = true,
                           .attribute = "NodeInfo",
                           .why = {},
                           .error = {}};
    two.is->failures.push_back(silent);
  }
  CHECK(Patient::checks_of(two.examine()) == Found{"node-silent", "node-silent"});
}

TEST_CASE("a cable whose port is Armed is one finding, with the requests by LID that were lost on it") {
  const auto found_with = [](FakeFabric::NodeId armed, unsigned number, FakeFabric::NodeId silent, bool by_lid = true) {
    Compared of;
    of.sweep(false);
    std::uint8_t& state = of.is->subnet.port(of.port(armed, number)).info_bytes[32];
    state = static_cast<std::uint8_t>((state & 0xf0U) | static_cast<unsigned>(smp::PortState::armed));
    lose_request(of, silent, by_lid);
    return of.examine();
  };
  const Diagnosis own = found_with(leaf0, 1, host0);
  REQUIRE(Patient::checks_of(own) == Found{"port-armed"});
  CHECK(own.findings[0].also == checks({"node-partial"}));
  CHECK_THAT(own.findings[0].detail, ibtest::contains("may have gone over it (Not read: ClassPortInfo"));
  CHECK(Patient::checks_of(found_with(host0, 1, host0)) == Found{"port-armed"});
  CHECK(Patient::checks_of(found_with(leaf0, to_spine0, host0)) == Found{"port-armed"});
  CHECK(Patient::checks_of(found_with(leaf0, 2, host0)) == Found{"port-armed", "node-partial"});         // another host's link
  CHECK(Patient::checks_of(found_with(leaf0, 1, host0, false)) == Found{"port-armed", "node-partial"});  // SMPs pass
}

TEST_CASE("a link to a host does not explain that a switch has fewer links to switches") {
  Compared of;
  of.sweep(false);
  for (const auto& [other, left] : {std::pair{host0, 2U}, {spine0, 1U}}) {
    Finding cable;
    cable.level = Level::error;
    cable.check = find_check("link-gone");
    for (const auto& [node, number] : {std::pair{leaf0, other == host0 ? 1U : to_spine0}, {other, 1U}})
      cable.ends.push_back(place_of(of.is->subnet, of.port(node, number)));
    cable.lost = cable.ends;
    Finding symptom = on_node(of.node(leaf0));
    symptom.level = Level::warning;
    symptom.check = find_check("sibling-ports");
    symptom.symptom = Finding::Symptom::fewer_links;
    CHECK(explain({cable, symptom}, *of.input).size() == left);
  }
}

TEST_CASE("counters that are full stand with the finding of their cable, and the others in one of all") {
  Patient patient;
  patient.sweep();
  patient.count(Patient::leaf0, 3, "local_link_integrity_errors", 2);
  patient.fill(Patient::spine, 1, "symbol_error_counter", 65535);
  patient.fill(Patient::leaf1, 3, "symbol_error_counter", 65535);
  const Diagnosis diagnosis = patient.examine();
  REQUIRE(Patient::checks_of(diagnosis) == Found{"link-integrity", "counter-stuck"});
  CHECK(diagnosis.findings[0].also == checks({"counter-stuck"}));
  CHECK(diagnosis.findings[0].evidence.size() == 2);
  CHECK(diagnosis.findings[0].evidence[1].end == 1);
  REQUIRE(diagnosis.findings[1].ends.size() == 1);
  CHECK(diagnosis.findings[1].ends[0].port == patient.port(Patient::leaf1, 3));
  REQUIRE(diagnosis.findings[1].evidence.size() == 1);
  CHECK(diagnosis.findings[1].evidence[0].end == 0);
  CHECK(count_of(diagnosis, "counter-stuck") == 2);
}

TEST_CASE("a check without evidence keeps its name in the finding of its cable") {
  Patient patient;
  patient.sweep();
  patient.count(Patient::leaf0, 3, "symbol_error_counter", 30);
  patient.input->source(Source::routes) = {};
  patient.input->route_findings.push_back(on_cable(patient.swept->subnet, patient.port(Patient::leaf0, 3)));
  patient.input->route_findings.back().detail = "An entry leads nowhere.";
  const Diagnosis diagnosis = patient.examine();
  REQUIRE(diagnosis.findings.size() == 1);
  const Finding& finding = diagnosis.findings[0];
  REQUIRE(finding.also.size() == 1);
  CHECK(std::set{finding.check->id, finding.also[0]->id} == std::set<std::string_view>{"symbol-errors", "routes"});
  CHECK(count_of(diagnosis, "routes") == 1);
  CHECK(count_of(diagnosis, "symbol-errors") == 1);
}

TEST_CASE("a group is shared out by its ends, in whatever order its evidence stands") {
  Compared of;
  of.sweep(false);
  const auto place = [&of](FakeFabric::NodeId id, unsigned number) { return place_of(of.is->subnet, of.port(id, number)); };
  Finding cable = on_ports(of.is->subnet, std::array{of.port(leaf0, to_spine0)});
  cable.subject = Finding::Subject::cable;
  cable.level = Level::error;
  cable.check = find_check("link-integrity");
  Finding group;
  group.subject = Finding::Subject::group;
  group.level = Level::info;
  group.check = find_check("counter-stuck");
  group.detail = "All of them.";
  group.ends = {place(spine0, 2), place(spine0, 1), place(host0, 1)};  // the second one is the other end of the cable
  for (const auto& [end, number] : {std::pair{2U, 1U}, {1U, 2U}, {0U, 3U}, {1U, 4U}, {2U, 5U}})
    group.evidence.push_back(field_value("LID", end, {std::uint64_t{number}, {}}));
  const auto evidence_of = [](const Finding& finding) {
    std::vector<std::pair<std::size_t, std::uint64_t>> all;
    for (const Evidence& evidence : finding.evidence) all.emplace_back(evidence.end, std::get<std::uint64_t>(evidence.after.number));
    return all;
  };
  using Seen = std::vector<std::pair<std::size_t, std::uint64_t>>;

  const Findings some = explain({cable, group}, *of.input);
  REQUIRE(some.size() == 2);
  CHECK(some[0].ends == std::vector{place(leaf0, to_spine0), place(spine0, 1)});
  CHECK(evidence_of(some[0]) == Seen{{1, 2}, {1, 4}});
  CHECK(some[0].also == checks({"counter-stuck"}));
  CHECK(some[0].detail.empty());
  CHECK(some[1].ends == std::vector{place(spine0, 2), place(host0, 1)});
  CHECK(evidence_of(some[1]) == Seen{{0, 3}, {1, 1}, {1, 5}});
  CHECK(some[1].detail == "All of them.");

  group.ends = {place(spine0, 1)};
  group.evidence.resize(2);
  for (Evidence& evidence : group.evidence) evidence.end = 0;
  const Findings all = explain({cable, group}, *of.input);
  REQUIRE(all.size() == 1);
  CHECK(evidence_of(all[0]) == Seen{{1, 1}, {1, 2}});

  CHECK(explain({group}, *of.input).size() == 1);  // no cable is known
}

}  // namespace health_explain_tests
