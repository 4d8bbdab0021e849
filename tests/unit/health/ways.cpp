// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// A node is to blame for its silence only if the way to it, and the way back, are well.
#include "health/routes.hpp"

#include <memory>

#include "iba-gen/pm.hpp"
#include "mad/error.hpp"
#include "routing/tables.hpp"
#include "support/catch.hpp"
#include "unit/health/patient.hpp"

namespace health_ways_tests {

using namespace ib;
using namespace ib::health;
using ibtest::FakeFabric;
using ibtest::Found;
using ibtest::Patient;

namespace {

/// A fabric whose leaf1 has three GMP agents that are silent: its own, and those of its hosts.
struct Traced : Patient {
  std::set<TableBlock> unread;  ///< blocks that no switch gives

  void silence(FakeFabric::NodeId id, unsigned port) {
    path::IbPath path;
    path.end_port = &fabric.end_port();
    path.dlid = info(id, port).lid;
    path.slid = info(host0, 1).lid;
    path.dqpn = path.sqpn = Qpn{1};
    const mad::Request request{
        .path = path, .mgmt_class = mad::mgmt_class::performance, .attribute_id = pm::PortCounters::attribute_id, .payload = {}};
    const auto error = std::make_shared<const mad::MadTimeout>(mad::to_mad(request), path, 3, std::chrono::seconds(1));
    swept->failures.push_back({subnet::Failure::Kind::no_answer, swept->subnet.port(this->port(id, port)).node, static_cast<int>(port),
                               false, "PortCounters", 0, "why", error});
  }
  void silence_leaf() {
    sweep();
    silence(leaf1, 0);
    silence(host2, 1);
    silence(host3, 1);
  }
  std::optional<std::uint8_t> out_port(const routing::Network& network, routing::SwitchIndex at, Lid lid) {
    if (unread.contains({at, static_cast<std::uint16_t>(lid.value / 64)})) return std::nullopt;
    for (FakeFabric::NodeId id = 0; id < fabric.size(); ++id) {
      if (fabric.node(id).info.node_guid == swept->subnet.node(network.switches()[at].node).guid())
        return fabric.node(id).lft.at(lid.value);
    }
    return std::nullopt;
  }
  Diagnosis traced() {
    const routing::Network network(swept->subnet);
    const routing::FindOutPort find = [&](routing::SwitchIndex at, Lid lid) { return out_port(network, at, lid); };
    const std::vector<LostRequest> requests = lost_requests(*input);
    missing = judge_ways(network, find, requests, *input);
    return examine();
  }
  std::set<TableBlock> missing;
};

}  // namespace

TEST_CASE("nodes behind a way that is well are to blame for their silence") {
  Traced well;
  well.silence_leaf();
  CHECK(Patient::checks_of(well.traced()) == Found{"node-partial", "node-partial", "node-partial"});
  CHECK(well.missing.empty());
  CHECK(well.input->broken_ways.empty());
}

TEST_CASE("way-broken: the place that loses the requests is one finding, and no node behind it is blamed") {
  Traced stale;
  stale.fabric.set_link(Patient::leaf0, 2, false);
  for (const FakeFabric::NodeId id : {Patient::leaf1, Patient::host2, Patient::host3})
    stale.fabric.node(Patient::leaf0).lft[stale.info(id, id == Patient::leaf1 ? 0 : 1).lid.value] = 2;
  stale.silence_leaf();
  const Diagnosis diagnosis = stale.traced();
  REQUIRE(Patient::checks_of(diagnosis) == Found{"way-broken"});
  const Finding& finding = diagnosis.findings[0];
  CHECK(*finding.level == Level::error);
  CHECK(finding.ends.front().port == stale.port(Patient::leaf0, 2));
  CHECK_THAT(finding.detail,
             ibtest::contains("Requests to 3 nodes are lost here, for the port has no Active link: ") && ibtest::contains("'host2 HCA-1'"));

  Traced none;
  none.fabric.node(Patient::leaf0).lft[none.info(Patient::host2, 1).lid.value] = 255;
  none.sweep();
  none.silence(Patient::host2, 1);
  const Diagnosis no_entry = none.traced();
  REQUIRE(Patient::checks_of(no_entry) == Found{"way-broken"});
  CHECK(no_entry.findings[0].ends.front().port == subnet::none);
  CHECK_THAT(no_entry.findings[0].detail, ibtest::contains("Requests to 1 node are lost here, for the switch has no entry"));

  Traced round;
  round.fabric.node(Patient::spine).lft[round.info(Patient::host2, 1).lid.value] = 1;
  round.sweep();
  round.silence(Patient::host2, 1);
  const Diagnosis circle = round.traced();
  REQUIRE(Patient::checks_of(circle) == Found{"way-broken"});
  CHECK_THAT(circle.findings[0].detail, ibtest::contains("circulate"));
}

TEST_CASE("way-broken: answers that get lost on their way back") {
  Traced back;
  back.fabric.node(Patient::leaf1).lft[back.info(Patient::host0, 1).lid.value] = 1;  // to another host
  back.sweep();
  back.silence(Patient::host3, 1);
  const Diagnosis diagnosis = back.traced();
  REQUIRE(Patient::checks_of(diagnosis) == Found{"way-broken"});
  CHECK(diagnosis.findings[0].ends.front().port == back.port(Patient::leaf1, 1));
  CHECK_THAT(diagnosis.findings[0].detail,
             ibtest::contains("Answers of 1 node are lost here, for the port leads to a node that does not have their LID"));
}

TEST_CASE("where the way is not known, a node is to blame perhaps") {
  Traced open;
  open.sweep();
  open.silence(Patient::host2, 1);
  for (routing::SwitchIndex at = 0; at < 3; ++at) open.unread.insert({at, 0});
  const Diagnosis diagnosis = open.traced();
  REQUIRE(Patient::checks_of(diagnosis) == Found{"node-partial"});
  CHECK(diagnosis.findings[0].confidence == Confidence::possible);
  CHECK(open.missing.size() == 1);  // the first switch on the way: the others are not known yet
}

}  // namespace health_ways_tests
