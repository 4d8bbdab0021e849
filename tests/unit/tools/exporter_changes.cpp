// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// What the exporter makes of a fabric that changes while it reads: LIDs, cables, rates and subnet managers that move, nodes that are silent
// when it sweeps, and links that flap.
#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "async/group.hpp"
#include "support/catch.hpp"
#include "support/swapped_lids.hpp"
#include "tools/exporter/engine.hpp"
#include "unit/tools/exporter_bench.hpp"

namespace tools_exporter_changes_tests {

using namespace ib;
using namespace std::chrono_literals;
using ibtest::FakeFabric;
using ibtest::host0, ibtest::host2, ibtest::leaf0, ibtest::leaf1, ibtest::leaf0_guid, ibtest::leaf1_guid;
using Bench = ibtest::ExporterBench;
using tools::exporter::SweepCauses;

namespace {

constexpr FakeFabric::NodeId host3 = 6;

void run_manager(FakeFabric& fabric, FakeFabric::NodeId node, smp::SMState state) {
  fabric.node(node).ports[1].info.capability_mask |= 1U << 1;
  if (!fabric.node(node).sm_info) fabric.node(node).sm_info.emplace();
  fabric.node(node).sm_info->sm_state = state;
}

}  // namespace

TEST_CASE_METHOD(Bench, "Exporter: LIDs that two switches swap put no counter under a wrong GUID") {
  pmas[leaf0]->count(1, "symbol_error_counter") = 27;
  start();
  run_for(40s);
  REQUIRE(of_port("symbol_error_total", leaf0_guid, 1) == "27");
  REQUIRE(of_port("symbol_error_total", leaf1_guid, 1) == "0");
  const async::Duration before_round = 19500ms;  // as late as it can be before the round at 60 s
  run_for(before_round);
  ibtest::swap_lids(fabric, {leaf0, 0}, {leaf1, 0});
  for (unsigned second = 0; second < 60; ++second) {
    run_for(1s);
    const std::string first = of_port("symbol_error_total", leaf0_guid, 1), second_one = of_port("symbol_error_total", leaf1_guid, 1);
    CHECK((first == "27" || first == "none"));
    CHECK((second_one == "0" || second_one == "none"));
    if (second > 20) CHECK(first == "27");
    if (second > 20) CHECK(second_one == "0");
  }
  CHECK(engine->view().exporter.sweeps <= 4);
}

TEST_CASE_METHOD(Bench, "Exporter: rows of an unidentified device are dropped, and two hosts that swap LIDs are swept for at once") {
  pmas[host2]->count(1, "symbol_error_counter") = 27;
  start();
  run_for(41s);
  const std::string guid = fmt::format("0x{:016x}", fabric.node(host2).info.node_guid.value + 1);
  const std::string series = fmt::format("infiniband_hca_port_symbol_error_total{{guid=\"{}\",port=\"1\"}}", guid);
  REQUIRE(find(series) == "27");
  fabric.node(host2).faults.ignores = smp::NodeInfo::attribute_id;
  run_for(30s);
  CHECK(find(series) == "none");
  fabric.node(host2).faults.ignores = 0;
  run_for(60s);
  CHECK(find(series) == "27");
  ibtest::swap_lids(fabric, {host2, 1}, {host3, 1});
  for (unsigned second = 0; second < 70; ++second) {
    run_for(1s);
    const std::string value = find(series);
    CHECK((value == "27" || value == "none"));
    if (second > 60) CHECK(value == "27");
  }
}

TEST_CASE_METHOD(Bench, "Exporter: a switch that has another LID is read by it soon") {
  start();
  run_for(41s);
  FakeFabric::Node& node = fabric.node(leaf1);
  const Lid old = node.ports[0].info.lid, lid{40};
  for (FakeFabric::NodeId id = 0; id < fabric.size(); ++id) {
    FakeFabric::Node& at = fabric.node(id);
    if (!at.is_switch()) continue;
    if (at.lft.size() <= lid.value) at.lft.resize(lid.value + 1U, 255);
    at.lft[lid.value] = std::exchange(at.lft[old.value], std::uint8_t{255});
  }
  for (FakeFabric::Port& port : node.ports) port.info.lid = lid;
  run_for(16s);
  CHECK(find("infiniband_switch_info{guid=\"" + leaf1_guid + "\",switch=\"leaf1\",lid=\"40\"}") == "1");
  CHECK(of_port("symbol_error_total", leaf1_guid, 1) == "0");
  CHECK(engine->view().exporter.sweeps == 2);
}

TEST_CASE_METHOD(Bench, "Exporter: a switch that was silent during the sweep is there soon after it answers again") {
  fabric.node(leaf1).faults.silent = true;
  start();
  run_for(14s);
  REQUIRE(engine->is_ready());
  CHECK(of_port("symbol_error_total", leaf1_guid, 1) == "none");
  fabric.node(leaf1).faults.silent = false;
  run_for(30s);
  CHECK(of_port("symbol_error_total", leaf1_guid, 1) == "0");
  const std::uint64_t sweeps = engine->view().exporter.sweeps;
  run_for(300s);
  CHECK(engine->view().exporter.sweeps == sweeps);
}

TEST_CASE_METHOD(Bench, "Exporter: a switch that stays silent has the fabric swept more and more rarely") {
  fabric.node(leaf1).faults.silent = true;
  start();
  run_for(300s);
  const std::uint64_t sweeps = engine->view().exporter.sweeps;
  CHECK(sweeps >= 4);
  CHECK(sweeps <= 7);
  run_for(3000s);
  CHECK(engine->view().exporter.sweeps <= sweeps + 7);
}

TEST_CASE_METHOD(Bench, "Exporter: a link that flaps has the fabric swept rarely, and others not late") {
  start();
  run_for(40s);
  for (unsigned count = 0; count < 30; ++count) {
    fabric.set_link(leaf1, 1, count % 2 != 0);
    run_for(10s);
  }
  CHECK(engine->view().exporter.sweeps <= 24);  // which take next to no time here: one in 16 s, for either end
  fabric.set_link(leaf1, 1, true);
  run_for(35s);
  CHECK(count("infiniband_switch_uplink_info{guid=\"" + leaf1_guid + "\",port=\"1\"") == 1);
  const std::string host1 = "infiniband_hca_info{guid=\"0x0000000000100011\"";
  REQUIRE(count(host1) == 1);
  fabric.set_link(leaf0, 2, false);
  run_for(35s);
  CHECK(state(leaf0_guid, "leaf0", 2) == "0");
  CHECK(count(host1) == 0);
  CHECK(count("infiniband_hca_up{guid=\"0x0000000000100011\"") == 1);  // it is known to be gone: the fabric was swept
}

TEST_CASE("Exporter: a recurring cause leads to ever rarer sweeps, another cause to one at once, and a quiet time resets the interval") {
  using Time = async::Time;
  const SweepCauses::Cause link{Guid{1}, 1}, other{Guid{1}, 2};
  SweepCauses causes(8s, 60s);
  CHECK(causes.due(Time()) == SweepCauses::never);
  Time now = Time() + 100s;
  std::vector<int> gaps;
  const auto sweep_for = [&](SweepCauses::Trigger trigger) {
    const Time last = now;
    causes.add(link, now, trigger);
    causes.add(link, now, trigger);
    now = causes.due(last);
    causes.sweep_begins(now);
    gaps.push_back(static_cast<int>(std::chrono::duration_cast<std::chrono::seconds>(now - last).count()));
  };
  for (int i = 0; i < 4; ++i) sweep_for(SweepCauses::Trigger::change);
  causes.sweep_took(2s);
  for (int i = 0; i < 3; ++i) sweep_for(SweepCauses::Trigger::change);
  for (int i = 0; i < 2; ++i) sweep_for(SweepCauses::Trigger::silence);
  CHECK(gaps == std::vector<int>{8, 16, 16, 16, 16, 32, 40, 40, 60});
  causes.add(link, now);
  causes.add(other, now + 1s);
  CHECK(causes.due(now) == now + 8s);
  causes.sweep_begins(now + 8s);
  CHECK(causes.due(now + 8s) == SweepCauses::never);
  causes.add(link, now + 500s);
  CHECK(causes.due(now + 8s) == now + 500s);
  causes.sweep_begins(now + 500s);
}

TEST_CASE_METHOD(Bench, "Exporter: cables that were swapped between two polls are seen by what the ports have counted") {
  const auto uplink = [this](unsigned port, const std::string& name) {
    return count("infiniband_switch_uplink_info{guid=\"" + leaf1_guid + "\",port=\"" + std::to_string(port) +
                 "\",switch=\"leaf1\",uplink=\"" + name + " HCA-1\"");
  };
  start();
  run_for(41s);
  REQUIRE(uplink(1, "host2") == 1);
  fabric.link(leaf1, 1, host3, 1);
  fabric.link(leaf1, 2, host2, 1);
  fabric.assign_lids();
  for (const unsigned port : {1U, 2U}) pmas[leaf1]->count(port, "link_downed_counter") += 1;
  run_for(21s);  // it is read at 60 s, and the fabric is swept at once
  CHECK(uplink(1, "host3") == 1);
  CHECK(uplink(2, "host2") == 1);
  CHECK(uplink(1, "host2") == 0);
  CHECK(engine->view().exporter.sweeps == 2);
  const auto restarts = [this] { return count("infiniband_health_finding_info{check=\"link-restart\""); };
  CHECK(restarts() == 2);  // what was read before the sweep stays to be seen
  run_for(26s);
  CHECK(restarts() == 2);
  run_for(5s);
  CHECK(restarts() == 0);
  CHECK(engine->view().exporter.sweeps == 2);
}

TEST_CASE_METHOD(Bench, "Exporter: a link that comes up at another rate has no sample of the old one, and soon the new one") {
  start();
  run_for(41s);
  const double before = std::stod(of_port("raw_rate_bytes_per_second", leaf1_guid, 1));
  for (const FakeFabric::NodeId node : {leaf1, host2}) {
    smp::PortInfo& info = fabric.node(node).ports[1].info;
    REQUIRE(info.link_width_active == 2);
    info.link_width_active = 1;
  }
  run_for(9s);
  const std::string polled = of_port("raw_rate_bytes_per_second", leaf1_guid, 1);
  CHECK((polled == "none" || std::stod(polled) * 4 == Approx(before)));
  run_for(10s);
  CHECK(std::stod(of_port("raw_rate_bytes_per_second", leaf1_guid, 1)) * 4 == Approx(before));
  CHECK(engine->view().exporter.sweeps == 2);
}

TEST_CASE_METHOD(Bench, "Exporter: a link that comes up while a sweep is followed by its reading is swept for soon") {
  const std::string uplink = "infiniband_switch_uplink_info{guid=\"" + leaf1_guid + "\",port=\"1\"";
  start();
  run_for(41s);
  for (ibtest::FakePma* pma : pmas) pma->service().faults.delay = 300ms;
  fabric.set_link(leaf1, 1, false);
  for (unsigned step = 0; step < 200 && engine->view().exporter.sweeps < 2; ++step) run_for(100ms);
  REQUIRE(engine->view().exporter.sweeps == 2);
  fabric.set_link(leaf1, 1, true);
  run_for(35s);
  CHECK(state(leaf1_guid, "leaf1", 1) == "1");
  CHECK(count(uplink) == 1);
}

TEST_CASE("Exporter: states are polled while a fabric with another subnet manager is swept again") {
  FakeFabric at_host = FakeFabric::fat_tree(2, 1, 2);
  at_host.attach(host0);
  Bench bench({true, false, {}, 0}, std::move(at_host));
  bench.start();
  bench.run_for(41s);
  REQUIRE(bench.state(leaf1_guid, "leaf1", 2) == "1");
  bench.fabric.node(host0).ports[1].info.master_sm_lid = Lid{9};
  bench.fabric.node(host2).faults.silent = true;
  for (ibtest::FakePma* pma : bench.pmas) pma->service().faults.delay = 3s;
  for (FakeFabric::NodeId node = 0; node < bench.fabric.size(); ++node) bench.fabric.node(node).faults.delay = 500ms;
  bench.run_for(8s);  // the change of the subnet manager is seen
  bench.fabric.set_link(leaf1, 2, false);
  bench.run_for(15s);
  CHECK(bench.state(leaf1_guid, "leaf1", 2) == "0");
}

TEST_CASE_METHOD(Bench, "Exporter: a subnet manager that was not there at the sweep and takes over is found") {
  run_manager(fabric, host0, smp::SMState::master);
  start();
  run_for(41s);
  run_manager(fabric, host0, smp::SMState::standby);
  run_manager(fabric, host2, smp::SMState::master);
  const metrics::WallTime before = engine->view().reading->time;
  run_for(60s);  // counters are read meanwhile: two rounds, whatever a silent subnet manager costs
  CHECK(engine->view().reading->time - before == 60s);
  CHECK(find("infiniband_sm_state_id{guid=\"0x0000000000100001\",node=\"host0 HCA-1\"}") == "2");
  CHECK(find("infiniband_sm_state_id{guid=\"0x0000000000100021\",node=\"host2 HCA-1\"}") == "3");
  const std::uint64_t sweeps = engine->view().exporter.sweeps;
  run_for(200s);
  CHECK(engine->view().exporter.sweeps <= sweeps + 1);
}

TEST_CASE_METHOD(Bench,
                 "Exporter: a page that is begun in the midst of a round holds the reading of the round before no longer than others") {
  const tools::exporter::LocalPorts ports = tools::exporter::local_ports(*stack, {}, {true, false, {}, 0}, {});
  async::TaskGroup group(loop);
  for (const tools::exporter::LocalPort& port : ports) group.spawn(port.engine->run());
  run_for(20s);
  for (ibtest::FakePma* pma : pmas) pma->service().faults.delay = 300ms;
  run_for(10200ms);
  const metrics::PageRules rules({.hcas = true}, {});
  REQUIRE(ports.at(0).engine->rounds() == 2);
  REQUIRE(ports.at(0).engine->published_round() == 1);
  const http::Answer answer = tools::exporter::answer({"/metrics", {}, ""}, ports, rules, clock);
  run_for(29s);
  CHECK_FALSE(answer.body->is_outdated());
  run_for(2s);
  CHECK(ports.at(0).engine->rounds() == 3);
  CHECK(answer.body->is_outdated());
}

TEST_CASE_METHOD(Bench, "Exporter: a port of --add-port that is not there yet is read when it comes") {
  const tools::exporter::LocalPorts ports = tools::exporter::local_ports(*stack, {"fake1/1"}, {true, false, {}, 0}, {});
  async::TaskGroup group(loop);
  for (const tools::exporter::LocalPort& port : ports) group.spawn(port.engine->run());
  run_for(60s);
  CHECK((ports.at(0).name == "fake0/1" && ports.at(1).name == "fake1/1"));
  CHECK(ports.at(0).engine->is_ready());
  CHECK_FALSE(ports.at(1).engine->is_ready());
  const metrics::PageRules rules({.hcas = true}, {});
  CHECK(tools::exporter::answer({"/-/ready", {}, ""}, ports, rules, clock).status == 503);
  CHECK_THAT(said(), ibtest::contains("fake1/1: ") && ibtest::contains("trying again"));
  add_device("fake1");
  run_for(15s);
  CHECK(ports.at(1).engine->is_ready());
  CHECK(tools::exporter::answer({"/-/ready", {}, ""}, ports, rules, clock).status == 200);
}

TEST_CASE_METHOD(Bench, "Exporter: a named port that is not there is an error where this host has devices, else it is waited for") {
  const auto check = [this](std::optional<std::string> device, std::optional<std::string> port) {
    tools::CommonOptions options = ibtest::without_sa();
    options.device = std::move(device);
    options.port = std::move(port);
    tools::Host here(world, options);
    tools::exporter::check_named_port(here);
  };
  CHECK_NOTHROW(check({}, {}));
  CHECK_NOTHROW(check("fake0", {}));
  CHECK_NOTHROW(check("fake0", "1"));
  CHECK_THROWS_AS(check("fake7", {}), UsageError);
  CHECK_THROWS_AS(check("fake0", "2"), UsageError);
  CHECK_THROWS_AS(check({}, "7"), UsageError);
  world.devices = [] { return sys::DeviceList(); };
  CHECK_NOTHROW(check("fake7", {}));
  CHECK_NOTHROW(check({}, {}));
}

}  // namespace tools_exporter_changes_tests
