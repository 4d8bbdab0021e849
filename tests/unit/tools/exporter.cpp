// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The exporter's engine on fabrics in memory and a clock that jumps: what is read when, and what is published while nodes fall silent,
// links break, and the end port goes away and comes back.
#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "counters/difference.hpp"
#include "iba-gen/pm.hpp"
#include "subnet/model/rate.hpp"
#include "support/catch.hpp"
#include "support/program.hpp"
#include "unit/tools/exporter_bench.hpp"

namespace tools_exporter_tests {

using namespace ib;
using namespace std::chrono_literals;
using ibtest::FakeFabric;
using tools::exporter::Engine;

namespace {

using ibtest::host0, ibtest::host2, ibtest::leaf0, ibtest::leaf1, ibtest::leaf0_guid, ibtest::leaf1_guid;
using Bench = ibtest::ExporterBench;

// Of a request to a PMA: 4.096 µs × 2^19, and two packet life times of 4.096 µs × 2^15 (IBA 13.4.6.2).
constexpr async::Duration one_timeout = 2415919104ns;

}  // namespace

TEST_CASE_METHOD(Bench, "Exporter: publishes whole readings, a new one each interval") {
  pmas[leaf0]->count(1, "port_xmit_data") = 1000;
  CHECK_FALSE(engine->is_ready());
  start();
  run_for(5s);
  REQUIRE(engine->is_ready());
  CHECK(of_port("transmit_data_bytes_total", leaf0_guid, 1) == "4000");
  CHECK(count("infiniband_switch_port_symbol_error_total") == 8);  // two links to the spine, and four to hosts
  CHECK(count("infiniband_hca_port_symbol_error_total") == 4);
  pmas[leaf0]->count(1, "port_xmit_data") = 2000;
  run_for(20s);
  CHECK(of_port("transmit_data_bytes_total", leaf0_guid, 1) == "4000");
  run_for(10s);
  CHECK(of_port("transmit_data_bytes_total", leaf0_guid, 1) == "8000");
  run_for(500s);
  CHECK(engine->view().exporter.sweeps == 1);
  run_for(100s);
  CHECK(engine->view().exporter.sweeps == 2);
}

TEST_CASE_METHOD(Bench, "Exporter: a page sends nothing to the fabric, and a round one request to each port") {
  start();
  run_for(5s);
  const std::uint64_t before = sent();
  for (int i = 0; i < 50; ++i) page();
  CHECK(sent() == before);
  for (ibtest::FakePma* pma : pmas) pma->asked.clear();
  run_for(30s);
  std::size_t asked = 0;
  for (const ibtest::FakePma* pma : pmas) asked += pma->asked.size();
  CHECK(asked == 12);  // one PortCountersExtended for each linked port
}

TEST_CASE_METHOD(Bench, "Exporter: error counters of a PMA without 64 bits for them come from PortCounters") {
  pmas[leaf0]->capability_mask2 = 0;
  pmas[leaf1]->capability_mask = 0;
  for (const FakeFabric::NodeId leaf : {leaf0, leaf1}) {
    pmas[leaf]->count(1, "symbol_error_counter") = 7;
    pmas[leaf]->count(1, "port_unicast_xmit_pkts") = 9;
  }
  start();
  run_for(5s);
  CHECK(of_port("symbol_error_total", leaf0_guid, 1) == "7");
  CHECK(of_port("qp1_dropped_total", leaf0_guid, 1) == "0");
  CHECK(of_port("unicast_transmit_packets_total", leaf0_guid, 1) == "9");
  CHECK(of_port("symbol_error_total", leaf1_guid, 1) == "7");
  CHECK(of_port("unicast_transmit_packets_total", leaf1_guid, 1) == "none");
  CHECK(of_port("transmit_wait_total", leaf1_guid, 1) == "none");
}

TEST_CASE_METHOD(Bench, "Exporter: a silent PMA has no samples, delays no other and is reported once") {
  start();
  run_for(5s);
  pmas[leaf1]->service().faults.silent = true;
  pmas[leaf0]->count(1, "symbol_error_counter") = 5;
  run_for(45s);
  CHECK(of_port("symbol_error_total", leaf0_guid, 1) == "5");
  CHECK(of_port("symbol_error_total", leaf1_guid, 1) == "none");
  CHECK(find("infiniband_switch_up{guid=\"" + leaf1_guid + "\",switch=\"leaf1\"}") == "0");
  CHECK(find("infiniband_switch_collect_error{guid=\"" + leaf1_guid + "\",collector=\"switch\"}") == "1");
  CHECK(find("infiniband_switch_collect_timeout{guid=\"" + leaf1_guid + "\",collector=\"switch\"}") == "1");
  CHECK(find("infiniband_exporter_collect_timeouts{collector=\"switch\"}") == "1");
  CHECK(state(leaf1_guid, "leaf1", 1) == "1");
  const std::uint64_t sweeps = engine->view().exporter.sweeps;
  pmas[leaf0]->count(1, "symbol_error_counter") = 6;
  run_for(300s);
  CHECK(of_port("symbol_error_total", leaf0_guid, 1) == "6");
  CHECK(said() == "W: counters are not read of device 'leaf1'\n");
  CHECK(engine->view().exporter.sweeps == sweeps);  // once was enough
  pmas[leaf1]->service().faults.silent = false;
  run_for(45s);
  CHECK(of_port("symbol_error_total", leaf1_guid, 1) == "0");
  CHECK_THAT(said(), ibtest::ends_with("W: the counters of all devices are read\n"));
}

TEST_CASE_METHOD(Bench, "Exporter: the state of a port is right within 15 s, its uplink within 20 s more") {
  const std::string uplink = "infiniband_switch_uplink_info{guid=\"" + leaf1_guid + "\",port=\"1\"";
  start();
  run_for(40s);
  REQUIRE(state(leaf1_guid, "leaf1", 1) == "1");
  REQUIRE(count(uplink) == 1);
  fabric.set_link(leaf1, 1, false);
  run_for(15s);
  CHECK(state(leaf1_guid, "leaf1", 1) == "0");
  CHECK(of_port("state_id", leaf1_guid, 1) == "1");
  CHECK(count(uplink) == 0);
  run_for(20s);
  CHECK(count("infiniband_hca_info{guid=\"0x0000000000100021\"") == 0);
  CHECK(engine->view().exporter.sweeps == 2);
  fabric.set_link(leaf1, 1, true);
  run_for(15s);
  CHECK(state(leaf1_guid, "leaf1", 1) == "1");
  run_for(20s);
  CHECK(count(uplink) == 1);
  CHECK(of_port("symbol_error_total", leaf1_guid, 1) == "0");
}

TEST_CASE_METHOD(Bench, "Exporter: a switch that goes away and comes back delays no other node") {
  start();
  run_for(40s);
  fabric.node(leaf1).faults.silent = true;
  for (unsigned port = 1; port <= 3; ++port) fabric.set_link(leaf1, port, false);
  for (unsigned count = 0; count < 10; ++count) {
    pmas[leaf0]->count(1, "symbol_error_counter") += 1;
    run_for(30s);
    CHECK(std::stoul(of_port("symbol_error_total", leaf0_guid, 1)) >= count);
    if (count > 0) CHECK(of_port("symbol_error_total", leaf1_guid, 1) == "none");
  }
  const std::string up = "infiniband_switch_up{guid=\"" + leaf1_guid + "\",switch=\"leaf1\"}";
  CHECK(find(up) == "0");
  CHECK(find("infiniband_hca_up{guid=\"0x0000000000100021\",hca=\"host2 HCA-1\"}") == "0");
  fabric.node(leaf1).faults.silent = false;
  for (unsigned port = 1; port <= 3; ++port) fabric.set_link(leaf1, port, true);
  run_for(35s);
  CHECK(of_port("symbol_error_total", leaf1_guid, 1) == "0");
  CHECK(state(leaf1_guid, "leaf1", 1) == "1");
  CHECK(find(up) == "1");
  fabric.set_link(leaf1, 3, false);
  run_for(40s);
  CHECK(find(up) == "0");
  clock.advance(24h);
  run_for(60s);
  CHECK(find(up) == "none");  // forgotten after a day
}

TEST_CASE_METHOD(Bench, "Exporter: the end port goes away and comes back") {
  start();
  run_for(40s);
  REQUIRE(engine->is_ready());
  is_port_gone = true;
  fabric.channel().break_down(EIO);
  run_for(60s);
  CHECK_FALSE(engine->is_ready());
  CHECK(count("infiniband_switch") == 0);
  CHECK(find("infiniband_exporter_collect_errors{collector=\"ibnetdiscover\"}") == "1");
  is_port_gone = false;
  run_for(10s);
  CHECK(engine->is_ready());
  CHECK(of_port("symbol_error_total", leaf1_guid, 1) == "0");
  const std::string told = said();
  CHECK(std::ranges::count(told, '\n') <= 3);  // what went wrong first, what then, and that all is well
  CHECK_THAT(told, ibtest::ends_with("W: the fabric is read again\n"));
}

TEST_CASE_METHOD(Bench, "Exporter: an own port that goes Down is an error and a finding, and nothing of the rest is published") {
  const std::string finding = "infiniband_health_findings{check=\"own-port\",level=\"error\"}";
  start();
  run_for(40s);
  REQUIRE(engine->is_ready());
  CHECK(find(finding) == "0");
  const bool is_seen_in_sysfs = GENERATE(true, false);  // else only in the PortInfo, which is read more often
  fabric.set_link(host0, 1, false);
  if (is_seen_in_sysfs) set_state("1: DOWN");
  run_for(40s);
  CHECK_FALSE(engine->is_ready());
  CHECK(find("infiniband_exporter_collect_errors{collector=\"ibnetdiscover\"}") == "1");
  CHECK(find(finding) == "1");
  CHECK(count("infiniband_health_finding_info{check=\"own-port\"") == 1);
  CHECK(count("infiniband_health_findings{check=\"sm-none\"") == 0);
  CHECK(count("infiniband_switch") == 0);
  CHECK_THAT(said(), ibtest::contains("fake0/1 is Down"));
  fabric.set_link(host0, 1, true);
  set_state("4: ACTIVE");
  run_for(20s);
  CHECK(engine->is_ready());
  CHECK(find(finding) == "0");
}

TEST_CASE_METHOD(Bench, "Exporter: a port that cannot be opened at the start is tried again, and an error of a run that ends") {
  is_port_gone = true;
  CHECK_THROWS_AS(loop.run(engine->run_once()), SysError);
  start();
  run_for(60s);
  CHECK_FALSE(engine->is_ready());
  CHECK(said().find("trying again") != std::string::npos);
  CHECK(std::ranges::count(said(), '\n') == 1);
  is_port_gone = false;
  run_for(10s);
  CHECK(engine->is_ready());
}

TEST_CASE_METHOD(Bench, "Exporter: a run that ends reports what the sweep could not read") {
  fabric.node(leaf1).faults.silent = true;
  const ibtest::Outcome outcome = ibtest::ibtool(fabric, {"exporter", "--once"});
  CHECK(outcome.status == 4);
  CHECK_THAT(outcome.err, ibtest::contains("E: No answer from beyond port "));
}

TEST_CASE_METHOD(Bench, "Exporter: another LID of our port, or another subnet manager, opens the stack again") {
  start();
  run_for(40s);
  const unsigned before = opened;
  fabric.node(host0).ports[1].info.master_sm_lid = Lid{6};
  run_for(40s);
  CHECK(opened == before + 1);
  CHECK(engine->is_ready());
  fabric.node(host0).ports[1].info.lid = Lid{40};
  set_lid(40);
  run_for(40s);
  CHECK(opened == before + 2);
  CHECK(host->end_port().lid == Lid{40});
  CHECK(engine->is_ready());
}

TEST_CASE_METHOD(Bench, "Exporter: sweeps on request, and holds no more readings than two") {
  start();
  run_for(20s);
  engine->sweep_now();
  run_for(1s);
  CHECK(engine->view().exporter.sweeps == 2);
  const std::weak_ptr<const metrics::Reading> first = engine->view().reading;
  const std::weak_ptr<const metrics::SweptFabric> fabric_before = engine->view().reading->fabric;
  engine->sweep_now();
  run_for(30s);
  CHECK(first.expired());
  CHECK(fabric_before.expired());
}

TEST_CASE_METHOD(Bench, "Exporter: ends at once, whatever it is waiting for") {
  for (const auto time : {0ms, 1ms, 10ms, 500ms, 8000ms, 31'000ms}) {
    async::TaskGroup group(loop);
    group.spawn(engine->run());
    run_for(time);
  }
  SUCCEED();
}

TEST_CASE("Exporter: the master and the standby") {
  Bench bench;
  for (const FakeFabric::NodeId node : {host0, host2}) {
    bench.fabric.node(node).ports[1].info.capability_mask |= 1U << 1;
    bench.fabric.node(node).sm_info.emplace();
    bench.fabric.node(node).sm_info->sm_state = node == host0 ? smp::SMState::master : smp::SMState::standby;
    bench.fabric.node(node).sm_info->priority = node == host0 ? 14 : 3;
  }
  bench.start();
  bench.run_for(5s);
  CHECK(bench.find("infiniband_sm_state_id{guid=\"0x0000000000100001\",node=\"host0 HCA-1\"}") == "3");
  CHECK(bench.find("infiniband_sm_priority{guid=\"0x0000000000100021\",node=\"host2 HCA-1\"}") == "3");
}

TEST_CASE_METHOD(Bench, "Exporter: a subnet manager that moves to another node is exported with the next poll of states") {
  const std::string at_host0 = "infiniband_sm_state_id{guid=\"0x0000000000100001\",node=\"host0 HCA-1\"}";
  const std::string at_host2 = "infiniband_sm_state_id{guid=\"0x0000000000100021\",node=\"host2 HCA-1\"}";
  for (const FakeFabric::NodeId node : {host0, host2}) {
    fabric.node(node).ports[1].info.capability_mask |= 1U << 1;
    fabric.node(node).sm_info.emplace();
    fabric.node(node).sm_info->sm_state = node == host2 ? smp::SMState::master : smp::SMState::standby;
  }
  start();
  run_for(40s);
  REQUIRE(find(at_host2) == "3");
  REQUIRE(find(at_host0) == "2");
  const unsigned before = opened;
  fabric.node(host2).sm_info->sm_state = smp::SMState::standby;  // for a while there is no master
  for (FakeFabric::NodeId node = 0; node < fabric.size(); ++node) {
    for (FakeFabric::Port& port : fabric.node(node).ports) port.info.master_sm_lid = Lid{6};
  }
  run_for(10s);
  CHECK(opened == before + 1);
  CHECK(find(at_host2) == "2");
  CHECK(find(at_host0) == "2");
  const std::uint64_t sweeps = engine->view().exporter.sweeps;
  fabric.node(host0).sm_info->sm_state = smp::SMState::master;
  run_for(10s);
  CHECK(find(at_host0) == "3");
  CHECK(engine->view().exporter.sweeps <= sweeps + 1);  // one for the time without a master
  fabric.node(host2).faults.silent = true;              // the node of the old one dies: it has no sample
  run_for(20s);
  CHECK(find(at_host2) == "none");
  CHECK(find(at_host0) == "3");
  CHECK(engine->is_ready());
}

TEST_CASE("Exporter: details cost two more MADs a port") {
  Bench bench({false, true, {}, 0});
  bench.pmas[leaf0]->count(1, "port_vl_mapping_errors") = 3;
  bench.start();
  bench.run_for(5s);
  const metrics::PageRules rules({.details = true}, {});
  metrics::Page page(rules, bench.engine->view(), {});
  std::string text;
  page.next(text, 1U << 20U);
  CHECK_THAT(text, ibtest::contains("infiniband_switch_port_vl_mapping_errors_total{guid=\"" + leaf0_guid + "\",port=\"1\"} 3\n"));
  CHECK_THAT(text, ibtest::contains("infiniband_switch_collect_error{guid=\"" + leaf0_guid + "\",collector=\"switch-rcv-err\"} 0\n"));
}

TEST_CASE("Exporter: counters of FEC with details, of links that report their FEC mode, for one MAD more a port") {
  Bench bench({false, true, {}, 0});
  for (const auto& [node, port] : {std::pair{leaf0, 1U}, {host0, 1U}}) {
    FakeFabric::Node& of = bench.fabric.node(node);
    smp::PortInfo& info = of.ports.at(of.is_switch() ? 0 : port).info;
    info.capability_mask |= smp::capability_mask::is_capability_mask2_supported;
    info.capability_mask2 |= smp::capability_mask2::is_port_info_extended_supported;
    smp::PortInfoExtended& extended = of.ports.at(port).extended.emplace();
    extended.capability_mask = smp::port_info_extended_capability::is_fec_mode_supported;
    extended.fec_mode_active = smp::FecMode::rs_fec;
  }
  ibtest::FakePma& pma = *bench.pmas[leaf0];
  pma.capability_mask |= pm::capability_mask::rs_fec_counters_supported;
  pma.rs_fec = true;
  pma.count(1, "port_fec_uncorrectable_block_ctr") = 9;
  bench.start();
  bench.run_for(5s);
  const metrics::PageRules rules({.details = true}, {});
  metrics::Page page(rules, bench.engine->view(), {});
  std::string all;
  for (std::string text; page.next(text, 1U << 20U);) all += text;
  CHECK_THAT(all, ibtest::contains("\ninfiniband_switch_port_fec_uncorrectable_blocks_total{guid=\"" + leaf0_guid + "\",port=\"1\"} 9\n"));
  CHECK_THAT(all, !ibtest::contains("fec_uncorrectable_blocks_total{guid=\"" + leaf0_guid + "\",port=\"2\"}"));  // the peer reports no mode
  CHECK(pma.times(pm::PortExtendedSpeedsCounters::attribute_id) == 1);
  CHECK(bench.find("infiniband_health_findings{check=\"fec-mismatch\",level=\"warning\"}") == "0");
  CHECK(bench.find("infiniband_health_findings{check=\"fec-uncorrectable\",level=\"error\"}") == "none");  // one reading proves nothing
  pma.count(1, "port_fec_uncorrectable_block_ctr") += 1;
  bench.run_for(30s);
  CHECK(pma.times(pm::PortExtendedSpeedsCounters::attribute_id) == 2);
  CHECK(bench.find("infiniband_health_findings{check=\"fec-uncorrectable\",level=\"error\"}") == "1");
}

TEST_CASE_METHOD(Bench, "Exporter: the share of time in which a port waited, where the PMA reports the length of a tick") {
  pmas[leaf0]->tick = 31;
  pmas[leaf1]->unsupported.insert(pm::PortSamplesCtl::attribute_id);
  start();
  run_for(5s);
  CHECK(count("infiniband_switch_port_transmit_wait_ratio") == 0);  // one reading proves nothing
  CHECK(pmas[leaf0]->times(pm::PortSamplesCtl::attribute_id) == 1);
  pmas[leaf0]->count(1, "port_xmit_wait") += 1'000'000;
  pmas[leaf1]->count(1, "port_xmit_wait") += 1'000'000;
  run_for(30s);
  const metrics::View view = engine->view();
  const subnet::Subnet& subnet = view.reading->fabric->subnet;
  const subnet::LinkRate rate = subnet::active_rate(subnet, subnet.port_of(subnet.find_node(Guid{0x6000}), 1));
  REQUIRE(rate.known());
  const double share = std::stod(of_port("transmit_wait_ratio", leaf0_guid, 1));
  CHECK(share > *counters::waiting_share(1'000'000, 31, 31, rate));
  CHECK(share < *counters::waiting_share(1'000'000, 31, 29, rate));
  CHECK(of_port("transmit_wait_ratio", leaf0_guid, 2) == "0");
  CHECK(of_port("transmit_wait_ratio", leaf1_guid, 1) == "none");
  CHECK(pmas[leaf0]->times(pm::PortSamplesCtl::attribute_id) == 1);  // ticks do not change
  run_for(30s);
  CHECK(of_port("transmit_wait_ratio", leaf0_guid, 1) == "0");
}

TEST_CASE_METHOD(Bench, "Exporter: findings of health between the last two readings, without a MAD more") {
  const auto findings = [this](const std::string& check, const std::string& level) {
    return find("infiniband_health_findings{check=\"" + check + "\",level=\"" + level + "\"}");
  };
  start();
  run_for(5s);
  CHECK(findings("symbol-errors", "error") == "none");  // one reading proves nothing
  CHECK(findings("port-init", "error") == "0");
  CHECK(findings("fec-mismatch", "warning") == "none");  // FEC modes are not read
  CHECK(count("infiniband_health_finding_info{check=\"symbol-errors\"") == 0);
  pmas[leaf0]->count(1, "symbol_error_counter") += 1000;
  const std::uint64_t before = sent();
  run_for(30s);
  const std::uint64_t first = sent() - before;
  CHECK(findings("symbol-errors", "error") == "1");
  CHECK(findings("symbol-errors", "warning") == "0");
  CHECK(find("infiniband_health_finding_info{check=\"symbol-errors\",level=\"error\",confidence=\"sure\",guid=\"" + leaf0_guid +
             "\",port=\"1\",node=\"leaf0\",uplink_guid=\"0x0000000000100001\",uplink_port=\"1\",uplink=\"host0 HCA-1\"}") == "1");
  run_for(30s);
  CHECK(findings("symbol-errors", "error") == "0");  // it stands still
  CHECK(count("infiniband_health_finding_info{check=\"symbol-errors\"") == 0);
  CHECK(sent() - before <= 2 * first + 40);  // polls of states fall into one round or the other
}

TEST_CASE_METHOD(Bench, "Exporter: findings of subnet managers, as they were polled last") {
  const auto findings = [this](const std::string& check) {
    return find("infiniband_health_findings{check=\"" + check + "\",level=\"error\"}");
  };
  for (FakeFabric::NodeId node = 0; node < fabric.size(); ++node) {
    for (FakeFabric::Port& port : fabric.node(node).ports) port.info.master_sm_lid = fabric.node(host0).ports[1].info.lid;
  }
  fabric.node(host0).ports[1].info.capability_mask |= smp::capability_mask::is_sm;
  fabric.node(host0).sm_info.emplace().sm_state = smp::SMState::master;
  start();
  run_for(5s);
  CHECK(findings("sm-none") == "0");
  CHECK(findings("sm-silent") == "0");
  fabric.node(host0).sm_info->sm_state = smp::SMState::standby;
  run_for(60s);
  CHECK(findings("sm-none") == "1");
  fabric.node(host0).ports[1].info.capability_mask &= ~smp::capability_mask::is_sm;  // it has ended
  fabric.node(host0).sm_info.reset();
  engine->sweep_now();
  run_for(60s);
  CHECK(findings("sm-none") == "1");
  CHECK(count("infiniband_sm_state_id") == 0);
}

TEST_CASE_METHOD(Bench, "Exporter: a sweep between two readings does not hide what was counted between them") {
  start();
  run_for(25s);
  pmas[leaf0]->count(1, "link_downed_counter") += 1;
  pmas[host0]->count(1, "link_downed_counter") += 1;
  engine->sweep_now();
  run_for(2s);
  REQUIRE(engine->view().exporter.sweeps == 2);
  CHECK(find("infiniband_health_findings{check=\"link-flap\",level=\"error\"}") == "1");
}

TEST_CASE_METHOD(Bench, "Exporter: a counter that was cleared, and one that is stuck") {
  pmas[leaf0]->capability_mask2 = 0;  // errors in PortCounters
  pmas[leaf0]->count(1, "symbol_error_counter") = 0xffff;
  pmas[leaf1]->count(1, "symbol_error_counter") = 5;
  start();
  run_for(25s);
  CHECK(find("infiniband_health_findings{check=\"counter-stuck\",level=\"info\"}") == "1");
  pmas[leaf1]->count(1, "symbol_error_counter") = 0;
  run_for(10s);
  CHECK(find("infiniband_health_findings{check=\"counter-cleared\",level=\"info\"}") == "1");
  CHECK(find("infiniband_health_findings{check=\"symbol-errors\",level=\"error\"}") == "0");
}

TEST_CASE("Exporter: nodes that were silent in the round before cost the next one a time-out, not a chain of them") {
  Bench bench({true, false, {}, 0}, FakeFabric::fat_tree(8, 2, 5));
  bench.start();
  bench.run_for(20s);
  const auto took = [&] { return bench.engine->view().reading->took; };
  const auto whole = took();
  std::size_t silent = 0;
  for (FakeFabric::NodeId node = 5; node < bench.fabric.size(); node += 10, ++silent) bench.pmas[node]->service().faults.silent = true;
  REQUIRE(silent * 10 >= bench.fabric.size());
  async::Duration fell_silent{};
  for (unsigned second = 0; second < 40; ++second) {
    bench.run_for(1s);
    fell_silent = std::max<async::Duration>(fell_silent, took());
  }
  bench.run_for(60s);
  const auto still_silent = took();
  CAPTURE(whole.count(), fell_silent.count(), still_silent.count());
  CHECK(fell_silent > 2 * one_timeout);
  CHECK(still_silent <= whole + one_timeout);
  CHECK(bench.count("infiniband_hca_up{") == 40);
  for (FakeFabric::NodeId node = 5; node < bench.fabric.size(); node += 10) bench.pmas[node]->service().faults.silent = false;
  bench.run_for(31s);
  CHECK(bench.find("infiniband_exporter_collect_timeouts{collector=\"hca\"}") == "0");
  CHECK(bench.find("infiniband_exporter_collect_timeouts{collector=\"switch\"}") == "0");
}

TEST_CASE("Exporter: no more MADs a second than the user allows, and values still come from the last reading") {
  Bench bench({true, false, {}, 20});
  bench.start();
  std::uint64_t before = 0;
  for (unsigned second = 0; second < 120; ++second) {
    bench.run_for(1s);
    const std::uint64_t now = bench.sent();
    CHECK(now - before <= 22);  // those that check the own port have no turn
    before = now;
  }
  CHECK(bench.engine->is_ready());
  CHECK(bench.engine->view().exporter.sweeps == 1);
  CHECK(bench.of_port("symbol_error_total", leaf1_guid, 1) == "0");
}

}  // namespace tools_exporter_tests
