// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// phy, modules, firmware and environment on a fabric whose devices answer registers.
#include <nlohmann/json.hpp>

#include "base/split.hpp"
#include "support/catch.hpp"
#include "unit/tools/phy_bench.hpp"

namespace tools_phy_tests {

using namespace ib;
using ibtest::contains;
using ibtest::FakeFabric;
using ibtest::FakeRegisters;
using ibtest::PhyBench;
using ibtest::starts_with;
using nlohmann::json;

TEST_CASE_METHOD(PhyBench, "phy shows the ports of all links, the worst first") {
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

TEST_CASE_METHOD(PhyBench, "phy says of a device without a LID that no GMPs are sent, not that the SA lacks its registers") {
  fabric.node(other).ports.at(1).info.lid = Lid{};
  const auto told = run({"phy", "--skip-sl", "--discovery=DR"});
  CHECK(told.status == 4);
  CHECK_THAT(told.err, contains("'other': No own LID is known: no GMPs are sent.\n") && !contains("The SA "));
}

TEST_CASE_METHOD(PhyBench, "phy of one node shows all of its ports") {
  CHECK(document({"phy", "--skip-sl", "1"})["ports"].size() == 5);
  CHECK(of_other->times() == 0);
}

TEST_CASE_METHOD(PhyBench, "phy --down shows the ports that should be up, with the reason and a remedy, and no empty cage") {
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

TEST_CASE_METHOD(PhyBench, "phy shows and sorts by chosen columns, and refuses others before it reads") {
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

TEST_CASE_METHOD(PhyBench, "modules has one row for both ends of a cable") {
  const std::size_t before = of_other->times();
  run({"modules", "--skip-sl"});
  CHECK(of_other->times() - before == 1 + 2);  // GeneralInfo, the lanes and the module
  const json modules = document({"modules", "--skip-sl"})["modules"];
  REQUIRE(modules.size() == 2);
  CHECK(modules[0]["ends"].size() == 2);
  CHECK(modules[0]["length_meters"] == 3);
  CHECK(modules[1]["ends"].size() == 1);
  const auto text = run({"modules", "--skip-sl"});
  CHECK_THAT(text.out, contains("leaf 2, other 1") && contains("SERIAL-B\\x1b[2J"));
}

TEST_CASE_METHOD(PhyBench, "firmware counts versions by type and PSID, and marks the odd ones") {
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
  CHECK_THAT(text.out, contains("30.0.0000      1  odd") && contains("31.0.0000      2"));
  const json nodes = document({"firmware", "--skip-sl"})["nodes"];
  CHECK(nodes.size() == 4);
  CHECK(nodes[0]["uptime_seconds"] == 86400);
  CHECK(of_leaf->times(reg::Pddr::register_id) == 0);
}

TEST_CASE_METHOD(PhyBench, "environment shows sensors and fans") {
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

TEST_CASE_METHOD(PhyBench, "a silent device makes the result incomplete") {
  of_other->service().faults.silent = true;
  const auto text = run({"phy", "--skip-sl"});
  CHECK(text.status == 4);
  CHECK_THAT(text.err, contains("GeneralInfo") && !contains("IS4GeneralInfo"));
  CHECK_THAT(text.out, contains("leaf"));
}

TEST_CASE_METHOD(PhyBench, "a fabric without such devices says so") {
  for (const auto node : {leaf, other, here}) fabric.node(node).info.vendor_id = 0x1175;
  const auto text = run({"phy", "--skip-sl"});
  CHECK(text.status == 0);
  CHECK_THAT(text.out, starts_with("NODE") && contains("RAW BER"));  // only the headings
  CHECK(std::ranges::count(text.out, '\n') == 1);
  CHECK_THAT(text.err, contains("not NVIDIA's"));
}

TEST_CASE_METHOD(PhyBench, "JSON of phy has all members of a port, and null for what is not known") {
  const json port = document({"phy", "--skip-sl"})["ports"][0];
  for (const char* key : {"node_guid",
                          "node_description",
                          "lid",
                          "port_num",
                          "port_label",
                          "state",
                          "state_text",
                          "phys_state",
                          "phys_state_text",
                          "speed",
                          "speed_text",
                          "width",
                          "width_text",
                          "fec_mode",
                          "fec_mode_text",
                          "raw_ber",
                          "effective_ber",
                          "symbol_ber",
                          "seconds_since_clear",
                          "raw_errors_per_lane",
                          "corrected_blocks",
                          "uncorrectable_blocks",
                          "link_down_events",
                          "link_recovery_events"}) {
    INFO(key);
    CHECK(port.contains(key));
  }
  CHECK(port["peer"] == json({{"node_guid", "0000:0000:0000:0300"}, {"node_description", "other"}, {"port_num", 1}}));
  for (const char* key : {"down_reason", "down_reason_text", "initiator", "initiator_text"}) CHECK(port["last_down"].contains(key));
  for (const char* key : {"code", "code_text", "device_text", "remedy"}) CHECK(port["trouble"].contains(key));
  const json& module = port["module"];
  for (const char* key : {"identifier", "identifier_text", "vendor", "part_number", "hardware_revision", "serial_number", "module_firmware",
                          "length_meters", "temperature_celsius", "voltage_millivolts", "rx_power_dbm", "tx_power_dbm", "bias_milliamperes",
                          "power_low_alarm_dbm", "power_high_alarm_dbm", "temperature_alarm_celsius"}) {
    INFO(key);
    CHECK(module.contains(key));
  }
  CHECK(module["rx_power_dbm"] == nullptr);
  CHECK(module["power_low_alarm_dbm"] == nullptr);
  const json one = document({"modules", "--skip-sl"})["modules"][0];
  for (const auto& [key, value] : module.items()) CHECK(one.at(key) == value);
}

TEST_CASE_METHOD(PhyBench, "the tables of these commands have at most eight columns, and wide ones all") {
  of_leaf->set<reg::Mtcap>(0, "sensor_map", 1U);
  of_leaf->set<reg::Mtmp>(0, "temperature", 40U * 8);
  for (const char* command : {"phy", "phy --down", "modules", "modules --parts", "firmware", "firmware --nodes", "environment"}) {
    INFO(command);
    std::vector<std::string> words;
    for (const std::string_view word : split(command, " ")) words.emplace_back(word);
    words.emplace_back("--skip-sl");
    const auto headings = [&](const char* form) {
      std::vector<std::string> line = words;
      line.insert(line.end(), {"--format", form});
      const std::string out = run(std::move(line)).out;
      return out.substr(0, out.find('\n'));
    };
    const std::string table = headings("table"), wide = headings("wide"), csv = headings("csv");
    CHECK(table == headings("text"));
    CHECK(wide.size() > table.size() - 1);
    std::size_t columns = 1;
    for (std::size_t at = table.find("  "); at != std::string::npos; at = table.find("  ", table.find_first_not_of(' ', at))) ++columns;
    CHECK(columns <= 8);
    CHECK(std::ranges::count(csv, ',') + 1 >= static_cast<std::ptrdiff_t>(columns) - 1);
    CHECK(headings("tsv").find('\t') != std::string::npos);
  }
}

TEST_CASE_METHOD(PhyBench, "phy reads several nodes and ports") {
  const json ports = document({"phy", "--skip-sl", "1@4", "3", "1@2"})["ports"];
  CHECK(ports.size() == 3);
  CHECK(document({"phy", "--skip-sl", "1@4"})["ports"][0]["port_num"] == 4);
  CHECK(document({"phy", "--skip-sl", "1@4", "1@4"})["ports"].size() == 1);
  const auto missing = run({"phy", "--skip-sl", "1@6"});
  CHECK(missing.status == 3);
  CHECK_THAT(missing.err, contains("no port 6") && contains("1 to 5"));
  CHECK(document({"modules", "--skip-sl", "1@4", "3"})["modules"].size() == 2);
  CHECK(document({"firmware", "--skip-sl", "1", "3"})["nodes"].size() == 2);
}

TEST_CASE_METHOD(PhyBench, "phy and its kin read the nodes that a pattern fits") {
  CHECK(document({"firmware", "--skip-sl", "*e*", "leaf"})["nodes"].size() == document({"firmware", "--skip-sl"})["nodes"].size());
  const json ports = document({"phy", "--skip-sl", "le?f/4", "oth*"})["ports"];
  REQUIRE(ports.size() == 2);
  CHECK(ports == document({"phy", "--skip-sl", "leaf@4", "other"})["ports"]);
  const auto none = run({"phy", "--skip-sl", "spine[1-4]"});
  CHECK(none.status == 2);
  CHECK_THAT(none.err, contains("no node's name fits 'spine[1-4]'"));
  CHECK(run({"phy", "--skip-sl", "leaf*@6"}).status == 3);
}

TEST_CASE_METHOD(PhyBench, "phy shows the first rows with --top") {
  const auto text = run({"phy", "--skip-sl", "--columns", "port_num,raw_ber", "--sort=-raw_ber", "--top", "1"});
  CHECK(text.out == "PORT  RAW BER\n   2   0.0003\n");
  CHECK(run({"phy", "--top", "0"}).status == 2);
}

TEST_CASE_METHOD(PhyBench, "modules counts parts, and marks those with another firmware than most") {
  for (unsigned port : {1U, 3U}) module(*of_leaf, port, port == 1 ? "SERIAL-C" : "SERIAL-D");
  for (unsigned port : {1U, 2U, 3U}) of_leaf->set<reg::PddrModule>(port, "fw_version", 0x2e000001U);
  of_leaf->set<reg::PddrModule>(4, "fw_version", 0x2d000001U);
  const json found = document({"modules", "--skip-sl"});
  CHECK(found["modules"].size() == 4);
  CHECK(std::ranges::count(found["modules"], json(true), [](const json& module) { return module["is_odd"]; }) == 1);
  CHECK(found["module_parts"].size() == 2);
  const auto text = run({"modules", "--skip-sl", "--parts"});
  CHECK_THAT(text.out, contains("46.0.1          3\n") && contains("45.0.1          1  odd\n"));
}

TEST_CASE_METHOD(PhyBench, "environment has a row for each sensor and fan in a table, and refuses columns for JSON") {
  of_leaf->set<reg::Mtcap>(0, "sensor_map", 1U);
  of_leaf->set<reg::Mtmp>(0, "temperature", 40U * 8);
  of_leaf->set<reg::Mfcr>(0, "tacho_active", 1U);
  of_leaf->set<reg::Mfsm>(0, "rpm", 9000U);
  of_leaf->add<reg::Fore>(0);
  const auto csv = run({"environment", "--skip-sl", "--format", "csv", "--columns", "sensor,temperature_celsius,rpm,is_below_limit"});
  CHECK(csv.out == "sensor,temperature_celsius,rpm,is_below_limit\r\n\"sensor 0\",40,,\r\n\"fan 0\",,9000,false\r\n");
  for (const char* command : {"environment", "firmware"}) {
    const auto refused = run({command, "--json", "--sort", "sensor"});
    CHECK(refused.status == 2);
  }
}

}  // namespace tools_phy_tests
