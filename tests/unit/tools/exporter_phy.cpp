// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The physical layer in the exporter: registers beside the counters, and rarely.
#include <memory>

#include "iba-gen/reg.hpp"
#include "phy/reading.hpp"
#include "support/catch.hpp"
#include "support/fake_registers.hpp"
#include "support/program.hpp"
#include "unit/tools/exporter_bench.hpp"

namespace tools_exporter_phy_tests {

using namespace ib;
using namespace std::chrono_literals;
using ibtest::ExporterBench;
using ibtest::FakeRegisters;
using ibtest::host0, ibtest::leaf0, ibtest::leaf0_guid;

namespace {

constexpr std::string_view port_1 = "{guid=\"0x0000000000006000\",port=\"1\"";

/// Leaf 0 and the host at its port 1 have registers.
constexpr std::uint64_t vs_key = 0x1122334455667788;

struct Bench : ExporterBench {
  FakeRegisters& of_leaf = run_registers(fabric, leaf0);
  FakeRegisters& of_host = run_registers(fabric, host0);

  explicit Bench(std::shared_ptr<const phy::VsKeys> keys = nullptr)
      : ExporterBench({.hcas = true, .phy = true, .vs_keys = std::move(keys)}) {
    exported.phy = true;
    for (unsigned port = 1; port <= 3; ++port) add_port(of_leaf, port);
    add_port(of_host, 1);
    std::ranges::copy(std::string_view("MT_0000000042"), of_leaf.general.fw_psid.begin());
    of_leaf.general.ext_major = 31;
    of_leaf.general.uptime = 86400;
    of_leaf.set<reg::Mtcap>(0, "sensor_map", 1U);
    of_leaf.set<reg::Mtmp>(0, "temperature", 47U * 8);
    of_leaf.set<reg::Mtmp>(0, "temperature_threshold_hi", 105U * 8);
    of_leaf.set<reg::Mfcr>(0, "tacho_active", 2U);
    of_leaf.set<reg::Mfsm>(1, "rpm", 9000U);
    of_leaf.add<reg::Fore>(0);
    of_leaf.set<reg::Msgi>(0, "part_number", std::string_view("MQM9790"));
    of_leaf.set<reg::Msgi>(0, "serial_number", std::string_view("MT2030"));
  }
  static void add_port(FakeRegisters& registers, unsigned port) {
    registers.set<reg::PddrOperation>(port, "fec_mode_active", 2U);
    registers.set<reg::PddrOperation>(port, "link_width_active", 1U);
    registers.add<reg::PddrTroubleshooting>(port);
    registers.add<reg::PddrLinkDown>(port);
    registers.set<reg::PddrModule>(port, "cable_type", 2U);
    registers.set<reg::PddrModule>(port, "vendor_name", std::string_view("Mell\"anox\x1b"));
    registers.set<reg::PddrModule>(port, "vendor_sn", std::string_view("SERIAL"));
    registers.set<reg::PddrModule>(port, "temperature", 45U * 256);
    registers.set<reg::PddrModule>(port, "tx_bias", 3500U);
    registers.set<reg::PddrModule>(port, "monitor_cap_mask", 0x1fU);
    registers.set<reg::PpcntPhysical>(port, "rs_fec_corrected_blocks", 12U);
    registers.set<reg::PpcntStatistics>(port, "raw_ber_magnitude", 9U);
    registers.set<reg::PpcntStatistics>(port, "raw_ber_coef", 5U);
    registers.set<reg::PpcntStatistics>(port, "effective_ber_magnitude", 254U);
    registers.set<reg::PpcntStatistics>(port, "time_since_last_clear", 36'000'000U);
    registers.set<reg::Pphcr>(port, "num_of_bins", 2U);
    registers.set<reg::PpcntFecHistogram>(port, "hist", 77U);
  }
  std::string of(std::string_view name, std::string_view further = "") const {
    return find(fmt::format("infiniband_switch_port_{}{}{}}}", name, port_1, further));
  }
};

}  // namespace

TEST_CASE_METHOD(Bench, "Exporter: --phy has ratios, FEC, modules, and treydock's names for what switches have") {
  start();
  run_for(20s);
  CHECK(of("raw_ber") == "5e-09");
  CHECK(of("effective_ber") == "0");
  CHECK(of("symbol_ber") == "none");  // its register holds nothing
  CHECK(of("ber_seconds") == "36000");
  CHECK(of("rs_fec_corrected_blocks_total") == "12");
  CHECK(of("rs_fec_blocks_total", ",bin=\"0\",symbols=\"0\"") == "77");
  CHECK(of("module_temperature_celsius") == "45");
  CHECK(of("module_bias_amperes", ",lane=\"0\"") == "0.007");
  CHECK(count("infiniband_switch_port_module_info{guid=\"0x0000000000006000\",port=\"1\",vendor=\"Mell\\\"anox") == 1);
  CHECK(count("infiniband_hca_port_raw_ber") == 1);
  const std::string guid = "{guid=\"" + leaf0_guid + "\"";
  CHECK(find("infiniband_switch_temperature_celsius" + guid + "}") == "47");
  CHECK(find("infiniband_switch_fan_rpm" + guid + ",fan=\"1\"}") == "9000");
  CHECK(find("infiniband_switch_fan_status_info" + guid + ",status=\"OK\"}") == "1");
  CHECK(find("infiniband_switch_uptime_seconds" + guid + "}") == "86400");
  CHECK(count("infiniband_switch_hardware_info" + guid +
              ",firmware_version=\"31.0.0000\",psid=\"MT_0000000042\",part_number=\"MQM9790\",serial_number=\"MT2030\",switch=") == 1);
  CHECK(count("infiniband_switch_port_raw_ber") == 3);  // other devices are not NVIDIA's
}

TEST_CASE_METHOD(Bench, "Exporter: registers are read every five minutes beside the counters, and no page reads them") {
  start();
  run_for(20s);
  const std::size_t first = of_leaf.times();
  CHECK(first > 0);
  run_for(200s);
  page();
  CHECK(of_leaf.times() == first);
  of_leaf.set<reg::PpcntStatistics>(1, "raw_ber_coef", 7U);
  CHECK(of("raw_ber") == "5e-09");
  run_for(120s);
  CHECK(of_leaf.times() == 2 * first);
  CHECK(of("raw_ber") == "7e-09");
}

TEST_CASE_METHOD(Bench, "Exporter: a port or a switch that the last reading of registers did not read has no series") {
  start();
  run_for(20s);
  REQUIRE(of("raw_ber") == "5e-09");
  of_leaf.service().faults.silent = true;
  run_for(320s);
  CHECK(of("raw_ber") == "none");
  CHECK(of("module_temperature_celsius") == "none");
  CHECK(count("infiniband_switch_temperature_celsius") == 0);
  CHECK(count("infiniband_hca_port_raw_ber") == 1);
  of_leaf.service().faults.silent = false;
  run_for(320s);
  CHECK(of("raw_ber") == "5e-09");
}

TEST_CASE_METHOD(Bench, "Exporter: findings of the physical layer come from the same rows; blocks are those between two readings") {
  of_leaf.set<reg::PpcntStatistics>(1, "effective_ber_magnitude", 6U);
  of_leaf.set<reg::PpcntStatistics>(1, "effective_ber_coef", 4U);
  of_leaf.set<reg::PpcntPhysical>(2, "rs_fec_uncorrectable_blocks", 4U);
  start();
  run_for(100s);
  const auto findings = [this](const std::string& check, const std::string& level) {
    return find("infiniband_health_findings{check=\"" + check + "\",level=\"" + level + "\"}");
  };
  CHECK(findings("ber-effective", "error") == "1");
  CHECK(findings("temperature", "error") == "0");
  CHECK(findings("fec-uncorrectable", "error") != "1");
  of_leaf.set<reg::PpcntPhysical>(2, "rs_fec_uncorrectable_blocks", 5U);
  of_leaf.set<reg::PpcntStatistics>(2, "time_since_last_clear", 36'300'000U);
  run_for(320s);
  CHECK(findings("fec-uncorrectable", "error") == "1");
}

TEST_CASE_METHOD(Bench, "Exporter: a device that was silent in two readings running gets a request in every twelfth one") {
  of_host.is_silent = true;
  start();
  run_for(100s);
  const std::size_t tries = of_host.service().requests;
  CHECK(tries != 0);
  run_for(10 * 300s);
  CHECK(of_host.service().requests == 2 * tries);
  run_for(2 * 300s);
  CHECK(of_host.service().requests == 3 * tries);
  CHECK(of_leaf.times() > 12);
}

TEST_CASE("Exporter: a protected device is read with its VS_Key, and with the one of a later file from the next sweep on") {
  Bench bench(std::make_shared<const phy::VsKeys>(vs_key));
  bench.of_leaf.vs_key = vs_key;
  bench.start();
  bench.run_for(20s);
  CHECK(bench.of("raw_ber") == "5e-09");
  bench.of_leaf.vs_key = vs_key + 1;
  bench.engine->set_vs_keys(std::make_shared<const phy::VsKeys>(vs_key + 1));
  bench.engine->sweep_now();
  bench.run_for(320s);
  CHECK(bench.of("raw_ber") == "5e-09");
  CHECK(ibtest::ibtool(bench.fabric, {"exporter", "--once", "--vskey", "/dev/null"}).status == 2);
}

TEST_CASE("Exporter: without --phy no registers are requested, also where there are findings") {
  ExporterBench bench;
  FakeRegisters& registers = run_registers(bench.fabric, leaf0);
  bench.start();
  bench.run_for(40s);
  bench.pmas[leaf0]->count(1, "symbol_error_counter") = 100'000;
  bench.run_for(60s);
  CHECK(registers.times() == 0);
  CHECK(bench.find("infiniband_health_findings{check=\"ber-effective\",level=\"error\"}") == "none");
  CHECK(ibtest::ibtool(bench.fabric, {"exporter", "--once", "--phy-interval", "60"}).status == 2);
}

}  // namespace tools_exporter_phy_tests
