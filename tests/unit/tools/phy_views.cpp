// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// What phy shows besides its table of links, and what it keeps: lanes, bins, windows, planes, snapshots, raw MADs.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <vector>

#include "base/escape.hpp"
#include "support/catch.hpp"
#include "support/temporary_directory.hpp"
#include "tools/frame/terminal.hpp"
#include "tools/shared/table_options.hpp"
#include "unit/tools/phy_bench.hpp"

namespace tools_phy_views_tests {

using namespace ib;
using ibtest::contains;
using ibtest::FakeFabric;
using ibtest::PhyBench;
using nlohmann::json;

TEST_CASE_METHOD(PhyBench, "phy --lanes has a row for each lane in a table, and a list in JSON") {
  of_leaf->set<reg::PddrOperation>(2, "link_width_active", 2U);  // 2x
  of_leaf->set<reg::PpcntStatistics>(2, "phy_raw_errors_lane[1]", 77U);
  of_leaf->set<reg::PpcntStatistics>(2, "raw_ber_lane[1].magnitude", 5U);
  of_leaf->set<reg::PpcntStatistics>(2, "raw_ber_lane[1].coefficient", 2U);
  of_leaf->set<reg::PddrModule>(2, "rx_power[1]", static_cast<std::uint64_t>(0xfffdU));  // -3 dBm
  const auto csv = run({"phy", "--skip-sl", "1@2", "--lanes", "--format", "csv", "--columns", "port_num,lane,raw_ber,raw_errors,rx_dbm"});
  CHECK(csv.out == "port_num,lane,raw_ber,raw_errors,rx_dbm\r\n2,0,,0,0\r\n2,1,0.00002,77,-3\r\n");
  CHECK_THAT(run({"phy", "--skip-sl", "1@2", "--lanes"}).out, contains("LANE") && contains("BIAS MA"));
  const json lanes = document({"phy", "--skip-sl", "1@2", "--lanes"})["ports"][0]["lanes"];
  CHECK(lanes == json::parse(R"([{"lane": 0, "raw_ber": null, "raw_errors": 0}, {"lane": 1, "raw_ber": 2e-05, "raw_errors": 77}])"));
  CHECK(!document({"phy", "--skip-sl", "1@2"})["ports"][0].contains("lanes"));
  CHECK(run({"phy", "--lanes", "--json", "--sort", "lane"}).status == 2);
  CHECK(run({"phy", "--lanes", "--histogram"}).status == 2);
}

TEST_CASE_METHOD(PhyBench, "phy --histogram shows the bins as bars, and as a list in JSON") {
  of_leaf->set<reg::Pphcr>(2, "num_of_bins", 3U);
  of_leaf->set<reg::Pphcr>(2, "bin_range[1].low_val", 1U);
  of_leaf->set<reg::Pphcr>(2, "bin_range[1].high_val", 1U);
  of_leaf->set<reg::Pphcr>(2, "bin_range[2].low_val", 2U);
  of_leaf->set<reg::Pphcr>(2, "bin_range[2].high_val", 4U);
  of_leaf->set<reg::PpcntFecHistogram>(2, "hist[0]", 1023U);
  of_leaf->set<reg::PpcntFecHistogram>(2, "hist[1]", 1U);
  const auto text = run({"phy", "--skip-sl", "1@2", "--histogram"});
  CHECK(text.out ==
        "NODE  PORT  FROM  TO  BLOCKS\n"
        "leaf     2     0   0    1023  ##############################\n"
        "leaf     2     1   1       1  ###\n"
        "leaf     2     2   4       0\n");
  const json bins = document({"phy", "--skip-sl", "1@2", "--histogram"})["ports"][0]["fec_histogram"];
  REQUIRE(bins.size() == 3);
  CHECK(bins[2] == json({{"low_errors", 2}, {"high_errors", 4}, {"count", 0}}));
  const json none = document({"phy", "--skip-sl", "3", "--histogram"})["ports"][0]["fec_histogram"];
  CHECK(none == nullptr);
}

TEST_CASE_METHOD(PhyBench, "phy --interval shows what was counted between two readings") {
  unsigned readings = 0;
  auto& answer = fabric.node(leaf).services[ibtest::vendor_class].answer;
  answer = [&, usual = answer](unsigned port, Bytes request) {
    const bool is_statistics = request[24 + 12 + 3] == 0x16 && load_be<std::uint32_t>(&request[20]) == reg::Ppcnt::register_id;
    if (is_statistics) {
      ++readings;
      of_leaf->set<reg::PpcntStatistics>(2, "time_since_last_clear", 4000U * readings);
      of_leaf->set<reg::PpcntStatistics>(2, "phy_received_bits", 1000000U * readings);
      of_leaf->set<reg::PpcntStatistics>(2, "phy_raw_errors_lane[0]", 100U * readings);
      of_leaf->set<reg::PpcntPhysical>(2, "rs_fec_corrected_blocks", 8U * readings);
    }
    return usual(port, request);
  };
  const json found = document({"phy", "--skip-sl", "1@2", "--interval", "5", "--count", "2"})["readings"];
  REQUIRE(found.size() == 2);
  CHECK(found[0]["ports"][0]["window"]["raw_ber"] == nullptr);
  const json window = found[1]["ports"][0]["window"];
  CHECK(window["window_seconds"] == 4);
  CHECK(window["raw_ber"] == Approx(1e-4));
  CHECK(window["raw_errors_per_second"] == 25);
  CHECK(window["link_downs"] == 0);
  const auto text = run({"phy", "--skip-sl", "1@2", "--interval", "5", "--count", "2", "--columns", "port_num,window.raw_ber"});
  CHECK_THAT(text.out, contains("PORT  RAW BER\n   2   0.0001\n"));
  CHECK(run({"phy", "--count", "2"}).status == 2);
  CHECK(run({"phy", "--interval", "1", "--down"}).status == 2);
}

TEST_CASE_METHOD(PhyBench, "phy --planes has a row for the port and one for each plane") {
  fabric.node(leaf).faults.lie = [](FakeFabric::Answer& answer) {
    const auto attribute = load_be<std::uint16_t>(&answer[16]);
    if (answer[1] != 1 && answer[1] != 0x81) return;
    if (attribute != smp::MlnxGeneralCapabilities::attribute_id && attribute != smp::MlnxExtNodeInfo::attribute_id) return;
    store_be<std::uint16_t>(&answer[4], static_cast<std::uint16_t>(load_be<std::uint16_t>(&answer[4]) & 0x8000U));
    std::fill_n(answer.begin() + 64, 64, std::uint8_t{0});
    if (attribute == smp::MlnxExtNodeInfo::attribute_id) {
      answer[64 + 19] = 2;
    } else {
      answer[64 + 2] = 0x20;  // IsExtendedNodeInfoSupported
    }
  };
  const json ports = document({"phy", "--skip-sl", "--planes"})["ports"];
  REQUIRE(ports.size() == 7);
  std::vector<int> planes;
  for (const json& port : ports) {
    if (port["node_description"] == "leaf" && port["port_num"] == 2) planes.push_back(port["plane"]);
  }
  CHECK(planes == std::vector{0, 1, 2});
  CHECK(document({"phy", "--skip-sl"})["ports"][0]["plane"] == nullptr);
  const auto text = run({"phy", "--skip-sl", "--planes", "1@2", "--columns", "port_num,plane"});
  CHECK(text.out == "PORT  PLANE\n   2      0\n   2      1\n   2      2\n");
}

TEST_CASE_METHOD(PhyBench, "phy --down --baseline shows ports that had a link, and to what") {
  const ibtest::TemporaryDirectory dir;
  const std::string before = dir.file("before");
  REQUIRE(run({"snapshot", before, "--only", "topology"}).status == 0);
  fabric.node(leaf).ports.at(2).up = false;
  const json ports = document({"phy", "--down", "--skip-sl", "1", "--baseline", before})["ports"];
  REQUIRE(ports.size() == 2);
  CHECK(ports[0]["port_num"] == 2);
  CHECK(ports[0]["former_peer"] == json({{"node_guid", "0000:0000:0000:0300"}, {"node_description", "other"}, {"port_num", 1}}));
  CHECK(ports[1]["former_peer"]["port_num"] == nullptr);
  const auto text = run({"phy", "--down", "--skip-sl", "1", "--baseline", before});
  CHECK_THAT(text.out, contains("WAS LINKED TO") && contains("1029") && contains("Unsupported"));
  CHECK(run({"phy", "--baseline", before}).status == 2);
  CHECK(run({"phy", "--down", "--baseline", dir.file("nothing")}).status == 2);
}

TEST_CASE_METHOD(PhyBench, "a snapshot with registers answers the four commands, and one without says which part would") {
  for (unsigned port = 1; port <= 5; ++port) {
    of_leaf->set<reg::Pphcr>(port, "num_of_bins", 1U);
    of_leaf->set<reg::PpcntFecHistogram>(port, "hist[0]", 9U);
  }
  of_other->add<reg::Pphcr>(1);
  of_other->add<reg::PpcntFecHistogram>(1);
  of_leaf->set<reg::Mtcap>(0, "sensor_map", 1U);
  of_leaf->set<reg::Mtmp>(0, "temperature", 40U * 8);
  of_leaf->add<reg::Mfcr>(0);
  of_leaf->unsupported.insert(reg::Fore::register_id);
  for (auto* agent : {of_leaf, of_other}) agent->add<reg::Mtcap>(0);
  of_leaf->set<reg::Mtcap>(0, "sensor_map", 1U);
  of_other->add<reg::Mfcr>(0);
  const ibtest::TemporaryDirectory dir;
  const std::string with = dir.file("with"), without = dir.file("without");
  REQUIRE(run({"snapshot", with, "--only", "topology,phy"}).status == 0);
  REQUIRE(run({"snapshot", without}).status != 3);
  for (const std::vector<std::string>& words : std::vector<std::vector<std::string>>{{"phy"},
                                                                                     {"phy", "--down"},
                                                                                     {"phy", "--histogram"},
                                                                                     {"phy", "--planes"},
                                                                                     {"phy", "1@4"},
                                                                                     {"modules"},
                                                                                     {"environment"},
                                                                                     {"firmware"}}) {
    INFO(words[0] << (words.size() > 1 ? words[1] : ""));
    std::vector<std::string> live = words, stored = words;
    live.insert(live.end(), {"--skip-sl", "--json"});
    stored.insert(stored.end(), {"--from", with, "--json"});
    const auto now = run(std::move(live)), then = run(std::move(stored));
    CHECK(now.out == then.out);
    CHECK(then.status == 0);
  }
  of_leaf->asked.clear();
  for (const char* command : {"phy", "modules", "environment", "firmware"}) {
    const auto refused = run({command, "--from", without});
    CHECK(refused.status == 3);
    CHECK_THAT(refused.err, contains("part 'phy'"));
    CHECK(std::ranges::count(refused.err, '\n') <= 2);
  }
  CHECK(run({"phy", "--from", with, "--interval", "1"}).status == 2);
  CHECK(of_leaf->asked.empty());
  CHECK(run({"snapshot", dir.file("more"), "--also", "phy", "--skip", "details"}).status != 3);
  CHECK(run({"modules", "--from", dir.file("more")}).status == 0);
}

TEST_CASE_METHOD(PhyBench, "phy --raw keeps the MADs of the run without a GUID, a name or a serial number") {
  const std::string message = "leaf 0x5ad0000000700300 SERIAL-A";
  for (const auto node : {leaf, here, other}) fabric.node(node).info.node_guid = Guid{std::uint64_t{0x5ad0000000700300} + node};
  of_leaf->set<reg::PddrTroubleshooting>(2, "status_message", std::string_view(message));
  of_leaf->set<reg::PpcntPhysical>(2, "rs_fec_corrected_blocks", std::uint64_t{0x5ad0000000700300});  // a GUID by chance
  of_leaf->set<reg::PpcntPhysical>(2, "rs_fec_uncorrectable_blocks", std::uint64_t{0x1122334455});
  const ibtest::TemporaryDirectory dir;
  const std::string file = dir.file("raw");
  const auto done = run({"phy", "--skip-sl", "--raw", file});
  CHECK(done.status == 0);
  std::ifstream in(file);
  const std::string text(std::istreambuf_iterator<char>(in), {});
  const auto hex = [](std::string_view word) { return hex_text(Bytes(reinterpret_cast<const std::uint8_t*>(word.data()), word.size())); };
  for (const std::string_view word : {"leaf", "other", "here", "SERIAL-A", "SERIAL-B", "5ad000000070030"}) {
    INFO(word);
    CHECK(text.find(word) == std::string::npos);
    CHECK(text.find(hex(word)) == std::string::npos);
  }
  CHECK(text.find("1122334455") != std::string::npos);
  CHECK(text.find(hex("Mellanox")) != std::string::npos);
  CHECK(text.find(hex("MT_0000000900")) != std::string::npos);
  const std::string stands_in = hex("X0000");
  std::size_t places = 0;
  for (std::size_t at = text.find(stands_in); at != std::string::npos; at = text.find(stands_in, at + 1)) ++places;
  CHECK(places == 2 + 3);  // both ends of the one cable, and the descriptions of three nodes
  const auto count = [&text](std::string_view word) {
    std::size_t times = 0;
    for (std::size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) ++times;
    return times;
  };
  CHECK(count(" 010a01") == 2 * (of_leaf->times() + of_other->times()));
  CHECK(count(" 018101") >= 2 * 3 * 2);  // NodeInfo and NodeDescription of three nodes, and the answers
  CHECK(count("# node ") == 3);
  CHECK(count("\n> 0 ") == 0);  // it is known to which node each went
  CHECK(run({"phy", "--raw", dir.file("no/such")}).status != 0);
  CHECK(run({"phy", "--raw", file, "--interval", "1"}).status == 2);
}

TEST_CASE_METHOD(PhyBench, "-v shows the bytes of what cannot be, and says what could") {
  of_leaf->set<reg::PddrModule>(2, "temperature", 0x8200U);  // -126 C
  of_leaf->set<reg::PddrModule>(2, "rx_power[1]", 0xfc19U);  // -999 dBm
  of_leaf->set<reg::PpcntStatistics>(2, "symbol_ber_magnitude", 100U);
  const auto silent = run({"phy", "--skip-sl", "1@2", "--json"}), verbose = run({"phy", "--skip-sl", "1@2", "--json", "-v"});
  CHECK(silent.out == verbose.out);
  CHECK(json::parse(silent.out)["ports"][0]["module"]["temperature_celsius"] == nullptr);
  CHECK(silent.err.find("not known") == std::string::npos);
  CHECK_THAT(verbose.err,
             contains("'leaf' port 2: module.temperature_celsius is not known: the register has 0x8200, not from -50 to 130 C (SFF-8472"));
  CHECK_THAT(verbose.err, contains("'leaf' port 2: module.rx_power_dbm[1] is not known: the register has 0xfc19, not from -40 to 20 dBm"));
  CHECK_THAT(verbose.err, contains("symbol_ber is not known: the register has coefficient 0x00, magnitude 0x64, not from 0 to 40 ("));
  of_leaf->set<reg::Mtcap>(0, "sensor_map", 1U);
  of_leaf->set<reg::Mtmp>(0, "temperature", 200U * 8);
  CHECK_THAT(run({"environment", "--skip-sl", "-v"}).err,
             contains("'leaf': sensor 0: temperature_celsius is not known: the register has 0x0640,"));
}

TEST_CASE_METHOD(PhyBench,
                 "vendstat gives a protected device its VS_Key, found by the GUID of the port, once the device has said who it is") {
  of_other->vs_key = 0x1122334455667788;
  fabric.node(other).ports.at(1).info.capability_mask |= smp::capability_mask::is_vendor_class_supported;
  const ibtest::TemporaryDirectory dir;
  const std::string file = dir.file("guid2vskey");
  std::ofstream(file) << fmt::format("0x{:016x} 0x1122334455667788\n", fabric.port_guid(other, 1).value);
  const auto done = run({"vendstat", "-N", "3", "--skip-sl", "-dd", "--vskey", file});
  CHECK(done.status == 0);
  CHECK_THAT(done.out, contains("28"));
  for (const std::string& text : {done.out, done.err}) {
    CHECK(text.find("1122334455667788") == std::string::npos);
    CHECK(text.find("11223344 55667788") == std::string::npos);
  }
  CHECK(run({"vendstat", "-N", "3", "--skip-sl", "--retries", "0"}).status == 3);
  CHECK(run({"vendstat", "--cpi", "3", "--vskey", file}).status == 2);
  CHECK(run({"vendstat", "-N", "3", "--vskey", "0x1122334455667788"}).status == 2);
  CHECK(run({"query", "VendGet", "PDDRModule", "3", "--skip-sl", "--field", "local_port=1,pnat=1", "--vskey", file}).status == 0);
}

TEST_CASE_METHOD(PhyBench, "a snapshot has the registers of a protected device, by its VS_Key, which it does not keep") {
  of_other->vs_key = 0x1122334455667788;
  const ibtest::TemporaryDirectory dir;
  const std::string keys = dir.file("guid2vskey"), file = dir.file("snapshot");
  std::ofstream(keys) << "0x0000000000000300 0x1122334455667788\n";
  const auto ratio = [&](std::vector<std::string> words) {
    words.insert(words.end(), {"--from", file, "--json", "other"});
    words.insert(words.begin(), "phy");
    return json::parse(run(std::move(words)).out)["ports"][0]["raw_ber"];
  };
  of_leaf->unsupported = of_other->unsupported = {reg::Pphcr::register_id};
  for (unsigned port = 1; port <= 5; ++port) of_leaf->add<reg::PpcntFecHistogram>(port);
  of_other->add<reg::PpcntFecHistogram>(1);
  for (ibtest::FakeRegisters* const registers : {of_leaf, of_other}) {
    registers->add<reg::Mtcap>(0);
    registers->add<reg::Msgi>(0);
  }
  of_leaf->add<reg::Mfcr>(0);
  REQUIRE(run({"snapshot", file, "--only", "phy", "--skip-sl", "--vskey", keys}).err == "");
  CHECK(ratio({}) == Approx(5e-9));
  CHECK(ratio({"--vskey", keys}) == Approx(5e-9));
  std::ifstream stored(file);
  const std::string bytes{std::istreambuf_iterator<char>(stored), {}};
  CHECK(bytes.size() > 1000);
  CHECK(bytes.find("\x11\x22\x33\x44\x55\x66\x77\x88") == std::string::npos);
  CHECK(run({"snapshot", file, "--vskey", keys}).status == 2);
}

TEST_CASE_METHOD(PhyBench, "an answer with another register is refused live and in a snapshot") {
  of_other->answers_instead = reg::Mtmp::register_id;
  of_leaf->wrong_port = true;
  const ibtest::TemporaryDirectory dir;
  const std::string file = dir.file("one");
  run({"snapshot", file, "--only", "topology,phy"});
  for (const std::string command : {"phy", "modules", "environment"}) {
    INFO(command);
    const auto live = run({command, "--skip-sl", "--json"}), stored = run({command, "--from", file, "--json"});
    CHECK(live.out == stored.out);
    CHECK(live.status == stored.status);
    CHECK_THAT(stored.out, !contains("SERIAL-A"));
  }
  const auto live = run({"phy", "--skip-sl"}), stored = run({"phy", "--from", file});
  CHECK(live.out == stored.out);
  CHECK(live.err == stored.err);
}

TEST_CASE_METHOD(PhyBench, "health --phy is answered by a snapshot with registers; of one without it says that it has none") {
  of_leaf->set<reg::PddrModule>(2, "temperature", 80U * 256);
  of_leaf->set<reg::PddrModule>(2, "temperature_high_th", 70U * 256);
  const ibtest::TemporaryDirectory dir;
  const std::string with = dir.file("with"), without = dir.file("without");
  REQUIRE(run({"snapshot", with, "--only", "topology,phy"}).status != 3);
  REQUIRE(run({"snapshot", without, "--only", "topology"}).status != 3);
  const json found = document({"health", "--phy", "--from", with, "--only", "module-temperature,ber-effective"});
  REQUIRE(found["findings"].size() == 1);
  CHECK(found["findings"][0]["check"] == "module-temperature");
  const json none = document({"health", "--phy", "--from", without, "--only", "module-temperature"});
  CHECK(none["findings"].empty());
  CHECK(none["checks"][0].dump().find("registers") == std::string::npos);
  for (const json& of : none["checks"]) {
    if (of["check"] != "module-temperature") continue;
    CHECK(of["check_state"] == "skipped");
    CHECK_THAT(of["reason"].get<std::string>(), contains("has no registers"));
  }
}

namespace {

/// Another host claims the GUID of `other`.
struct Twins : PhyBench {
  FakeFabric::NodeId twin = fabric.add_ca(0x300, 1, "twin");
  ibtest::FakeRegisters* of_twin{};

  Twins() {
    fabric.link(leaf, 3, twin, 1);
    fabric.assign_lids();
    of_twin = &run_registers(fabric, twin);
    add_port(*of_twin, 1);
    module(*of_twin, 1, "SERIAL-T");
    general(*of_twin, "MT_0000000900", 27);
  }
  /// The serial numbers by name of the node.
  std::map<std::string, json> serials() {
    std::map<std::string, json> found;
    const json ports = document({"phy", "--skip-sl"})["ports"];
    for (const json& port : ports) {
      if (port["node_guid"] == "0000:0000:0000:0300") found[port["node_description"]] = port["module"]["serial_number"];
    }
    return found;
  }
};

}  // namespace

TEST_CASE_METHOD(Twins, "two nodes with one GUID have rows of their own, and values of one do not fill gaps of the other") {
  CHECK(serials() == std::map<std::string, json>{{"other", "SERIAL-A"}, {"twin", "SERIAL-T"}});
  CHECK(document({"firmware", "--skip-sl"})["nodes"].size() == 3);
  CHECK_THAT(run({"modules", "--skip-sl"}).out, contains("leaf 2, other 1") && contains("twin 1"));
  SECTION("one is silent") {
    of_twin->is_silent = true;
    const auto text = run({"phy", "--skip-sl"});
    CHECK(text.status == 4);
    CHECK_THAT(text.err, contains("'twin' (route 0,1,3) about GeneralInfo") && !contains("(route 0,1,2) about"));
    CHECK(serials() == std::map<std::string, json>{{"other", "SERIAL-A"}});
  }
}

TEST_CASE_METHOD(Twins, "health says which of two nodes with one GUID a finding of the physical layer is about") {
  of_twin->set<reg::PddrModule>(1, "temperature", 80U * 256);
  of_twin->set<reg::PddrModule>(1, "temperature_high_th", 70U * 256);
  const auto found = run({"health", "--phy", "--interval", "0", "--skip-sl", "--only", "module-temperature"});
  CHECK_THAT(found.out, contains("'twin' 0000:0000:0000:0300 (route 0,1,3) port 1"));
}

TEST_CASE("a table is as wide as the terminal, and of any width where there is none") {
  const int master = posix_openpt(O_RDWR | O_NOCTTY);
  REQUIRE(master >= 0);
  REQUIRE(grantpt(master) == 0);
  REQUIRE(unlockpt(master) == 0);
  std::FILE* terminal = std::fopen(ptsname(master), "w");
  REQUIRE(terminal != nullptr);
  const winsize size{.ws_row = 24, .ws_col = 60, .ws_xpixel = 0, .ws_ypixel = 0};
  REQUIRE(ioctl(fileno(terminal), TIOCSWINSZ, &size) == 0);
  CHECK(tools::terminal_size(terminal).width == 60);
  std::fclose(terminal);
  close(master);
  std::FILE* file = std::tmpfile();
  CHECK_FALSE(tools::terminal_size(file).width.has_value());
  std::fclose(file);
}

}  // namespace tools_phy_views_tests
