// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The physical layer in health: --phy judges all links, and without it the ports with findings are explained.
#include <fstream>
#include <utility>

#include "base/bytes.hpp"
#include "iba-gen/mlx.hpp"
#include "iba-gen/reg.hpp"
#include "support/fake_registers.hpp"
#include "unit/tools/health_fabric.hpp"

namespace tools_health_phy_tests {

using namespace ib;
using ibtest::contains;
using ibtest::FakeFabric;
using ibtest::FakeRegisters;
using ibtest::ibtool;
using ibtest::Outcome;
using ibtest::health::check;
using ibtest::health::Fabric;
using ibtest::health::Words;
using nlohmann::json;

namespace {

constexpr std::size_t most_requests = 40;

/// The leaf and the host `other` have registers; the host of the test is of another vendor. Port 4 of the leaf is an unused cage.
struct Registered : Fabric {
  FakeRegisters& of_leaf = run_registers(fabric, leaf);
  FakeRegisters& of_other = run_registers(fabric, other);

  Registered() {
    fabric.node(here).info.vendor_id = 0x1175;
    for (unsigned port = 1; port <= 4; ++port) add_port(of_leaf, port, port <= 2);
    add_port(of_other, 1, true);
    of_leaf.set<reg::Mtcap>(0, "sensor_map", 1U);
    of_leaf.set<reg::Mtmp>(0, "temperature", 47U * 8);
    of_leaf.set<reg::Mtmp>(0, "temperature_threshold_hi", 105U * 8);
    of_leaf.add<reg::Mfcr>(0);
  }
  static void add_port(FakeRegisters& registers, unsigned port, bool has_module) {
    registers.set<reg::PddrOperation>(port, "fec_mode_active", 2U);
    registers.set<reg::PddrTroubleshooting>(port, "monitor_opcode", has_module ? 0U : 1024U);
    registers.set<reg::PddrModule>(port, "cable_type", has_module ? 1U : 4U);
    if (has_module) registers.set<reg::PddrModule>(port, "vendor_sn", std::string_view("SERIAL\x1b[2J"));
    registers.add<reg::PddrLinkDown>(port);
    registers.add<reg::PpcntPhysical>(port);
    registers.set<reg::PpcntStatistics>(port, "time_since_last_clear", 36'000'000U);
    registers.set<reg::PpcntStatistics>(port, "raw_ber_magnitude", 9U);
    registers.set<reg::PpcntStatistics>(port, "raw_ber_coef", 5U);
    registers.set<reg::PpcntStatistics>(port, "effective_ber_magnitude", 254U);
    registers.set<reg::PpcntStatistics>(port, "symbol_ber_magnitude", 254U);
  }
  std::size_t requests() const { return of_leaf.times() + of_other.times(); }
  /// Has the link to `other` break bits, so that there is a finding.
  void break_bits() {
    clock.happens = [this] { other_pma.count(1, "symbol_error_counter") += 5000; };
  }
};

const json* end_with_phy(const json& finding) {
  for (const json& end : finding["ends"]) {
    if (end["phy"].is_object()) return &end;
  }
  return nullptr;
}

}  // namespace

TEST_CASE("health --phy judges links, modules and devices, and says what each port has") {
  Registered f;
  f.of_leaf.set<reg::PpcntStatistics>(2, "effective_ber_magnitude", 6U);
  f.of_leaf.set<reg::PpcntStatistics>(2, "effective_ber_coef", 4U);
  f.of_leaf.set<reg::PddrTroubleshooting>(3, "monitor_opcode", 1029U);
  f.of_leaf.set<reg::PddrModule>(3, "cable_type", 1U);
  f.of_leaf.set<reg::PddrModule>(3, "vendor_sn", std::string_view("FOREIGN"));
  f.of_leaf.set<reg::Mtmp>(0, "temperature", 110U * 8);
  const json found = f.found({"--phy", "--interval", "0", "--skip-sl"}, 1);
  std::vector<std::string> checks;
  for (const json& finding : found["findings"]) checks.push_back(finding["check"]);
  CHECK(checks == std::vector<std::string>{"ber-effective", "module-unsupported", "temperature"});
  const json* end = end_with_phy(found["findings"][0]);
  REQUIRE(end != nullptr);
  CHECK((*end)["phy"]["effective_ber"] == Approx(4e-6));
  CHECK((*end)["phy"]["symbol_ber"] == 0);
  CHECK((*end)["phy"]["seconds_since_clear"] == 36'000);
  CHECK((*end)["phy"]["module"]["voltage_millivolts"] == nullptr);
  CHECK_THAT(found["findings"][0]["text"].get<std::string>(), contains("effective_ber is 4e-06, limit 1e-12"));
  CHECK_THAT(found["findings"][1]["remedy"].get<std::string>(), contains("that the device supports"));
  const std::string text = f.run({"--phy", "--interval", "0", "--skip-sl"}, 1).out;
  CHECK_THAT(text, contains("module 'SERIAL\\x1b[2J'") && contains("unsupported cable or module (code 1029)"));
  CHECK(text.find('\x1b') == std::string::npos);
  for (const json& of : found["coverage"]) {
    if (of["covered"] == "phy") CHECK(of["ports_read"] == 5);
  }
}

TEST_CASE("health --phy: a device that keeps silent, or lacks what is needed, is no finding, and stands in the coverage") {
  for (const bool is_silent : {true, false}) {
    Registered f;
    if (is_silent) f.of_other.service().faults.silent = true;
    if (!is_silent) f.of_other.general.capability_mask = 0;
    const json found = f.found({"--phy", "--interval", "0", "--skip-sl"}, 4);
    CHECK(found["findings"].empty());
    CHECK(found["verdict"] == "unknown");
    CHECK(check(found, "ber-effective")["check_state"] == "partly");
    CHECK(check(found, "ber-effective")["reason"] == "registers of 4 of 5 ports");
  }
}

TEST_CASE("health --phy: devices of other vendors get no request, and change no verdict") {
  Fabric f;
  for (const auto id : {f.leaf, f.here, f.other}) f.fabric.node(id).info.vendor_id = 0x1175;
  const json found = f.found({"--phy", "--interval", "0", "--skip-sl"});
  CHECK(check(found, "ber-effective")["check_state"] == "skipped");
  CHECK(check(found, "ber-effective")["reason"] == "no device is NVIDIA's");
  CHECK(check(f.found({"--interval", "0"}), "fan")["reason"] == "needs --phy");
}

TEST_CASE("health --phy: blocks that FEC could not correct are those between two readings") {
  Registered f;
  f.of_leaf.set<reg::PpcntPhysical>(2, "rs_fec_uncorrectable_blocks", 9U);
  CHECK(f.found({"--phy", "--skip-sl"})["findings"].empty());
  f.clock.happens = [&f] {
    f.of_leaf.set<reg::PpcntPhysical>(2, "rs_fec_uncorrectable_blocks", 11U);
    f.of_leaf.set<reg::PpcntStatistics>(2, "time_since_last_clear", 36'010'000U);
  };
  const json found = f.found({"--phy", "--skip-sl"}, 1);
  REQUIRE(found["findings"].size() == 1);
  CHECK(found["findings"][0]["check"] == "fec-uncorrectable");
  CHECK(found["findings"][0]["evidence"][0]["delta"] == 2);
  const json rounds = f.found({"--phy", "--skip-sl", "--repeat", "--count", "2"})["readings"];
  CHECK(rounds[1]["findings"].empty());
  CHECK(check(rounds[1], "fec-uncorrectable")["check_state"] != "skipped");
}

TEST_CASE("health --phy: MlnxExtPortInfo says why a port was taken out of use; a device that refuses it has no such thing") {
  Registered f;
  for (const auto id : {f.leaf, f.other}) f.fabric.node(id).info.device_id = 0x1003;
  CHECK(check(f.found({"--phy", "--interval", "0", "--skip-sl"}), "port-unhealthy")["reason"] == "no device has MlnxExtPortInfo");
  mlx::UnhealthyReason reason = mlx::UnhealthyReason::credit_watchdog;
  f.fabric.network.tamper = [&reason](Bytes request, std::optional<FakeFabric::Answer> answer) -> std::vector<FakeFabric::Answer> {
    if (!answer) return {};
    const bool is_meant = request[1] == 0x81 && load_be<std::uint16_t>(&request[16]) == smp::MlnxExtPortInfo::attribute_id;
    if (is_meant && load_be<std::uint32_t>(&request[20]) == 2) {
      smp::MlnxExtPortInfo info;
      info.unhealthy_reason = reason;
      (*answer)[4] &= 0x80;  // the D bit of a directed route
      (*answer)[5] = 0;
      info.pack(MutableBytes(*answer).subspan(64, 64));
    }
    return {*answer};
  };
  const json found = f.found({"--phy", "--interval", "0", "--skip-sl"}, 1);
  REQUIRE(found["findings"].size() == 1);
  CHECK(found["findings"][0]["check"] == "port-unhealthy");
  CHECK(found["findings"][0]["ends"][0]["port_num"] == 2);
  CHECK_THAT(found["findings"][0]["text"].get<std::string>(), contains("UnhealthyReason is credit watchdog"));
  reason = mlx::UnhealthyReason::none;
  CHECK(f.found({"--phy", "--interval", "0", "--skip-sl"})["findings"].empty());
}

TEST_CASE("health: a cable with a finding gets its ratios and modules by a few requests; a healthy fabric gets none") {
  Registered f;
  CHECK(f.found({"--skip-sl"})["findings"].empty());
  CHECK(f.requests() == 0);
  f.break_bits();
  const json found = f.found({"--skip-sl"}, 1);
  REQUIRE(found["findings"].size() == 1);
  CHECK(end_with_phy(found["findings"][0]) != nullptr);
  CHECK_THAT(found["findings"][0]["text"].get<std::string>(),
             contains("BER raw 5e-09, effective 0") && contains("module 'SERIAL\\x1b[2J'"));
  CHECK(f.requests() == 10);  // four registers of two ports, GeneralInfo of two devices
  CHECK(check(found, "ber-effective")["reason"] == "needs --phy");
}

TEST_CASE("health: --no-phy, --port local and later rounds request no registers") {
  for (const Words& words : {Words{"--no-phy"}, {"--port", "local"}}) {
    Registered f;
    const FakeRegisters& of_here = run_registers(f.fabric, f.here);
    f.clock.happens = [&f] {
      f.other_pma.count(1, "symbol_error_counter") += 5000;
      f.here_pma.count(1, "symbol_error_counter") += 5000;
    };
    Words all = words;
    all.emplace_back("--skip-sl");
    const json found = f.found(all, 1);
    CHECK_FALSE(found["findings"].empty());
    CHECK(f.requests() + of_here.times() == 0);
  }
  Registered rounds;
  rounds.break_bits();
  CHECK(rounds.found({"--skip-sl", "--repeat", "--count", "3"}, 1)["readings"].size() == 3);
  CHECK(rounds.requests() == 0);  // the first round has no window, and nothing else is found
  CHECK_THAT(rounds.run({"--phy", "--no-phy"}, 2).err, contains("--no-phy"));
  CHECK_THAT(rounds.run({"--phy", "--port", "local"}, 2).err, contains("--phy"));
}

TEST_CASE("health: a fabric full of findings costs 40 requests at most, also where devices keep silent or are busy") {
  for (const int fault : {0, 1, 2}) {
    Registered f;
    std::vector<FakeRegisters*> all{&f.of_leaf, &f.of_other};
    for (unsigned i = 0; i < 20; ++i) {
      const auto leaf = f.fabric.add_switch(0x1000 + i, 3, "further"), host = f.fabric.add_ca(0x2000 + i, 1, "host");
      f.fabric.link(i == 0 ? f.leaf : leaf - 2, i == 0 ? 4 : 2, leaf, 1);
      f.fabric.link(leaf, 3, host, 1);
      f.fabric.node(host).ports.at(1).info.link_width_active = 1;
      f.fabric.node(leaf).ports.at(3).info.link_width_active = 1;
      for (const auto id : {leaf, host}) {
        all.push_back(&run_registers(f.fabric, id));
        for (unsigned port = 1; port < f.fabric.node(id).ports.size(); ++port) Registered::add_port(*all.back(), port, true);
      }
    }
    f.fabric.assign_lids();
    for (FakeRegisters* registers : all) {
      if (fault == 1) registers->service().faults.silent = true;
      if (fault == 2) registers->service().faults.busy_next = 1000;
    }
    const json found = f.found({"--interval", "0", "--skip-sl", "--only", "link-slow"}, 1);
    REQUIRE(found["findings"].size() == 20);
    std::size_t sent = 0;
    for (FakeRegisters* registers : all) sent += registers->service().requests;
    CHECK(sent <= most_requests);
    CHECK(sent > 5);
    CHECK((end_with_phy(found["findings"][0]) != nullptr) == (fault == 0));
    CHECK(end_with_phy(found["findings"][19]) == nullptr);
  }
}

TEST_CASE("health reads protected devices with their VS_Keys, with --phy and for findings, and for the firmware of a baseline") {
  constexpr std::uint64_t key = 0x1122334455667788;
  Registered f;
  const std::string keys = f.directory.file("guid2vskey"), before = f.directory.file("before");
  std::ofstream(keys) << "0x0000000000000300 0x1122334455667788\n";
  f.of_other.general.fw_major = 9;
  f.of_leaf.unsupported = f.of_other.unsupported = {reg::Pphcr::register_id};
  for (unsigned port = 1; port <= 4; ++port) f.of_leaf.add<reg::PpcntFecHistogram>(port);
  f.of_other.add<reg::PpcntFecHistogram>(1);
  f.of_other.add<reg::Mtcap>(0);
  f.of_leaf.add<reg::Msgi>(0);
  f.of_other.add<reg::Msgi>(0);
  REQUIRE(ibtool(f.fabric, {"snapshot", before, "--skip-sl", "--only", "phy"}).err == "");
  f.of_other.general.fw_major = 10;
  REQUIRE(f.fabric.node(f.other).info.node_guid == Guid{0x300});
  f.of_other.vs_key = key;
  const auto is_silent = [&](Words words, int status) {
    f.of_other.asked.clear();
    words.insert(words.end(), {"--skip-sl", "--vskey", keys});
    const Outcome done = f.run(words, status);
    CHECK((done.out + done.err).find("1122334455667788") == std::string::npos);
    for (const auto& request : f.of_other.asked) CHECK(load_be<std::uint64_t>(&request[24]) == key);
    return f.of_other.asked.empty();
  };
  CHECK_FALSE(is_silent({"--phy", "--interval", "0"}, 0));
  CHECK(f.of_other.times() == 1 + 6);
  CHECK_FALSE(is_silent({"--baseline", before, "--interval", "0", "--only", "changed"}, 1));
  f.break_bits();
  CHECK_FALSE(is_silent({}, 1));
  CHECK(f.of_other.times() == 1 + 4);
  f.break_bits();
  CHECK(is_silent({"--no-phy"}, 1));
  CHECK_THAT(f.run({"--port", "local", "--vskey", keys}, 2).err, contains("--vskey"));
  CHECK_THAT(f.run({"--vskey", "0x1122334455667788"}, 2).err, contains("command line"));
}

TEST_CASE("health: a port that went down gets its reason, and what to do about it") {
  Registered f;
  const std::string before = f.directory.file("before");
  REQUIRE(ibtool(f.fabric, {"snapshot", before}).status == 0);
  f.fabric.set_link(f.other, 1, false);
  f.of_leaf.set<reg::PddrTroubleshooting>(2, "monitor_opcode", 1030U);
  f.of_leaf.set<reg::PddrLinkDown>(2, "local_reason_opcode", 25U);
  f.of_leaf.set<reg::PddrLinkDown>(2, "down_blame", 1U);
  const json found = f.found({"--baseline", before, "--skip-sl", "--only", "node-gone"}, 1);
  REQUIRE(found["findings"].size() == 1);
  CHECK_THAT(found["findings"][0]["text"].get<std::string>(),
             contains("module shut down: too hot (code 1030); went down last for: module shut down: too hot (by this port)"));
  CHECK_THAT(found["findings"][0]["remedy"].get<std::string>(), contains("airflow"));
}

}  // namespace tools_health_phy_tests
