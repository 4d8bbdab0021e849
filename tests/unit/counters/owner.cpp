// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Whose counters were read: LIDs that changed hands after the sweep, anonymous nodes, PMAs that answer for another port.

#include <algorithm>

#include "counters/readings.hpp"
#include "support/catch.hpp"
#include "support/counting_fabric.hpp"
#include "support/swapped_lids.hpp"
#include "unit/subnet/swept.hpp"

namespace counters_owner_tests {

using namespace ib;
using namespace ib::counters;
using namespace ib::subnet;
using ibtest::contains;
using ibtest::Swept;

namespace {

/// A switch (LID 1), the host of the test (LID 2) and a host of two ports (LIDs 3 and 4), swept. Each port is read, and its owner
/// requested.
struct Bench : ibtest::CountingFabric {
  Swept swept{fabric};
  ReadingPlan plan;
  PmaReadings readings;

  Bench() {
    plan.ports = ReadingPlan::Ports::each;
    plan.owners = swept.rpc.get();
    pma.count(1, "symbol_error_counter") = 11;
    other_pma.count(1, "symbol_error_counter") = 31;
    other_pma.count(2, "symbol_error_counter") = 32;
  }
  void read() {
    path::IbDrPath start(&fabric.end_port());
    start.sqpn = Qpn{0};
    start.retries = 1;
    readings = swept.loop.run(read_pmas(*swept.rpc, swept.subnet, {node(0x100), node(0x200), node(0x300)}, plan, SurveyOptions(start)));
    REQUIRE(readings.nodes.size() == 3);
  }
  NodeIndex node(std::uint64_t guid) const { return swept.subnet.find_node(Guid{guid}); }
  const std::vector<PmaReading>& ports_of(std::size_t at) const { return readings.nodes.at(at).ports; }
  std::size_t known() const {
    std::size_t known = 0;
    for (const PmaNode& of : readings.nodes) known += static_cast<std::size_t>(std::ranges::count_if(of.ports, &PmaReading::known));
    return known;
  }
};

}  // namespace

TEST_CASE_METHOD(Bench, "owner: each node says once a round that the LID is its own") {
  const std::uint64_t before = swept.sent();
  read();
  CHECK(known() == 7);
  CHECK(readings.failures.empty());
  CHECK(readings.moved.empty());
  const std::uint64_t sent = swept.sent() - before;
  plan.owners = nullptr;
  read();
  CHECK(known() == 7);
  CHECK(sent - (swept.sent() - before - sent) == 4);  // a LID of the switch, one of this host, and two of the other one
}

TEST_CASE_METHOD(Bench, "owner: what another node counted at the LID of a node is not read, and the reason is kept") {
  ibtest::swap_lids(fabric, {leaf, 0}, {other, 1});
  read();
  for (const PmaReading& reading : ports_of(0)) CHECK_FALSE(reading.known());
  CHECK(ports_of(1).at(0).known());
  CHECK_FALSE(ports_of(2).at(0).known());
  CHECK(ports_of(2).at(1).known());
  CHECK(ports_of(2).at(0).problems.back().whose);
  REQUIRE(readings.failures.size() == 2);
  CHECK(readings.failures[0].kind == Failure::Kind::not_read);
  CHECK(readings.failures[0].node == node(0x100));
  CHECK(readings.failures[0].why == "LID 1 belongs to 0000:0000:0000:0300 now: its counters are not read");
  CHECK(readings.failures[1].why == "LID 3 belongs to 0000:0000:0000:0100 now: its counters are not read");
  CHECK(readings.moved.size() == 2);
}

TEST_CASE_METHOD(Bench, "owner: the ports of one node that swap their LIDs are not taken for each other") {
  ibtest::swap_lids(fabric, {other, 1}, {other, 2});
  read();
  CHECK_FALSE(ports_of(2).at(0).known());
  CHECK_FALSE(ports_of(2).at(1).known());
  CHECK(known() == 5);
  CHECK(readings.failures.front().why == "LID 3 belongs to port 2 of the node now: its counters are not read");
}

TEST_CASE_METHOD(Bench, "owner: a node whose PMA answers and that does not identify itself was not read") {
  fabric.node(other).faults.ignores = smp::NodeInfo::attribute_id;
  read();
  CHECK(known() == 5);
  REQUIRE(readings.failures.size() == 2);
  CHECK(readings.failures[0].kind == Failure::Kind::not_read);
  CHECK_THAT(readings.failures[0].why, contains("the node at LID 3 does not identify itself"));
  CHECK(readings.moved.empty());
}

TEST_CASE_METHOD(Bench, "owner: a node whose counters were not read is not requested to say who it is") {
  other_pma.service().faults.silent = true;
  const std::size_t before = fabric.requests_to(other);
  read();
  CHECK(fabric.requests_to(other) == before);
  CHECK(readings.failures.size() == 2);
  for (const Failure& failure : readings.failures) CHECK(failure.kind == Failure::Kind::no_answer);
}

TEST_CASE_METHOD(Bench, "a PMA's answer for another PortSelect than the requested one counts as a failure") {
  auto& service = pma.service();
  service.answer = [answer = service.answer](unsigned port, Bytes request) {
    auto reply = answer(port, request);
    const bool is_counters = load_be<std::uint16_t>(&request[16]) == pm::PortCountersExt::attribute_id;
    if (reply && is_counters && request[65] == 2) reply->at(65) = 3;
    return reply;
  };
  read();
  CHECK(ports_of(0).at(0).known());
  CHECK_FALSE(ports_of(0).at(1).known());
  REQUIRE(readings.failures.size() == 1);
  CHECK(readings.failures[0].kind == Failure::Kind::false_answer);
  CHECK(readings.failures[0].port == 2);
  CHECK_THAT(readings.failures[0].why, contains("queried for port 2 and answered for port 3"));
  plan.takes_any_select = true;
  read();
  CHECK(ports_of(0).at(1).known());
}

}  // namespace counters_owner_tests
