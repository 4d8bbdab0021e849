// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// phy, modules, firmware and environment on a fabric whose devices answer registers.
#include <nlohmann/json.hpp>

#include "iba-gen/reg.hpp"
#include "support/catch.hpp"
#include "support/fake_registers.hpp"
#include "support/program.hpp"

namespace tools_phy_tests {

using namespace ib;
using ibtest::contains;
using ibtest::FakeFabric;
using ibtest::FakeRegisters;
using nlohmann::json;

namespace {

/// A switch with this host and two others; the cable of the last is unplugged at the far end, port 4 has an unsupported module, and port 5
/// an empty cage.
struct Bench {
  FakeFabric fabric;
  FakeFabric::NodeId leaf = fabric.add_switch(0x100, 5, "leaf"), here = fabric.add_ca(0x200, 1, "here"),
                     other = fabric.add_ca(0x300, 1, "other");
  FakeRegisters *of_leaf{}, *of_other{};

  Bench() {
    fabric.link(leaf, 1, here, 1);
    fabric.link(leaf, 2, other, 1);
    fabric.assign_lids();
    fabric.attach(here);
    fabric.node(here).info.vendor_id = 0x1175;
    of_leaf = &run_registers(fabric, leaf);
    of_other = &run_registers(fabric, other);
    for (unsigned port = 1; port <= 5; ++port) add_port(*of_leaf, port);
    add_port(*of_other, 1);
    module(*of_leaf, 2, "SERIAL-A");
    module(*of_other, 1, "SERIAL-A");
    module(*of_leaf, 4, "SERIAL-B\x1b[2J");
    of_leaf->set<reg::PddrTroubleshooting>(4, "monitor_opcode", 1029U);
    of_leaf->set<reg::PddrTroubleshooting>(4, "status_message", std::string_view("Unsupported\x1b[2J"));
    of_leaf->set<reg::PddrTroubleshooting>(5, "monitor_opcode", 1024U);
    of_leaf->set<reg::PpcntStatistics>(2, "raw_ber_magnitude", 4U);
    of_leaf->set<reg::PpcntStatistics>(2, "raw_ber_coef", 3U);
    general(*of_leaf, "MT_0000000042", 31);
    general(*of_other, "MT_0000000900", 28);
  }

  static void add_port(FakeRegisters& registers, unsigned port) {
    registers.set<reg::PddrOperation>(port, "fec_mode_active", 4U);
    registers.add<reg::PddrTroubleshooting>(port);
    registers.add<reg::PddrModule>(port);
    registers.set<reg::PddrLinkDown>(port, "local_reason_opcode", 23U);
    registers.set<reg::PpcntPhysical>(port, "link_down_events", 2U);
    registers.set<reg::PpcntStatistics>(port, "raw_ber_magnitude", 9U);
    registers.set<reg::PpcntStatistics>(port, "raw_ber_coef", 5U);
    registers.set<reg::PpcntStatistics>(port, "effective_ber_magnitude", 254U);
    registers.set<reg::PpcntStatistics>(port, "effective_ber_coef", 15U);
  }
  static void module(FakeRegisters& registers, unsigned port, std::string_view serial) {
    registers.set<reg::PddrModule>(port, "vendor_sn", serial);
    registers.set<reg::PddrModule>(port, "vendor_name", std::string_view("Mellanox        "));
    registers.set<reg::PddrModule>(port, "vendor_pn", std::string_view("MFS1S00-H003V"));
    registers.set<reg::PddrModule>(port, "cable_type", 1U);
    registers.set<reg::PddrModule>(port, "cable_length", 3U);
    registers.set<reg::PddrModule>(port, "temperature", 45U * 256);
    registers.set<reg::PddrModule>(port, "monitor_cap_mask", 0x1fU);
  }
  static void general(FakeRegisters& registers, std::string_view psid, unsigned major) {
    std::ranges::copy(psid, registers.general.fw_psid.begin());
    registers.general.ext_major = major;
    registers.general.uptime = 86400;
  }
  ibtest::Outcome run(std::vector<std::string> words) { return ibtest::ibtool(fabric, std::move(words)); }
  json document(std::vector<std::string> words) {
    words.emplace_back("--json");
    return json::parse(run(std::move(words)).out);
  }
};

}  // namespace

TEST_CASE_METHOD(Bench, "phy shows the ports of all links, the worst first") {
  const auto text = run({"phy", "--skip-sl"});
  CHECK(text.status == 0);
  CHECK_THAT(text.out, contains("NODE") && contains("RAW BER"));
  const json ports = document({"phy", "--skip-sl"})["ports"];
  REQUIRE(ports.size() == 3);  // this host's own device answers no registers
  CHECK(ports[0]["node_description"] == "leaf");
  CHECK(ports[0]["port_num"] == 2);
  CHECK(ports[0]["raw_ber"] == Approx(3e-4));
  CHECK(ports[0]["effective_ber"] == 0);
  CHECK(ports[0]["symbol_ber"] == nullptr);
  CHECK(ports[0]["fec_mode_text"] == "quad interleaved RS(544,514)");
  CHECK(ports[0]["peer"]["node_description"] == "other");
  CHECK(ports[0]["module"]["serial_number"] == "SERIAL-A");
  CHECK(ports[0]["module"]["temperature_celsius"] == 45);
  CHECK(ports[0]["module"]["voltage_millivolts"] == nullptr);
  CHECK(ports[1]["module"]["serial_number"].is_null() != ports[2]["module"]["serial_number"].is_null());
}

TEST_CASE_METHOD(Bench, "phy of one node shows all of its ports") {
  CHECK(document({"phy", "--skip-sl", "1"})["ports"].size() == 5);
  CHECK(of_other->times() == 0);
}

TEST_CASE_METHOD(Bench, "phy --down shows the ports that should be up, with the reason and a remedy, and no empty cage") {
  const json ports = document({"phy", "--down", "--skip-sl"})["ports"];
  REQUIRE(ports.size() == 1);
  CHECK(ports[0]["port_num"] == 4);
  CHECK(ports[0]["trouble"]["code"] == 1029);
  CHECK(ports[0]["trouble"]["code_text"] == "unsupported cable or module");
  CHECK(ports[0]["trouble"]["remedy"].is_string());
  CHECK(ports[0]["last_down"]["down_reason_text"] == "cable unplugged");
  const auto text = run({"phy", "--down", "--skip-sl", "--columns", "all"});
  CHECK_THAT(text.out, contains("unsupported cable or module") && contains("Unsupported\\x1b[2J"));
  CHECK(text.out.find('\x1b') == std::string::npos);
}

TEST_CASE_METHOD(Bench, "phy shows and sorts by chosen columns, and refuses others before it reads") {
  const auto text = run({"phy", "--skip-sl", "--columns", "node_description,port_num", "--sort", "port_num"});
  CHECK(text.out == "NODE   PORT\nleaf      1\nother     1\nleaf      2\n");
  of_leaf->asked.clear();
  for (const char* option : {"--columns=nodes", "--sort=prot_num"}) {
    const auto refused = run({"phy", option});
    CHECK(refused.status == 2);
    CHECK(std::ranges::count(refused.err, '\n') == 1);
  }
  CHECK(of_leaf->times() == 0);
  const auto csv = run({"phy", "--down", "--skip-sl", "--format", "csv", "3", "--columns", "port_num,state"});
  CHECK(csv.out == "port_num,state,state_text\r\n");
}

TEST_CASE_METHOD(Bench, "modules has one row for both ends of a cable") {
  const json modules = document({"modules", "--skip-sl"})["modules"];
  REQUIRE(modules.size() == 2);
  CHECK(modules[0]["ends"].size() == 2);
  CHECK(modules[0]["length_meters"] == 3);
  CHECK(modules[1]["ends"].size() == 1);
  const auto text = run({"modules", "--skip-sl"});
  CHECK_THAT(text.out, contains("leaf 2, other 1") && contains("SERIAL-B\\x1b[2J"));
}

TEST_CASE_METHOD(Bench, "firmware counts versions by type and PSID, and marks the odd ones") {
  const auto third = fabric.add_ca(0x400, 1, "third");
  fabric.link(leaf, 3, third, 1);
  fabric.assign_lids();
  general(run_registers(fabric, third), "MT_0000000042", 31);
  const auto fourth = fabric.add_switch(0x500, 2, "fourth");
  fabric.link(leaf, 4, fourth, 1);
  fabric.assign_lids();
  for (const auto node : {leaf, third, fourth}) fabric.node(node).info.device_id = 77;
  general(run_registers(fabric, fourth), "MT_0000000042", 30);
  const auto text = run({"firmware", "--skip-sl"});
  CHECK(text.status == 0);
  CHECK_THAT(text.out, contains("30.0000.0000      1  odd") && contains("31.0000.0000      2"));
  const json nodes = document({"firmware", "--skip-sl"})["nodes"];
  CHECK(nodes.size() == 4);
  CHECK(nodes[0]["uptime_seconds"] == 86400);
  CHECK(of_leaf->times(reg::Pddr::register_id) == 0);
}

TEST_CASE_METHOD(Bench, "environment shows sensors and fans") {
  of_leaf->set<reg::Mtcap>(0, "sensor_map", 1U);
  of_leaf->set<reg::Mtmp>(0, "temperature", 106U * 8);
  of_leaf->set<reg::Mtmp>(0, "temperature_threshold_hi", 105U * 8);
  of_leaf->set<reg::Mfcr>(0, "tacho_active", 1U);
  of_leaf->set<reg::Mfsm>(0, "rpm", 9000U);
  of_leaf->unsupported.insert(reg::Fore::register_id);  // not known, and no fault
  const auto text = run({"environment", "--skip-sl"});
  CHECK(text.status == 0);
  CHECK_THAT(text.out, contains("sensor 0") && contains("hot") && contains("9000"));
  const json nodes = document({"environment", "--skip-sl"})["nodes"];
  REQUIRE(nodes.size() == 1);
  CHECK(nodes[0]["temperatures"][0]["temperature_celsius"] == 106);
  CHECK(nodes[0]["fans"][0]["is_below_limit"] == nullptr);
  CHECK(of_other->times() == 0);
}

TEST_CASE_METHOD(Bench, "a silent device makes the result incomplete") {
  of_other->service().faults.silent = true;
  const auto text = run({"phy", "--skip-sl"});
  CHECK(text.status == 4);
  CHECK_THAT(text.err, contains("GeneralInfo"));
  CHECK_THAT(text.out, contains("leaf"));
}

TEST_CASE_METHOD(Bench, "a fabric without such devices says so") {
  for (const auto node : {leaf, other, here}) fabric.node(node).info.vendor_id = 0x1175;
  const auto text = run({"phy", "--skip-sl"});
  CHECK(text.status == 0);
  CHECK(text.out.empty());
  CHECK_THAT(text.err, contains("not NVIDIA's"));
}

}  // namespace tools_phy_tests
