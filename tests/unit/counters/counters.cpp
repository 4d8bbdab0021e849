// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Counters of a port merged from what its PMA supports.
#include "counters/row.hpp"

#include <set>

#include "counters/readings.hpp"
#include "iba-gen/pm.hpp"
#include "subnet/model/port_paths.hpp"
#include "support/catch.hpp"
#include "support/fake_pma.hpp"
#include "unit/subnet/swept.hpp"

namespace counters_counters_tests {

using namespace ib;
using namespace ib::counters;
using namespace ib::subnet;
using namespace std::chrono_literals;
using ibtest::FakeFabric;
using ibtest::FakePma;
using ibtest::Swept;

namespace {

namespace mask = pm::capability_mask;

/// A leaf with two hosts, swept; the leaf runs a PMA.
struct Bench {
  Bench() {
    start.end_port = &fabric.end_port();
    start.sqpn = Qpn{0};
    port = sweep.subnet.port_of(sweep.subnet.find_node(Guid{0x6000}), 2);
  }
  CounterRow read() {
    const PmaSupport support{pma.capability_mask, pma.capability_mask2};
    ReadingPlan plan;
    plan.counts = ReadingPlan::Counts::all;
    const PmaReading reading = sweep.loop.run(read_pma(*sweep.rpc, *gmp_path(sweep.subnet, port, start), 2, support, plan));
    REQUIRE(reading.known());
    return reading.row;
  }
  FakeFabric fabric = FakeFabric::fat_tree(1, 1, 2);
  FakePma& pma = run_pma(fabric, 1);
  Swept sweep{fabric};
  path::IbDrPath start;
  PortIndex port{};
};

}  // namespace

TEST_CASE("each counter of PortCounters and PortCountersExtended is listed once") {
  std::set<std::string_view> names;
  std::size_t data = 0, only_wide = 0;
  for (const CounterInfo& info : counter_infos()) {
    CHECK(names.insert(info.name).second);
    CHECK((info.narrow != nullptr || info.wide != nullptr));
    CHECK(columns.at(info.column).field == info.name);
    data += columns[info.column].meaning == Meaning::data ? 1U : 0U;
    only_wide += info.narrow == nullptr ? 1U : 0U;
  }
  CHECK(names.size() == 18 + 4);
  for (std::size_t column = 0; column < counter_columns; ++column) CHECK(names.contains(columns[column].field));
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
    const CounterRow row = bench.read();
    const auto holds = [&row](std::string_view name, std::uint64_t value, unsigned bits) {
      const std::size_t column = column_of(name);
      if (bits == 0) return !row.count(column).has_value();
      return row.count(column) == value && row.field(column).bits == bits;
    };
    CAPTURE(c.mask, c.mask2);
    CHECK(holds("port_xmit_data", 70000, c.data));
    CHECK(holds("symbol_error_counter", c.errors == 16 ? 65535U : 70000U, c.errors));
    CHECK(row.is_full(column_of("symbol_error_counter")) == (c.errors == 16));
    CHECK(holds("port_xmit_wait", 70000, c.wait));
    CHECK(holds("port_unicast_rcv_pkts", 70000, c.unicast));
    CHECK(holds("qp1_dropped", c.qp1 == 16 ? 65535U : 70000U, c.qp1));
    CHECK(bench.pma.asked.size() == c.requests);
  }
  CHECK_THROWS_AS(column_of("port_xmit_dta"), std::invalid_argument);
}

}  // namespace counters_counters_tests
