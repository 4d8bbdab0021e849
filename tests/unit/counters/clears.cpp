// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Clears: which counters, by which Sets, and all ports of a switch by one.
#include "counters/readings.hpp"

#include "iba-gen/pm.hpp"
#include "iba/registry.hpp"
#include "subnet/model/port_paths.hpp"
#include "support/catch.hpp"
#include "support/fake_pma.hpp"
#include "unit/subnet/swept.hpp"

namespace counters_clears_tests {

using namespace ib;
using namespace ib::counters;
using namespace ib::subnet;
using ibtest::FakeFabric;
using ibtest::FakePma;
using ibtest::Swept;

namespace {

namespace mask = pm::capability_mask;

bool everything(const CounterInfo&) { return true; }
bool errors(const CounterInfo& info) { return !info.traffic; }

/// Clears without reading.
ReadingPlan unread(const CounterChoice& choice) {
  ReadingPlan plan;
  plan.counts = ReadingPlan::Counts::none;
  plan.ports = ReadingPlan::Ports::each;
  plan.clear = choice;
  return plan;
}

/// Whether all ports were cleared.
bool is_whole(const PmaReadings& found) {
  const auto is_clean = [](const PmaReading& reading) { return reading.problems.empty(); };
  return found.failures.empty() && std::ranges::all_of(found.nodes, [&](const PmaNode& node) {
           return !node.problem && node.clear_problems.empty() && std::ranges::all_of(node.ports, is_clean);
         });
}

/// A leaf with three hosts and a spine, swept; the leaf runs a PMA of which each counter of each port stands at 9.
struct Bench {
  Bench() {
    start.end_port = &fabric.end_port();
    start.sqpn = Qpn{0};
    leaf = sweep.subnet.find_node(Guid{0x6000});
    for (unsigned port = 1; port <= 4; ++port) {
      ports.push_back(sweep.subnet.port_of(leaf, port));
      for (const CounterInfo& info : counter_infos()) pma.count(port, info.name) = 9;
    }
  }
  PmaSupport support() const { return {pma.capability_mask, pma.capability_mask2}; }
  path::Path path() { return *gmp_path(sweep.subnet, ports[0], start); }
  /// Clears one port. Returns whether all Sets were answered.
  bool clear(std::uint8_t number, const CounterChoice& choice) {
    const ReadingPlan plan = unread(choice);
    const path::Path to = path();
    return sweep.loop.run(clear_counters({*sweep.rpc, ports[0], number, to}, number, support(), plan, {})).empty();
  }
  PmaReadings survey(const CounterChoice& choice) {
    ReadingPlan plan = unread(choice);
    plan.ports_of = [this](NodeIndex) { return ports; };
    return sweep.loop.run(read_pmas(*sweep.rpc, sweep.subnet, {leaf}, std::move(plan), SurveyOptions(start)));
  }
  /// The counters of a port that do not stand at 0, from all attributes that have them.
  std::set<std::string> left(std::uint8_t number) {
    std::set<std::string> names;
    for (const PmaSupport& as : {support(), PmaSupport{static_cast<std::uint16_t>(support().capability_mask & ~0x600U), 0}}) {
      ReadingPlan plan;
      plan.counts = ReadingPlan::Counts::all;
      const PmaReading read = sweep.loop.run(read_pma(*sweep.rpc, path(), number, as, plan));
      REQUIRE(read.known());
      for (std::size_t column = 0; column < counter_columns; ++column) {
        if (read.row.counters[column] != 0) names.emplace(columns[column].field);
      }
    }
    return names;
  }
  std::size_t sets() const {
    return static_cast<std::size_t>(
        std::ranges::count_if(pma.asked, [](const FakePma::Asked& asked) { return asked.method == mad::method::set; }));
  }

  FakeFabric fabric = FakeFabric::fat_tree(1, 1, 3);
  FakePma& pma = run_pma(fabric, 1);
  Swept sweep{fabric};
  path::IbDrPath start;
  NodeIndex leaf{};
  std::vector<PortIndex> ports;
};

}  // namespace

TEST_CASE("a clear sets what was chosen to zero, in every attribute that shows it, and nothing else") {
  Bench bench;
  REQUIRE(bench.clear(2, everything));
  CHECK(bench.left(2).empty());
  CHECK(bench.left(1).size() == counter_infos().size());
  CHECK(bench.sets() == 2);
  CHECK(clear_of(bench.support(), everything).port_counters == 0x3ffff);
  CHECK(clear_of(bench.support(), everything).port_counters_extended == 0x3fff00ff);

  REQUIRE(bench.clear(3, errors));
  const std::set<std::string> traffic{
      "port_xmit_data",         "port_rcv_data",         "port_xmit_pkts",           "port_rcv_pkts",
      "port_unicast_xmit_pkts", "port_unicast_rcv_pkts", "port_multicast_xmit_pkts", "port_multicast_rcv_pkts"};
  CHECK(bench.left(3) == traffic);
  const CounterChoice one = [](const CounterInfo& info) { return info.name == "qp1_dropped"; };
  REQUIRE(bench.clear(4, one));
  CHECK_FALSE(bench.left(4).contains("qp1_dropped"));
  CHECK(bench.left(4).size() == counter_infos().size() - 1);
}

TEST_CASE("no Set clears what a PMA does not support") {
  struct Case {
    std::uint16_t mask;
    std::uint32_t mask2;
    CounterClear clear;
  };
  const std::uint32_t tail = pm::capability_mask2::is_additional_port_counters_extended_supported;
  for (const Case& c :
       {Case{0, tail, {0xffff, 0}}, Case{mask::port_counters_xmit_wait_supported, 0, {0x1ffff, 0}},
        Case{mask::is_extended_width_no_ietf_supported, 0, {0xffff, 0xf}}, Case{mask::is_extended_width_supported, 0, {0xffff, 0xff}},
        Case{mask::is_extended_width_supported, tail, {0xffff, 0xfff00ff}},
        Case{mask::is_extended_width_supported | mask::is_qp1_drop_supported, tail, {0x2ffff, 0x2fff00ff}}}) {
    CAPTURE(c.mask, c.mask2);
    const CounterClear clear = clear_of({c.mask, c.mask2}, everything);
    CHECK(clear.port_counters == c.clear.port_counters);
    CHECK(clear.port_counters_extended == c.clear.port_counters_extended);
  }
  Bench bench;
  bench.pma.capability_mask = 0;
  REQUIRE(bench.clear(1, everything));
  CHECK(bench.sets() == 1);
  const CounterChoice nothing = [](const CounterInfo&) { return false; };
  CHECK(bench.clear(1, nothing));
  CHECK(bench.sets() == 1);
}

TEST_CASE("any attribute of counters is cleared by its reset mask") {
  Bench bench;
  bench.pma.count(2, "port_inactive_discards") = 7;
  bench.pma.count(2, "port_neighbor_mtu_discards") = 5;
  const StructInfo& details = pm::PortXmitDiscardDetails::info();
  REQUIRE(bench.sweep.loop.run(reset_counters(*bench.sweep.rpc, bench.path(), details, 2, 2)));
  pm::PortXmitDiscardDetails wanted;
  wanted.port_select = 2;
  const auto now = *bench.sweep.loop.run(bench.sweep.rpc->try_performance_get(bench.path(), 0, wanted));
  CHECK(now.port_inactive_discards == 7);
  CHECK(now.port_neighbor_mtu_discards == 0);
}

TEST_CASE("all ports of a switch are cleared at once where its PMA says that it can") {
  Bench bench;
  CHECK(is_whole(bench.survey(everything)));
  CHECK(bench.sets() == 2);
  CHECK(std::ranges::all_of(bench.pma.asked, [](const FakePma::Asked& asked) {
    return asked.method == mad::method::set || asked.attribute == mad::ClassPortInfo::attribute_id;  // nothing is read
  }));
  for (std::uint8_t port = 1; port <= 4; ++port) CHECK(bench.left(port).empty());

  Bench some;  // not all of its ports
  some.ports.pop_back();
  CHECK(is_whole(some.survey(everything)));
  CHECK(some.sets() == 6);
  CHECK(some.left(4).size() == counter_infos().size());

  Bench unable;
  unable.pma.capability_mask = static_cast<std::uint16_t>(unable.pma.capability_mask & ~mask::all_port_select);
  CHECK(is_whole(unable.survey(everything)));
  CHECK(unable.sets() == 8);
  CHECK(unable.left(4).empty());
}

TEST_CASE("a PMA that refuses PortSelect 255 against its word is cleared port by port; a silent one is one failure") {
  Bench liar;
  const auto honest = liar.fabric.node(1).services[mad::mgmt_class::performance].answer;
  liar.fabric.node(1).services[mad::mgmt_class::performance].answer = [honest](unsigned in_port, Bytes request) {
    const bool all = request[3] == mad::method::set && request[65] == 255;
    return all ? std::optional(ibtest::answer_to(request, mad::status::invalid_attribute_or_modifier)) : honest(in_port, request);
  };
  CHECK(is_whole(liar.survey(everything)));
  CHECK(liar.sets() == 8);
  CHECK(liar.left(3).empty());

  Bench silent;
  silent.pma.service().faults.silent = true;
  const auto nothing = silent.survey(everything);
  REQUIRE(nothing.failures.size() == 1);
  CHECK(nothing.failures[0].kind == Failure::Kind::no_answer);
  CHECK(silent.sets() == 0);
}

}  // namespace counters_clears_tests
