// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// health on fabrics in memory: verdict and status, one finding a cable, windows of all kinds, and what it costs.
#include <chrono>
#include <fstream>
#include <random>
#include <sstream>

#include "iba-gen/mad.hpp"
#include "tools/shared/fabric.hpp"
#include "unit/tools/health_fabric.hpp"

namespace tools_health_tests {

using namespace ib;
using namespace std::chrono_literals;
using ibtest::contains;
using ibtest::FakeFabric;
using ibtest::ibtool;
using ibtest::Outcome;
using ibtest::starts_with;
using ibtest::health::check;
using ibtest::health::Fabric;
using ibtest::health::Words;
using nlohmann::json;

TEST_CASE("health: the result for a healthy fabric has a few lines") {
  Fabric f;
  const Outcome told = f.run({});
  CHECK_THAT(told.out,
             starts_with("Healthy: nothing found on 2 hosts, 1 switch, 2 cables; watched 10 s.\n10 s without an error prove that a "
                         "link has fewer than 9.4e-12 errors a bit (95 %, 4x QDR); a day proves 1.1e-15.\nNot checked: "));
  CHECK(std::ranges::count(told.out, '\n') <= 5);
  CHECK(told.err.empty());
  const json found = f.found();
  CHECK(found["verdict"] == "healthy");
  CHECK(found["levels"] == json({{"error", 0}, {"warning", 0}, {"info", 0}}));
  CHECK(found["host_count"] == 2);
  CHECK(check(found, "symbol-errors")["check_state"] == "done");
  CHECK(check(found, "fec-mismatch")["check_state"] == "skipped");
}

TEST_CASE("health: what moved at both ends of a cable is one finding, with both ends") {
  Fabric f;
  const auto count = [&f] {
    f.pma.count(2, "symbol_error_counter") += 30;
    f.other_pma.count(1, "port_rcv_errors") += 5;
    f.other_pma.count(1, "port_local_physical_errors") += 5;
  };
  f.clock.happens = count;
  const json found = f.found({}, 1);
  CHECK(found["verdict"] == "findings");
  REQUIRE(found["findings"].size() == 1);
  const json& finding = found["findings"][0];
  CHECK(finding["check"] == "symbol-errors");
  CHECK(finding["level"] == "error");
  CHECK(finding["confidence"] == "sure");
  CHECK(finding["ends"][0]["node_description"] == "leaf");
  CHECK(finding["ends"][0]["port_num"] == 2);
  CHECK(finding["ends"][1]["node_description"] == "other");
  CHECK(finding["ends"][1]["lid"] == 3);
  REQUIRE(finding["evidence"].size() == 3);
  const json& evidence = finding["evidence"][0];
  CHECK(evidence["counter"] == "symbol_error_counter");
  CHECK(evidence["which_end"] == 0);
  CHECK(evidence["value_before"] == 0);
  CHECK(evidence["value_after"] == 30);
  CHECK(evidence["per_second"].get<double>() == Approx(3).epsilon(0.01));
  CHECK(evidence["limit"] == 3);
  CHECK(evidence["provable_error_ratio"].get<double>() == Approx(9.4e-12).epsilon(0.01));
  CHECK(finding["evidence"][1]["check"] == "receive-errors");
  CHECK(finding["evidence"][2]["counter"] == "port_local_physical_errors");

  f.clock.happens = count;
  const Outcome told = f.run({}, 1);
  CHECK_THAT(told.out, starts_with("1 error on 2 hosts, 1 switch, 2 cables; watched 10 s.\n"));
  CHECK_THAT(told.out, contains("\nerror: symbol-errors (sure): 'leaf' 0000:0000:0000:0100 port 2 -- 'other' 0000:0000:0000:0300 port 1\n  "
                                "SymbolErrorCounter +30 (limit 3) in 10 s (3/s)"));
  f.clock.happens = count;
  CHECK(f.found({"--skip", "symbol-errors,receive-errors"})["verdict"] == "healthy");
  f.clock.happens = count;
  CHECK(f.found({"--only", "receive-errors"}, 1)["findings"].size() == 1);
  f.clock.happens = count;
  CHECK(f.found({"--thresholds", f.file("limits", "least_errors=50\n")})["verdict"] == "healthy");
}

TEST_CASE("health: findings as a table") {
  Fabric f;
  const auto run = [&f](const Words& words) {
    f.clock.happens = [&f] { f.pma.count(2, "symbol_error_counter") += 30; };
    return f.run(words, 1);
  };
  const Outcome table = run({"--format", "table"});
  CHECK_THAT(table.out, starts_with("CHECK          LEVEL  TEXT ") && contains("\nsymbol-errors  error  ") && contains("leaf"));
  CHECK(run({"--columns", "check,level", "--format", "csv"}).out == "check,level\r\nsymbol-errors,error\r\n");
  CHECK_THAT(run({"--format", "csv"}).out, starts_with("check,also,level,confidence,text,remedy,provable_error_ratio,ends,evidence\r\n"));
  for (const Words& wrong : {Words{"--columns", "colour"}, Words{"--top", "1", "--json"}, Words{"--format", "table", "--repeat"}})
    CHECK(f.run(wrong, 2).out.find("CHECK ") == std::string::npos);
}

TEST_CASE("health: --interval 0 takes one reading, which judges states") {
  Fabric f;
  f.pma.count(2, "symbol_error_counter") = 30;
  const json found = f.found({"--interval", "0"});
  CHECK(found["verdict"] == "healthy");
  CHECK(found["window_seconds"].is_null());
  CHECK(check(found, "symbol-errors")["check_state"] == "skipped");
  CHECK(f.pma.times(pm::PortCountersExt::attribute_id) == 4);
  f.fabric.node(f.leaf).ports.at(2).info.link_width_active = 1;
  const json slow = f.found({"--interval", "0"}, 1);
  CHECK(slow["findings"][0]["check"] == "link-slow");
  CHECK(slow["findings"][0]["evidence"][0]["field"] == "linkWidthActive");
}

TEST_CASE("health: --fail-on says which findings count") {
  Fabric f;
  const auto count = [&f] { f.pma.count(2, "port_rcv_constraint_errors") += 1; };
  f.clock.happens = count;
  f.run({}, 1);
  f.clock.happens = count;
  const json found = f.found({"--fail-on", "error"});
  CHECK(found["verdict"] == "healthy");
  CHECK(found["levels"]["warning"] == 1);
  f.clock.happens = [&f] { f.pma.count(2, "vl15_dropped") += 1; };
  CHECK(f.found()["verdict"] == "healthy");
  f.clock.happens = [&f] { f.pma.count(2, "vl15_dropped") += 1; };
  f.run({"--fail-on", "info"}, 1);
}

TEST_CASE("health: a snapshot is the first reading, or both are") {
  Fabric f;
  const std::string before = f.directory.file("before"), after = f.directory.file("after");
  REQUIRE(ibtool(f.fabric, {"snapshot", before}).status == 0);
  f.pma.count(2, "symbol_error_counter") += 4000;
  f.clock.advance(24h);
  for (const auto manager : {f.leaf, f.other}) f.fabric.node(manager).sm_info->act_count += 8640;
  const json found = f.found({"--since", before}, 1);
  REQUIRE(found["findings"].size() == 1);
  CHECK(found["findings"][0]["evidence"][0]["delta"] == 4000);
  CHECK(found["window_seconds"].get<double>() == Approx(86400).epsilon(0.01));
  f.pma.count(2, "symbol_error_counter") = 2700;  // fewer than 1e-12 of a day
  CHECK(f.found({"--since", before})["verdict"] == "healthy");
  REQUIRE(ibtool(f.fabric, {"snapshot", after}).status == 0);
  const json both = f.found({"--from", after, "--since", before, "--skip-sl"}, 1);  // a second or less
  INFO(both["findings"].dump(1));
  CHECK(both["findings"].size() == 1);
  CHECK_THAT(f.run({"--from", before, "--since", after, "--skip-sl"}, 2).err, contains("is not older than the snapshot of --from"));
  const json alone = f.found({"--from", after, "--skip-sl"});
  CHECK_THAT(check(alone, "symbol-errors")["reason"].get<std::string>(), contains("--since"));
  CHECK(check(alone, "link-slow")["check_state"] == "done");
  REQUIRE(ibtool(f.fabric, {"snapshot", after, "--only", "lft"}).status == 0);
  CHECK_THAT(f.run({"--since", after}, 2).err, contains("has no counters"));
}

TEST_CASE("health: a silent node is a finding, a silent PMA is a finding of its node, and values without an answer are unknown") {
  Fabric f;
  f.other_pma.service().faults.silent = true;
  const json partial = f.found({"--interval", "1"}, 1);
  CHECK(partial["findings"][0]["check"] == "node-partial");
  CHECK(partial["findings"][0]["ends"][0]["port_num"].is_null());
  CHECK(f.found({"--interval", "1", "--fail-on", "error"}, 4)["verdict"] == "unknown");
  for (ibtest::FakePma* pma : {&f.pma, &f.here_pma}) pma->service().faults.silent = true;
  const json unread = f.found({"--interval", "1", "--only", "symbol-errors"}, 4);
  CHECK(check(unread, "symbol-errors")["check_state"] == "not_read");
  f.fabric.node(f.other).faults.silent = true;
  const json silent = f.found({"--interval", "0", "--only", "node-silent"}, 1);
  CHECK(silent["findings"][0]["ends"][0]["port_num"] == 2);
  CHECK(silent["findings"][0]["ends"][1]["node_guid"].is_null());
}

TEST_CASE("health: a node without a LID, whose counters are wanted twice, is reported once") {
  Fabric f;
  f.fabric.node(f.other).ports.at(1).info.lid = Lid{};
  const Outcome outcome = ibtool(f.fabric, {"health", "--interval", "1"}, {.clock = &f.clock});
  const std::string line = "No own LID is known: no GMPs are sent.";
  INFO(outcome.err);
  REQUIRE_THAT(outcome.err, contains(line));
  CHECK(outcome.err.find(line) == outcome.err.rfind(line));
}

TEST_CASE("health: one node, with its links") {
  Fabric f;
  const auto count = [&f] { f.pma.count(2, "symbol_error_counter") += 30; };
  f.clock.happens = count;
  CHECK(f.found({"3"}, 1)["findings"].size() == 1);
  f.clock.happens = count;
  CHECK(f.found({"2"})["findings"].empty());
}

TEST_CASE("health: managers answer with SMInfo; the role of a manager that refuses is unknown, and the others are reported") {
  Fabric f;
  f.fabric.node(f.leaf).sm_info->sm_state = smp::SMState::standby;
  const json none = f.found({"--interval", "0"}, 1);
  CHECK(none["findings"][0]["check"] == "sm-none");
  f.fabric.node(f.leaf).faults.status = mad::status::unsupported_method_attribute;
  f.fabric.node(f.leaf).faults.status_attribute = smp::SMInfo::attribute_id;
  const json unknown = f.found({"--interval", "0"}, 4);
  CHECK(unknown["verdict"] == "unknown");
  CHECK(check(unknown, "sm-none")["check_state"] == "partly");
  CHECK(check(unknown, "sm-none")["reason"] == "SMInfo of 1 of 2 subnet managers");
  CHECK(check(unknown, "sm-none")["ports_read"] == 1);
  CHECK(check(unknown, "sm-none")["ports_wanted"] == 2);
  f.fabric.node(f.leaf).faults.status = 0;
  f.fabric.node(f.leaf).sm_info->sm_state = smp::SMState::master;
  const std::size_t asked = f.fabric.requests_to(f.here);
  CHECK(f.found({"--interval", "0", "--only", "sm-none"})["verdict"] == "healthy");
  CHECK(f.fabric.requests_to(f.here) - asked < 8);  // no SMInfo of ports that do not say IsSM
}

TEST_CASE("health: a manager that is there and silent is the finding, and no other one is to be started") {
  Fabric f;
  for (const auto id : {f.leaf, f.other})
    f.fabric.node(id).ports[id == f.leaf ? 0 : 1].info.capability_mask &= ~smp::capability_mask::is_sm;
  CHECK(f.found({"--interval", "0", "--only", "sm-none,sm-no-standby"})["findings"][0]["check"] == "sm-no-standby");  // by the SM LID
  f.sa.lie = [](std::uint16_t attribute, std::vector<ibtest::FakeSa::Record>& records) {
    if (attribute != sa::SMInfoRecord::attribute_id) return;
    sa::SMInfoRecord record;
    record.lid = Lid{3};
    record.sm_info.sm_state = smp::SMState::standby;
    ibtest::FakeSa::Record bytes(sa::SMInfoRecord::info().bytes);
    record.pack(bytes);
    records.push_back(bytes);
  };
  CHECK(f.found({"--interval", "0"})["findings"].empty());  // the standby is known by the SA's record
  f.fabric.node(f.other).faults.ignores = smp::SMInfo::attribute_id;
  const json standby = f.found({"--interval", "0"}, 1);
  REQUIRE(standby["findings"].size() == 1);
  CHECK(standby["findings"][0]["check"] == "sm-silent");
  CHECK(standby["findings"][0]["level"] == "warning");
  f.fabric.node(f.leaf).faults.ignores = smp::SMInfo::attribute_id;
  f.sa.silent = true;
  const json hung = f.found({"--interval", "1"}, 1);
  REQUIRE(hung["findings"].size() == 1);
  CHECK(hung["findings"][0]["check"] == "sm-silent");
  CHECK(hung["findings"][0]["level"] == "error");
  CHECK(hung["findings"][0]["ends"][0]["lid"] == 1);
  CHECK_THAT(hung["findings"][0]["remedy"].get<std::string>(), contains("restart that one"));
  CHECK_THAT(hung["findings"][0]["text"].get<std::string>(), contains("its subnet administrator does not answer either"));
  const std::string file = f.directory.file("hung");
  REQUIRE(ibtool(f.fabric, {"snapshot", file}).status == 4);
  CHECK(f.found({"--from", file}, 1)["findings"][0]["text"] == hung["findings"][0]["text"]);
}

TEST_CASE("health: a manager that hangs is waited for while the window passes") {
  Fabric f;
  const auto waited = [&f](int status) {
    const auto begin = f.clock.now();
    f.found({"--interval", "20"}, status);
    return f.clock.now() - begin;
  };
  const auto answered = waited(0);
  f.fabric.node(f.leaf).faults.ignores = smp::SMInfo::attribute_id;
  CHECK(waited(1) == answered);
}

TEST_CASE("health: a manager that does nothing for two minutes is stuck") {
  Fabric f;
  f.fabric.node(f.other).sm_info->act_count = 7;
  f.clock.happens = [&f] { f.fabric.node(f.leaf).sm_info->act_count += 50; };
  const json found = f.found({"--interval", "120"}, 1);
  REQUIRE(found["findings"].size() == 1);
  CHECK(found["findings"][0]["check"] == "sm-stuck");
  CHECK(found["findings"][0]["ends"][0]["lid"] == 3);
  CHECK(found["findings"][0]["evidence"][0]["value_before"] == 7);
  CHECK(check(f.found({"--interval", "60"}), "sm-stuck")["reason"] == "needs a window of 120 s");
  const std::string before = f.directory.file("before");
  REQUIRE(ibtool(f.fabric, {"snapshot", before}).status == 0);
  f.clock.advance(24h);
  CHECK(f.found({"--since", before}, 1)["findings"].size() == 2);
}

TEST_CASE("health: managers at ports with one GUID are not compared with what one of them had done") {
  Fabric f;
  const auto twin = f.fabric.add_ca(0x300, 1, "twin");
  f.fabric.link(f.leaf, 3, twin, 1);
  f.fabric.assign_lids();
  f.fabric.attach(f.here);
  f.manage(twin, 1, smp::SMState::standby, 4);
  f.clock.happens = [&f] { f.fabric.node(f.leaf).sm_info->act_count += 50; };
  const json found = f.found({"--interval", "120"}, 1);
  CHECK(check(found, "sm-stuck")["check_state"] == "done");
  CHECK(check(found, "sm-stuck")["finding_count"] == 0);
}

TEST_CASE("health: each of two ports of a host has its own P_Keys") {
  Fabric f;
  const auto dual = f.fabric.add_ca(0x400, 2, "dual");
  for (const unsigned port : {1U, 2U}) {
    f.fabric.link(f.leaf, 2 + port, dual, port);
    f.fabric.node(f.leaf).ports.at(2 + port).info.partition_enforcement_inbound = 1;
  }
  f.fabric.assign_lids();
  f.fabric.node(f.leaf).switch_info.partition_enforcement_cap = 32;
  f.fabric.node(dual).ports.at(2).pkeys = {0x8005, 0xffff};
  const json found = f.found({"--interval", "0", "--only", "pkey-mismatch"}, 1);
  REQUIRE(found["findings"].size() == 1);
  CHECK(found["findings"][0]["ends"].dump().find("\"port_num\":2") != std::string::npos);
  CHECK(found["findings"][0]["ends"].dump().find("\"port_num\":1") == std::string::npos);
}

TEST_CASE("health: P_Keys of a host and of the port that enforces them") {
  Fabric f;
  auto& gate = f.fabric.node(f.leaf).ports.at(2);
  f.fabric.node(f.other).ports.at(1).pkeys = {0x8005, 0xffff};
  CHECK(f.found({"--interval", "0"})["verdict"] == "healthy");  // it does not enforce its table
  gate.info.partition_enforcement_inbound = 1;
  f.fabric.node(f.leaf).switch_info.partition_enforcement_cap = 32;
  const json found = f.found({"--interval", "0"}, 1);
  REQUIRE(found["findings"].size() == 1);
  CHECK(found["findings"][0]["check"] == "pkey-mismatch");
  CHECK(found["findings"][0]["ends"][1]["lid"] == 3);
  gate.pkeys.push_back(0x8005);
  CHECK(f.found({"--interval", "0"})["verdict"] == "healthy");
  f.fabric.node(f.other).info.partition_cap = 65535;  // it fills all blocks
  f.fabric.node(f.other).ports.at(1).pkeys.assign(65535, 0x8006);
  const std::size_t before = f.fabric.requests_to(f.other);
  const json liar = f.found({"--interval", "0", "--only", "pkey-mismatch"}, 4);
  CHECK(check(liar, "pkey-mismatch")["check_state"] == "partly");
  CHECK_THAT(check(liar, "pkey-mismatch")["reason"].get<std::string>(), ibtest::starts_with("P_Keys of "));
  CHECK(f.fabric.requests_to(f.other) - before < 20);
}

TEST_CASE("health: FEC modes differ, and blocks that FEC could not correct") {
  for (const bool is_rs : {true, false}) {
    Fabric f;
    const smp::FecMode mode = is_rs ? smp::FecMode::rs_fec : smp::FecMode::fire_code;
    for (const auto& [id, port] : {std::pair{f.leaf, 2U}, {f.other, 1U}}) {
      auto& of = f.fabric.node(id).ports.at(f.fabric.node(id).is_switch() ? 0 : port).info;
      of.capability_mask |= smp::capability_mask::is_capability_mask2_supported;
      of.capability_mask2 |= smp::capability_mask2::is_port_info_extended_supported;
      smp::PortInfoExtended& extended = f.fabric.node(id).ports.at(port).extended.emplace();
      extended.capability_mask = smp::port_info_extended_capability::is_fec_mode_supported;
      extended.fec_mode_active = mode;
    }
    const json without = f.found({"--interval", "1"});
    CHECK(check(without, "fec-mismatch")["check_state"] == "done");
    CHECK(check(without, "fec-uncorrectable")["check_state"] == "skipped");
    CHECK(f.pma.times(pm::PortExtendedSpeedsCounters::attribute_id) == 0);
    f.pma.capability_mask |= pm::capability_mask::rs_fec_counters_supported;
    f.pma.rs_fec = is_rs;
    const char* counter = is_rs ? "port_fec_uncorrectable_block_ctr" : "fec_uncorrectable_block_ctr_lane";
    f.pma.count(2, counter) = 9;  // of another time
    CHECK(check(f.found(), "fec-uncorrectable")["check_state"] == "done");
    f.clock.happens = [&f, counter, is_rs] { f.pma.count(2, counter, is_rs ? 0 : 3) += 2; };
    const json found = f.found({}, 1);
    REQUIRE(found["findings"].size() == 1);
    CHECK(found["findings"][0]["check"] == "fec-uncorrectable");
    CHECK(found["findings"][0]["evidence"][0]["counter"] == counter);
    CHECK(found["findings"][0]["evidence"][0]["delta"] == 2);
    f.fabric.node(f.other).ports.at(1).extended->fec_mode_active = smp::FecMode::none;
    CHECK(f.found({"--interval", "0"}, 1)["findings"][0]["check"] == "fec-mismatch");
  }
}

TEST_CASE("health: routes with --routes, or from a snapshot that has them") {
  Fabric f;
  CHECK(check(f.found({"--interval", "0"}), "routes")["reason"] == "needs --routes");
  CHECK(check(f.found({"--interval", "0", "--routes"}), "routes")["check_state"] == "done");
  f.fabric.node(f.leaf).lft.at(3) = 255;
  CHECK(f.found({"--interval", "0", "--routes", "--skip-sl", "--skip", "multicast-rate,way-broken"}, 1)["findings"][0]["check"] ==
        "routes");
  const std::string file = f.directory.file("routes");
  f.fabric.node(f.leaf).lft.at(3) = 4;  // a port without a link
  REQUIRE(ibtool(f.fabric, {"snapshot", file, "--only", "lft"}).status == 0);
  const json stored = f.found({"--from", file}, 1);
  CHECK(stored["findings"][0]["check"] == "routes");
  CHECK(stored["findings"][0]["ends"][0]["port_num"] == 4);
}

TEST_CASE("health: a silent subnet administrator gets one request, and what its records would have is unknown") {
  Fabric f;
  f.sa.silent = true;
  const json found = f.found({"--interval", "1"}, 1);
  REQUIRE(found["findings"].size() == 1);
  CHECK(found["findings"][0]["check"] == "sa-silent");
  CHECK(check(found, "multicast-rate")["check_state"] == "not_read");
  CHECK(check(found, "multicast-rate")["reason"] == "the subnet administrator does not answer");
  CHECK(std::ranges::all_of(f.sa.asked, [](const auto& query) { return query.attribute == sa::PathRecord::attribute_id; }));
  CHECK(f.found({"--only", "multicast-rate"}, 4)["verdict"] == "unknown");
  f.sa.silent = false;
  f.sa.asked.clear();
  CHECK(f.found({"--interval", "1"})["verdict"] == "healthy");
  CHECK(f.sa.asked.size() == 3);  // paths once for both readings, subnet managers, groups
}

TEST_CASE("health: the first line counts what was looked at; infos take one line") {
  Fabric f;
  CHECK_THAT(f.run({"3"}).out, starts_with("Healthy: nothing found on 1 host, 0 switches, 1 cable; "));
  CHECK(f.found({"3"})["link_count"] == 1);
  CHECK_THAT(f.run({"--nodes", "here,other"}).out, starts_with("Healthy: nothing found on 2 hosts, 1 switch, 2 cables; "));
  f.clock.happens = [&f] { f.pma.count(2, "vl15_dropped") += 1; };
  const Outcome told = f.run({});
  CHECK_THAT(told.out, contains("\ninfo: vl15-dropped (sure): 'leaf' 0000:0000:0000:0100 port 2 -- 'other' 0000:0000:0000:0300 port 1: "
                                "VL15Dropped +1 (limit 1) in 10 s (0.1/s)\nNot checked: "));
  f.clock.happens = [&f] { f.pma.count(2, "vl15_dropped") += 1; };
  CHECK_THAT(f.run({"-v"}).out, contains("port 1\n  VL15Dropped +1"));
}

TEST_CASE("health: JSON has the port of a cable, not the port of a subnet manager, and the ratio that a finding proves") {
  Fabric f;
  f.fabric.node(f.other).sm_info->priority = 9;
  f.clock.happens = [&f] { f.pma.count(2, "symbol_error_counter") += 30; };
  const json found = f.found({}, 1);
  REQUIRE(found["findings"].size() == 2);
  CHECK(found["findings"][0]["provable_error_ratio"].get<double>() == Approx(9.4e-12).epsilon(0.01));
  const json& manager = found["findings"][1];
  CHECK(manager["check"] == "sm-not-best");
  CHECK(manager["provable_error_ratio"].is_null());
  CHECK(manager["ends"][1]["port_num"].is_null());
  CHECK(manager["ends"][1]["lid"] == 3);
}

TEST_CASE("health: what a node invents brings nothing down") {
  Fabric f;
  std::mt19937 random(28);
  for (unsigned round = 0; round < 20; ++round) {
    f.fabric.node(f.other).faults.lie = [&random](ibtest::FakeFabric::Answer& answer) {
      const auto id = mad::HeaderView(answer).attribute_id();
      if (id != smp::SMInfo::attribute_id && id != smp::PKeyTable::attribute_id && id != smp::NodeDescription::attribute_id) return;
      for (std::size_t at = 64; at < 128; ++at) answer[at] = static_cast<std::uint8_t>(random());
    };
    const Outcome told = ibtool(f.fabric, {"health", "--interval", "0"}, {.clock = &f.clock});
    CHECK((told.status == 0 || told.status == 1 || told.status == 4));
    CHECK(std::ranges::none_of(told.out, [](char c) { return c == '\x1b'; }));
  }
}

TEST_CASE("health: wrong words") {
  Fabric f;
  CHECK_THAT(f.run({"--only", "link-slwo"}, 2).err, contains("did you mean link-slow?"));
  CHECK_THAT(f.run({"--skip", ""}, 2).err, contains("no check is named"));
  CHECK_THAT(f.run({"--interval", "-1"}, 2).err, contains("--interval"));
  CHECK_THAT(f.run({"--fail-on", "fatal"}, 2).err, contains("fatal"));
  CHECK_THAT(f.run({"--interval", "3", "--since", "file"}, 2).err, contains("--since"));
  CHECK_THAT(f.run({"--thresholds", f.file("wrong", "events\n")}, 2).err, contains("wrong:1: not a line NAME=NUMBER"));
  CHECK(f.run({"--since", "/nowhere/a"}, 2).out.empty());
}

}  // namespace tools_health_tests
