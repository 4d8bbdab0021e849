// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// What was read out of what there is: in each check's state, and in what a window proves.
#include "health/diagnosis.hpp"

#include <algorithm>

#include "support/catch.hpp"
#include "unit/health/patient.hpp"

namespace health_coverage_tests {

using namespace ib;
using namespace ib::health;
using ibtest::Patient;

namespace {

/// All linked ports were to be read twice; those of `unread` were not.
struct Half : Patient {
  explicit Half(std::vector<std::pair<ibtest::FakeFabric::NodeId, unsigned>> unread) {
    sweep();
    for (const auto& [at, of] : counts) input->counter_ports.push_back(at);
    input->window_ports = input->counter_ports;
    for (const auto& [node, number] : unread) counts.erase(port(node, number));
  }
};

const CheckResult& result_of(const Diagnosis& diagnosis, std::string_view id) {
  return *std::ranges::find_if(diagnosis.checks, [id](const CheckResult& of) { return of.check->id == id; });
}

/// How much was read in part, or not at all.
auto gap_count(const Diagnosis& diagnosis) { return std::ranges::count(diagnosis.coverage, false, &Coverage::is_whole); }

}  // namespace

TEST_CASE("coverage: where all was read, checks are done and the window proves something of every link") {
  Half whole({});
  const Diagnosis diagnosis = whole.examine();
  CHECK(gap_count(diagnosis) == 0);
  CHECK_FALSE(diagnosis.any_not_read());
  CHECK(result_of(diagnosis, "symbol-errors").state == CheckState::done);
  CHECK(diagnosis.proven_links.read == 6);
  CHECK(diagnosis.proven_links.of == 6);
}

TEST_CASE("coverage: a check that has seen a part says so, and of which part") {
  Half half({{Patient::host1, 1}, {Patient::leaf1, 1}, {Patient::leaf1, 2}});
  const Diagnosis diagnosis = half.examine();
  CHECK(diagnosis.any_not_read());
  const CheckResult& result = result_of(diagnosis, "symbol-errors");
  CHECK(result.state == CheckState::partly);
  CHECK(result.is_run);
  CHECK(result.reason == "watched 5 of 7 nodes");
  REQUIRE(result.ports);
  CHECK(result.ports->read == 9);
  CHECK(result.ports->of == 12);
  CHECK(result_of(diagnosis, "counter-stuck").reason == "counters of 5 of 7 nodes");
  CHECK(result_of(diagnosis, "link-slow").state == CheckState::done);
  CHECK(gap_count(diagnosis) == 2);
}

TEST_CASE("coverage: P_Keys, FEC modes and SMInfo that were not all read") {
  Half half({});
  Input& input = *half.input;
  const subnet::PortIndex first = half.port(Patient::host0, 1), second = half.port(Patient::host1, 1);
  input.pkey_ports = input.fec_ports = {first, second};
  input.pkeys[first] = {0xffff};
  input.fec_unread = {second};
  input.silent_managers = 1;
  for (const Source source : {Source::pkeys, Source::managers}) input.source(source) = {CheckState::not_read, "why", true};
  const Diagnosis diagnosis = half.examine();
  const auto check = [&diagnosis](std::string_view id, std::string_view reason) {
    const CheckResult& result = result_of(diagnosis, id);
    CAPTURE(id);
    CHECK(result.state == CheckState::partly);
    CHECK(result.is_run);
    CHECK(result.reason == reason);
    REQUIRE(result.ports);
    CHECK(result.ports->of == result.ports->read + 1);
  };
  check("pkey-mismatch", "P_Keys of 1 of 2 ports");
  check("fec-mismatch", "FEC modes of 1 of 2 ports");
  check("sm-not-best", "SMInfo of 2 of 3 subnet managers");
  CHECK(diagnosis.any_not_read());
  CHECK(gap_count(diagnosis) == 3);

  Half none({});  // nothing at all is not a part
  none.input->pkey_ports = {first};
  none.input->source(Source::pkeys) = {CheckState::not_read, "why", false};
  const Diagnosis unread = none.examine();
  CHECK(result_of(unread, "pkey-mismatch").state == CheckState::not_read);
  CHECK(result_of(unread, "pkey-mismatch").reason == "why");
}

TEST_CASE("coverage: a link whose ends were not both read is proven nothing of") {
  Half half({{Patient::host1, 1}, {Patient::leaf1, 1}, {Patient::leaf1, 2}});
  half.count(Patient::leaf0, 2, "symbol_error_counter", 500);  // the other end was not read
  const Diagnosis diagnosis = half.examine();
  CHECK(diagnosis.proven_links.read == 3);
  CHECK(diagnosis.proven_links.of == 6);
  REQUIRE(diagnosis.findings.size() == 1);
  CHECK_FALSE(diagnosis.findings[0].evidence.front().provable_ratio);

  std::vector<std::pair<ibtest::FakeFabric::NodeId, unsigned>> all_switches;
  for (const unsigned port : {1U, 2U, 3U}) {
    all_switches.emplace_back(Patient::leaf0, port);
    all_switches.emplace_back(Patient::leaf1, port);
  }
  Half hosts(all_switches);
  CHECK_FALSE(hosts.examine().provable_ratio);
}

TEST_CASE("coverage: a port whose counters have changed by more than its link can carry was not watched") {
  Half half({});
  half.count(Patient::leaf0, 1, "symbol_error_counter", 1).kind = ChangeKind::implausible;
  const Diagnosis diagnosis = half.examine();
  CHECK(diagnosis.implausible == 1);
  CHECK(diagnosis.any_not_read());
  CHECK(result_of(diagnosis, "symbol-errors").reason == "watched 6 of 7 nodes");
  CHECK(diagnosis.proven_links.read == 5);
}

TEST_CASE("coverage: PortInfo that a node did not give is missing in checks of states") {
  Patient patient;
  patient.fabric.node(Patient::leaf1).faults.ignores = smp::PortInfo::attribute_id;
  patient.sweep();
  const Diagnosis diagnosis = patient.examine();
  const CheckResult& result = result_of(diagnosis, "link-slow");
  CHECK(result.state == CheckState::partly);
  CHECK_THAT(result.reason, ibtest::starts_with("PortInfo of "));
}

}  // namespace health_coverage_tests
