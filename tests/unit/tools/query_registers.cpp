// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// query reads registers of devices by AccessRegister, and sends nothing that would change one.
#include <nlohmann/json.hpp>

#include "iba-gen/reg.hpp"
#include "iba-gen/smp.hpp"
#include "support/catch.hpp"
#include "support/fake_registers.hpp"
#include "support/program.hpp"

namespace tools_query_registers_tests {

using namespace ib;
using ibtest::contains;
using ibtest::FakeFabric;
using ibtest::FakeRegisters;
using nlohmann::json;

namespace {

struct Device {
  FakeFabric fabric;
  FakeFabric::NodeId leaf = fabric.add_switch(0x100, 4, "leaf"), here = fabric.add_ca(0x200, 1, "here");
  FakeRegisters* registers{};

  Device() {
    fabric.link(leaf, 1, here, 1);
    fabric.assign_lids();
    fabric.attach(here);
    registers = &run_registers(fabric, leaf);
    registers->set<reg::PpcntStatistics>(3, "raw_ber_magnitude", 9U);
    registers->set<reg::PpcntStatistics>(3, "raw_ber_coef", 5U);
    registers->set<reg::PpcntStatistics>(3, "phy_raw_errors_lane[2]", 77U);
    registers->set<reg::PddrModule>(3, "vendor_sn", std::string_view("MT2030FT00042\x1b[2J"));
  }
  ibtest::Outcome run(std::vector<std::string> words) {
    words.insert(words.begin(), {"query", "VendGet"});
    words.insert(words.end(), {"--skip-sl"});
    return ibtest::ibtool(fabric, std::move(words));
  }
};

}  // namespace

TEST_CASE("query reads the register that is named, in the layout that its fields select") {
  Device device;
  const auto text = device.run({"PPCNT", "1", "--field", "local_port=3,pnat=1,grp=0x16"});
  CHECK(text.status == 0);
  CHECK_THAT(text.out, contains("Raw_ber_magnitude................9\n") && contains("Local_port.......................3\n"));
  REQUIRE(device.registers->times(reg::Ppcnt::register_id) == 1);
  CHECK(device.registers->asked[0][3] == mad::method::get);
  const auto named = device.run({"PPCNTStatistics", "1", "-f", "local_port=3", "-f", "pnat=ib_port", "--json"});
  const json document = json::parse(named.out);
  CHECK(document["attribute"] == "PPCNTStatistics");
  CHECK(document["modifier"] == reg::Ppcnt::register_id);
  CHECK(document["data"]["grp"] == 0x16);
  CHECK(document["data"]["pnat_text"] == "IB port number");
  CHECK(document["data"]["phy_raw_errors_lane"] == json({0, 0, 77, 0, 0, 0, 0, 0}));
  CHECK(document["data"]["raw_ber_lane"].size() == 8);
}

TEST_CASE("texts of a register are escaped") {
  Device device;
  const auto module = device.run({"PDDRModule", "1", "-f", "local_port=3"});
  CHECK(module.status == 0);
  CHECK(module.out.find('\x1b') == std::string::npos);
  CHECK_THAT(module.out, contains("MT2030FT00042"));
}

TEST_CASE("query refuses what would change something in the device, and sends nothing") {
  Device device;
  for (const auto& [name, field] : {std::pair{"PPCNT", "clr=1"},
                                    {"PPCNTPhysical", "local_port=1,clr=1"},
                                    {"MTMP", "mtr=1"},
                                    {"MTMP", "mte=1"},
                                    {"MTMP", "sdme=1"},
                                    {"MTMP", "weme=1"},
                                    {"PPHCR", "bin_range_write_mask=1"},
                                    {"PTYS", "ib_proto_admin=1"},
                                    {"MlxAccessRegister", "data=ff"}}) {
    CAPTURE(name, field);
    const auto refused = device.run({name, "1", "-f", field});
    CHECK(refused.status == 2);
    CHECK(std::ranges::count(refused.err, '\n') == 1);
    CHECK_THAT(refused.err, contains("would change something in the device"));
  }
  CHECK(device.run({"PPCNT", "1", "-a", "3"}).status == 2);
  CHECK(ibtest::ibtool(device.fabric, {"query", "VendSet", "PPCNT", "1"}).status == 2);
  CHECK(device.registers->times() == 0);
}

TEST_CASE("a register that a device does not have is an error with the status of the MAD") {
  Device device;
  device.registers->unsupported.insert(reg::Mtcap::register_id);
  const auto refused = device.run({"MTCAP", "1"});
  CHECK(refused.status == 3);
  CHECK(std::ranges::count(refused.err, '\n') == 1);
}

TEST_CASE("a comma in a value separates only before another field of the attribute") {
  Device device;
  const auto read = [&device](const std::string& attribute, const std::string& fields) {
    return ibtest::ibtool(device.fabric, {"query", "SubnGet", attribute, "1", "-f", fields});
  };
  CHECK(read("SMPNodeDescription", "nodeString=a,b=c").status == 0);
  CHECK(read("SMPPortInfo", "capabilityMask=IsSM,IsTrapSupported,LID=1").status == 0);
  CHECK_THAT(read("SMPPortInfo", "LID=1,lmc=9").err, contains("lmc"));
  CHECK_THAT(read("SMPPortInfo", "x").err, contains("Field 'x' does not have exactly 1 equals."));
}

}  // namespace tools_query_registers_tests
