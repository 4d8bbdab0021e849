// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The fake PMA itself, and GMPs of several services side by side: what tests of counters take for granted.
#include "iba-gen/pm.hpp"
#include "mad/rpc/rpc.hpp"
#include "support/catch.hpp"
#include "support/fake_clock.hpp"
#include "support/fake_fabric.hpp"
#include "support/fake_pma.hpp"

namespace mad_pma_tests {

using namespace ib;
using namespace ib::mad;
using namespace std::chrono_literals;
using ibtest::FakeFabric;
using ibtest::FakePma;

namespace {

/// host0 – leaf0, whose ports 1 and 2 go to hosts and whose port 3 goes to the spine; PMAs run on the leaf and the host.
struct Bench {
  FakeFabric fabric = FakeFabric::fat_tree(2, 1, 2);
  FakeFabric::NodeId leaf = 1, host = 2;
  FakePma& pma = run_pma(fabric, leaf);
  FakePma& host_pma = run_pma(fabric, host);
  ibtest::FakeClock clock;
  async::Loop loop{clock};
  Rpc rpc{loop, fabric.open()};

  path::Path to(FakeFabric::NodeId node) const {
    path::IbPath path;
    path.end_port = &fabric.end_port();
    path.slid = fabric.end_port().lid;
    path.dlid = const_cast<FakeFabric&>(fabric).node(node).ports.back().info.lid;
    path.dqpn = path.sqpn = Qpn{1};
    path.timeout = 1s;
    return path;
  }
  template <class T>
  Result<T> get(T value = {}) {
    const path::Path path = to(leaf);
    return loop.run(rpc.try_performance_get<T>(path, 0, std::move(value)));
  }
  template <class T>
  Result<std::vector<std::uint8_t>> set(const T& value) {
    const path::Path path = to(leaf);
    std::array<std::uint8_t, T::wire_size> bytes{};
    value.pack(bytes);
    return loop.run(rpc.try_set(path, T::info(), 0, bytes));
  }
  ClassPortInfo class_port_info() {
    const path::Path path = to(leaf);
    const Request request{.path = path, .mgmt_class = mgmt_class::performance, .attribute_id = ClassPortInfo::attribute_id, .payload = {}};
    const Result<Reply> reply = loop.run(rpc.try_call(request));
    return ClassPortInfo::unpack(reply->payload());
  }
  template <class T>
  T of_port(std::uint8_t port) {
    T value;
    value.port_select = port;
    return get(value).take();
  }
};

std::uint16_t status_of(const MadError& error) { return error.status(); }

}  // namespace

TEST_CASE("each node answers for itself, by its own services") {
  Bench bench;
  bench.pma.count(1, "port_xmit_pkts") = 11;
  bench.host_pma.count(1, "port_xmit_pkts") = 22;
  std::size_t others = 0;
  bench.fabric.network.gmp = [&](Bytes mad, const path::Path&) -> std::optional<FakeFabric::Answer> {
    ++others;
    return ibtest::answer_to(mad, 0x0c);
  };
  pm::PortCounters wanted;
  wanted.port_select = 1;
  const path::Path host = bench.to(bench.host), spine = bench.to(0);
  CHECK(bench.of_port<pm::PortCounters>(1).port_xmit_pkts == 11);
  CHECK((*bench.loop.run(bench.rpc.try_performance_get(host, 0, wanted))).port_xmit_pkts == 22);
  CHECK(others == 0);
  // A node without a PMA, and a class without a service: the fallback.
  CHECK_FALSE(bench.loop.run(bench.rpc.try_performance_get(spine, 0, wanted)));
  CHECK(others == 1);
  CHECK(bench.pma.service().requests == 1);
  CHECK(bench.host_pma.service().requests == 1);
}

TEST_CASE("narrow counters of a PMA stop at their greatest value, counters of 64 bits wrap") {
  Bench bench;
  for (const char* name : {"port_xmit_data", "symbol_error_counter", "link_downed_counter", "local_link_integrity_errors", "qp1_dropped"}) {
    bench.pma.count(2, name) = 0xfffffffffffffffe;
  }
  const auto narrow = bench.of_port<pm::PortCounters>(2);
  CHECK(narrow.port_select == 2);
  CHECK(narrow.port_xmit_data == 0xffffffff);
  CHECK(narrow.symbol_error_counter == 0xffff);
  CHECK(narrow.link_downed_counter == 0xff);
  CHECK(narrow.local_link_integrity_errors == 15);
  CHECK(narrow.excessive_buffer_overrun_errors == 0);
  CHECK(narrow.qp1_dropped == 0xffff);
  CHECK(bench.of_port<pm::PortCountersExt>(2).port_xmit_data == 0xfffffffffffffffe);
  bench.pma.count(2, "port_xmit_data") += 5;
  CHECK(bench.of_port<pm::PortCountersExt>(2).port_xmit_data == 3);
  CHECK(bench.of_port<pm::PortCountersExt>(2).symbol_error_counter == 0xfffffffffffffffe);
}

TEST_CASE("a PMA sets what CounterSelect names, in the attribute that is set") {
  Bench bench;
  std::uint64_t value = 100;
  for (const FieldInfo& field : pm::PortCountersExt::info().fields) {
    if (!field.reserved && field.bits == 64) bench.pma.count(1, field.name) = value++;
  }
  const auto narrow = bench.of_port<pm::PortCounters>(1);
  pm::PortCounters clear;
  clear.port_select = 1;
  clear.counter_select = 1U << 0 | 1U << 11 | 1U << 12;  // SymbolErrorCounter, VL15Dropped, PortXmitData
  clear.counter_select2 = 1;                             // PortXmitWait
  clear.vl15_dropped = 7;
  REQUIRE(bench.set(clear));
  pm::PortCounters expected = narrow;
  expected.symbol_error_counter = 0;
  expected.vl15_dropped = 7;
  expected.port_xmit_data = 0;
  expected.port_xmit_wait = 0;
  CHECK(bench.of_port<pm::PortCounters>(1) == expected);
  const auto wide = bench.of_port<pm::PortCountersExt>(1);
  CHECK(wide.port_xmit_data == 100);  // another attribute
  bench.pma.count(1, "port_xmit_data") += 9;
  CHECK(bench.of_port<pm::PortCounters>(1).port_xmit_data == 9);

  pm::PortCountersExt clear_wide;
  clear_wide.port_select = 1;
  clear_wide.counter_select = 1U << 7;   // PortMulticastRcvPkts
  clear_wide.counter_select2 = 1U << 0;  // SymbolErrorCounter
  REQUIRE(bench.set(clear_wide));
  pm::PortCountersExt expected_wide = wide;
  expected_wide.port_xmit_data = 109;
  expected_wide.port_multicast_rcv_pkts = expected_wide.symbol_error_counter = 0;
  CHECK(bench.of_port<pm::PortCountersExt>(1) == expected_wide);
}

TEST_CASE("the CapabilityMask of a PMA says what it has") {
  Bench bench;
  for (const char* name : {"port_unicast_xmit_pkts", "port_xmit_wait", "qp1_dropped", "symbol_error_counter"}) bench.pma.count(1, name) = 5;
  CHECK(bench.class_port_info().capability_mask == (bench.pma.capability_mask | class_capability_mask::capability_mask2_supported));
  CHECK(bench.class_port_info().capability_mask2 == pm::capability_mask2::is_additional_port_counters_extended_supported);
  bench.pma.capability_mask = pm::capability_mask::is_extended_width_no_ietf_supported;
  bench.pma.capability_mask2 = 0;
  const auto narrow = bench.of_port<pm::PortCounters>(1);
  CHECK(narrow.port_xmit_wait == 0);
  CHECK(narrow.qp1_dropped == 0);
  CHECK(narrow.symbol_error_counter == 5);
  const auto wide = bench.of_port<pm::PortCountersExt>(1);
  CHECK(wide.port_unicast_xmit_pkts == 0);
  CHECK(wide.symbol_error_counter == 0);
  bench.pma.capability_mask = 0;
  const auto none = bench.get<pm::PortCountersExt>();
  REQUIRE_FALSE(none);
  CHECK(status_of(none.error()) == status::unsupported_method_attribute);
  bench.pma.unsupported.insert(pm::PortRcvErrorDetails::attribute_id);
  const auto unsupported = bench.get<pm::PortRcvErrorDetails>();
  REQUIRE_FALSE(unsupported);
  CHECK(status_of(unsupported.error()) == status::unsupported_method_attribute);
}

TEST_CASE("a PMA refuses ports that it does not have, and answers for all at once where it can") {
  Bench bench;
  for (const std::uint8_t port : std::initializer_list<std::uint8_t>{0, 4, 254}) {
    pm::PortCounters wanted;
    wanted.port_select = port;
    const auto refused = bench.get(wanted);
    REQUIRE_FALSE(refused);
    CHECK(status_of(refused.error()) == 0x1c);
  }
  bench.pma.count(1, "link_downed_counter") = 200;
  bench.pma.count(1, "port_rcv_pkts") = 1;
  bench.pma.count(3, "link_downed_counter") = 100;
  bench.pma.count(3, "port_rcv_pkts") = 2;
  const auto sum = bench.of_port<pm::PortCounters>(255);
  CHECK(sum.link_downed_counter == 255);
  CHECK(sum.port_rcv_pkts == 3);
  pm::PortCounters clear;
  clear.port_select = 255;
  clear.counter_select = 0xffff;
  REQUIRE(bench.set(clear));
  CHECK(bench.of_port<pm::PortCounters>(3).port_rcv_pkts == 0);
  bench.pma.capability_mask = 0;
  CHECK_FALSE(bench.set(clear));
}

TEST_CASE("optional attributes of a PMA share the counts by name, arrays included") {
  Bench bench;
  bench.pma.count(1, "port_xmit_data_sl", 15) = 1000;
  bench.pma.count(1, "port_inactive_discards") = 70000;
  bench.pma.count(1, "port_vl_xmit_flow_ctl_update_errors", 3) = 9;
  bench.pma.count(1, "port_op_rcv_pkts") = 4;
  bench.pma.count(1, "port_looping_errors") = 6;
  bench.pma.count(1, "fec_correctable_block_ctr_lane", 11) = 8;
  CHECK(bench.of_port<pm::PortXmitDataSL>(1).port_xmit_data_sl[15] == 1000);
  CHECK(bench.of_port<pm::PortRcvDataSL>(1).port_rcv_data_sl[15] == 0);
  CHECK(bench.of_port<pm::PortXmitDiscardDetails>(1).port_inactive_discards == 0xffff);
  CHECK(bench.of_port<pm::PortVLXmitFlowCtlUpdateErrors>(1).port_vl_xmit_flow_ctl_update_errors[3] == 3);
  CHECK(bench.of_port<pm::PortOpRcvCounters>(1).port_op_rcv_pkts == 4);
  CHECK(bench.of_port<pm::PortRcvErrorDetails>(1).port_looping_errors == 6);
  CHECK(bench.of_port<pm::PortExtendedSpeedsCounters>(1).fec_correctable_block_ctr_lane[11] == 8);
  CHECK(bench.of_port<pm::PortFlowCtlCounters>(1).port_xmit_flow_pkts == 0);
  CHECK_THROWS_AS(bench.pma.count(1, "port_xmit_dta"), std::invalid_argument);
  pm::PortXmitDataSL clear;
  clear.port_select = 1;
  clear.counter_select = 1U << 15;
  REQUIRE(bench.set(clear));
  CHECK(bench.of_port<pm::PortXmitDataSL>(1).port_xmit_data_sl[15] == 0);
}

TEST_CASE("a PMA samples what PortSamplesControl selects") {
  Bench bench;
  bench.pma.sampling_polls = 1;
  bench.pma.count(2, "port_rcv_data") = 500;
  pm::PortSamplesCtl control;
  control.port_select = 2;
  control.tag = 77;
  control.counter_select1 = pm::counter_select::port_rcv_data;
  REQUIRE(bench.set(control));
  bench.pma.count(2, "port_rcv_data") += 40;
  const auto running = *bench.get<pm::PortSamplesRes>();
  CHECK(running.tag == 77);
  CHECK(running.sample_status == pm::SampleStatus::running);
  const auto done = *bench.get<pm::PortSamplesRes>();
  CHECK(done.sample_status == pm::SampleStatus::done);
  CHECK(done.counter[0] == 0);
  CHECK(done.counter[1] == 40);
  CHECK((*bench.get<pm::PortSamplesResExt>()).counter[1] == 40);
}

TEST_CASE("faults of a PMA and of its node") {
  Bench bench;
  bench.pma.service().faults.drop_next = 1;
  CHECK(bench.of_port<pm::PortCounters>(1).port_select == 1);  // by the second try
  CHECK(bench.pma.service().requests == 2);
  bench.pma.service().faults.status = status::busy;
  bench.pma.service().faults.status_attribute = pm::PortCountersExt::attribute_id;
  CHECK_FALSE(bench.get<pm::PortCountersExt>());
  bench.pma.service().faults.lie = [](FakeFabric::Answer& answer) { answer[64 + 27] = 99; };
  CHECK(bench.of_port<pm::PortCounters>(1).port_xmit_data == 99);
  bench.pma.service().faults = {};
  bench.pma.service().faults.silent = true;
  CHECK_FALSE(bench.get<pm::PortCounters>());
  const path::Path leaf = bench.to(bench.leaf);
  CHECK(bench.loop.run(bench.rpc.try_subn_get<smp::NodeInfo>(leaf)));  // the SMA is another agent
  bench.pma.service().faults = {};
  bench.fabric.node(bench.leaf).faults.silent = true;
  CHECK_FALSE(bench.get<pm::PortCounters>());
}

}  // namespace mad_pma_tests
