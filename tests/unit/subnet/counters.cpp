// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Counters of a port merged from what its PMA supports, and what happened between two readings.
#include "subnet/counters.hpp"

#include <set>

#include "iba-gen/pm.hpp"
#include "subnet/port_paths.hpp"
#include "support/catch.hpp"
#include "support/fake_pma.hpp"
#include "unit/subnet/swept.hpp"

using namespace ib;
using namespace ib::subnet;
using namespace std::chrono_literals;
using ibtest::FakeFabric;
using ibtest::FakePma;
using ibtest::Swept;
using Kind = CounterChange::Kind;

namespace {

namespace mask = pm::capability_mask;

/// A leaf with two hosts, swept; the leaf runs a PMA.
struct Bench {
  Bench() {
    start.end_port = &fabric.end_port();
    start.sqpn = Qpn{0};
    port = sweep.subnet.port_of(sweep.subnet.find_node(Guid{0x6000}), 2);
  }
  mad::Result<CounterReading> read() {
    const PmaSupport support{pma.capability_mask, pma.capability_mask2};
    return sweep.loop.run(read_counters(*sweep.rpc, *gmp_path(sweep.subnet, port, start), 2, support));
  }
  Surveyed<CounterReading> survey(const std::vector<PortIndex>& ports) {
    return sweep.loop.run(survey_counters(*sweep.rpc, sweep.subnet, ports, SurveyOptions(start)));
  }
  CounterReading surveyed() {
    Surveyed<CounterReading> found = survey({port});
    REQUIRE(found.complete());
    return *found.rows[0].value;
  }
  FakeFabric fabric = FakeFabric::fat_tree(1, 1, 2);
  FakePma& pma = run_pma(fabric, 1);
  Swept sweep{fabric};
  path::IbDrPath start;
  PortIndex port{};
};

CounterReading reading(std::string_view name, std::uint64_t value, unsigned bits) {
  CounterReading made;
  for (const CounterInfo& info : counter_infos()) {
    made.values.emplace_back();
    if (info.name == name) made.values.back() = {value, static_cast<std::uint8_t>(bits)};
  }
  return made;
}

CounterChange changed(std::string_view name, std::uint64_t before, std::uint64_t after, unsigned bits, double seconds = 2) {
  const auto changes = difference(reading(name, before, bits), reading(name, after, bits), seconds);
  REQUIRE(changes.size() == counter_infos().size());
  for (std::size_t i = 0; i < changes.size(); ++i) {
    if (counter_infos()[i].name == name) return changes[i];
    CHECK(changes[i].kind == Kind::unknown);
  }
  FAIL("no such counter");
  return {};
}

}  // namespace

TEST_CASE("the counters are those of PortCounters and PortCountersExtended, each once") {
  std::set<std::string_view> names;
  std::size_t data = 0, only_wide = 0;
  for (const CounterInfo& info : counter_infos()) {
    CHECK(names.insert(info.name).second);
    CHECK((info.narrow != nullptr || info.wide != nullptr));
    data += info.octets == 4 ? 1U : 0U;
    only_wide += info.narrow == nullptr ? 1U : 0U;
  }
  CHECK(names.size() == 18 + 4);
  CHECK(data == 2);
  CHECK(only_wide == 4);
  CHECK(counter_infos().front().name == "symbol_error_counter");
  CHECK_FALSE(names.contains("counter_select2"));
}

TEST_CASE("each counter comes from where the PMA keeps it widest") {
  struct Case {
    std::uint16_t mask;
    std::uint32_t mask2;
    unsigned data, errors, wait, unicast, qp1, requests;  // widths; 0: not known
  };
  const auto all =
      static_cast<std::uint16_t>(mask::is_extended_width_supported | mask::port_counters_xmit_wait_supported | mask::is_qp1_drop_supported);
  const std::uint32_t tail = pm::capability_mask2::is_additional_port_counters_extended_supported;
  const std::vector<Case> cases{
      {0, 0, 32, 16, 0, 0, 0, 1},
      {0, tail, 32, 16, 0, 0, 0, 1},  // there is nothing that the additional part could follow
      {mask::port_counters_xmit_wait_supported, 0, 32, 16, 32, 0, 0, 1},
      {mask::is_extended_width_no_ietf_supported, 0, 64, 16, 0, 0, 0, 2},
      {mask::is_extended_width_supported, 0, 64, 16, 0, 64, 0, 2},
      {all, 0, 64, 16, 32, 64, 16, 2},
      {all, tail, 64, 64, 64, 64, 64, 1},
      {mask::is_extended_width_supported, tail, 64, 64, 0, 64, 0, 1},
  };
  for (const Case& c : cases) {
    Bench bench;
    bench.pma.capability_mask = c.mask;
    bench.pma.capability_mask2 = c.mask2;
    for (const CounterInfo& info : counter_infos()) bench.pma.count(2, info.name) = 70000;
    const mad::Result<CounterReading> found = bench.read();
    REQUIRE(found);
    CAPTURE(c.mask, c.mask2);
    CHECK((*found)["port_xmit_data"] == CounterValue{70000, static_cast<std::uint8_t>(c.data)});
    CHECK((*found)["symbol_error_counter"] == CounterValue{c.errors == 16 ? 65535U : 70000U, static_cast<std::uint8_t>(c.errors)});
    CHECK((*found)["symbol_error_counter"].saturated() == (c.errors == 16));
    CHECK((*found)["port_xmit_wait"] == CounterValue{c.wait == 0 ? 0U : 70000U, static_cast<std::uint8_t>(c.wait)});
    CHECK((*found)["port_unicast_rcv_pkts"] == CounterValue{c.unicast == 0 ? 0U : 70000U, static_cast<std::uint8_t>(c.unicast)});
    CHECK((*found)["qp1_dropped"].bits == c.qp1);
    CHECK(bench.pma.asked.size() == c.requests);
    CHECK(bench.surveyed().values == found->values);  // where the ClassPortInfo says it
  }
  CHECK_THROWS_AS(reading("port_xmit_data", 1, 32)["port_xmit_dta"], std::invalid_argument);
}

TEST_CASE("a survey of counters asks each PMA once for its ClassPortInfo") {
  Bench bench;
  const NodeIndex leaf = bench.sweep.subnet.find_node(Guid{0x6000});
  run_pma(bench.fabric, 0);
  FakePma& old = run_pma(bench.fabric, 2);
  old.capability_mask = 0;
  old.capability_mask2 = 0;
  const PortIndex first = bench.sweep.subnet.port_of(leaf, 1);
  const PortIndex host = bench.sweep.subnet.port(first).peer;
  const auto found = bench.survey({first, first + 1, first + 2, host});
  CHECK(found.complete());
  CHECK(bench.pma.times(mad::ClassPortInfo::attribute_id) == 1);
  CHECK(bench.pma.times(pm::PortCountersExt::attribute_id) == 3);
  CHECK(bench.pma.times(pm::PortCounters::attribute_id) == 0);  // its additional part has all of them
  CHECK((*found.rows[0].value)["port_xmit_pkts"].bits == 64);
  CHECK((*found.rows[3].value)["port_xmit_pkts"].bits == 32);
}

TEST_CASE("a PMA that refuses its ClassPortInfo, or is silent, is one failure") {
  for (const bool silent : {false, true}) {
    Bench bench;
    FakeFabric::Faults& faults = bench.pma.service().faults;
    faults.silent = silent;
    faults.status = mad::status::unsupported_method_attribute;
    const PortIndex first = bench.port - 1;
    const auto found = bench.survey({first, first + 1, first + 2});
    CHECK_FALSE(found.complete());
    REQUIRE(found.failures.size() == 1);
    CHECK(found.failures[0].attribute == "ClassPortInfo");
    CHECK(found.failures[0].port == -1);
    CHECK(found.failures[0].kind == (silent ? Failure::Kind::no_answer : Failure::Kind::refused));
    for (const auto& row : found.rows) CHECK(row.failure == 0);
    CHECK(bench.pma.service().requests == (silent ? 4 + 1 : 1));
  }
}

TEST_CASE("differences know wrap, saturation and reset") {
  const auto counted = changed("port_xmit_data", 100, 350, 64);
  CHECK(counted.kind == Kind::counted);
  CHECK(counted.delta == 250U);
  CHECK(counted.rate == 500.0);  // octets: 250 × 4 in 2 s
  CHECK(changed("port_rcv_pkts", 100, 350, 64).rate == 125.0);
  CHECK_FALSE(changed("port_rcv_pkts", 100, 350, 64, 0).rate);
  CHECK(changed("port_rcv_pkts", 100, 100, 32).delta == 0U);

  const auto wrapped = changed("port_rcv_data", 0xffffffffffffff00, 0x100, 64);
  CHECK(wrapped.kind == Kind::counted);
  CHECK(wrapped.delta == 0x200U);
  CHECK(wrapped.rate == 1024.0);
  const auto cleared = changed("port_rcv_data", 1'000'000, 100, 64);
  CHECK(cleared.kind == Kind::reset);
  CHECK_FALSE(cleared.delta);
  CHECK_FALSE(cleared.rate);
  CHECK(changed("port_rcv_data", 0xfffffff0, 100, 32).kind == Kind::reset);  // narrow ones do not wrap

  for (const std::uint64_t before : {std::uint64_t{3}, std::uint64_t{255}}) {
    const auto saturated = changed("link_downed_counter", before, 255, 8);
    CHECK(saturated.kind == Kind::saturated);
    CHECK_FALSE(saturated.delta);
    CHECK_FALSE(saturated.rate);
  }
  CHECK(changed("link_downed_counter", 255, 4, 8).kind == Kind::reset);
  CHECK(changed("local_link_integrity_errors", 1, 15, 4).kind == Kind::saturated);
  CHECK(changed("port_xmit_data", ~std::uint64_t{0} - 1, ~std::uint64_t{0}, 64).kind == Kind::counted);
  // Kept in another width, as after a change of firmware.
  const auto other = difference(reading("port_xmit_data", 5, 32), reading("port_xmit_data", 9, 64), 1);
  CHECK(std::ranges::all_of(other, [](const CounterChange& change) { return change.kind == Kind::unknown; }));
}

TEST_CASE("differences of what a PMA really answers") {
  Bench bench;
  bench.pma.count(2, "port_xmit_data") = ~std::uint64_t{0} - 9;
  bench.pma.count(2, "link_downed_counter") = 7;
  const CounterReading before = bench.surveyed();
  bench.pma.count(2, "port_xmit_data") += 30;
  pm::PortCountersExt clear;
  clear.port_select = 2;
  clear.counter_select2 = 1U << 2;  // LinkDownedCounter
  const path::Path pma = *gmp_path(bench.sweep.subnet, bench.port, bench.start);
  REQUIRE(bench.sweep.loop.run(bench.sweep.rpc->try_performance_set(pma, 0, clear)));
  const auto changes = difference(before, bench.surveyed(), 1);
  const std::span<const CounterInfo> infos = counter_infos();
  for (std::size_t i = 0; i < infos.size(); ++i) {
    CAPTURE(infos[i].name);
    if (infos[i].name == "link_downed_counter") {
      CHECK(changes[i].kind == Kind::reset);
    } else {
      CHECK(changes[i].delta == (infos[i].name == "port_xmit_data" ? 30U : 0U));
    }
  }
}
