// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// A small fabric whose devices answer registers, for the commands of the physical layer.
#pragma once

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "iba-gen/reg.hpp"
#include "support/fake_registers.hpp"
#include "support/program.hpp"

namespace ibtest {

/// A switch with this host and two others; the cable of the last is unplugged at the far end, port 4 has an unsupported module, and port 5
/// an empty cage.
struct PhyBench {
  FakeFabric fabric;
  FakeFabric::NodeId leaf = fabric.add_switch(0x100, 5, "leaf"), here = fabric.add_ca(0x200, 1, "here"),
                     other = fabric.add_ca(0x300, 1, "other");
  FakeRegisters *of_leaf{}, *of_other{};

  PhyBench() {
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
    of_leaf->set<ib::reg::PddrTroubleshooting>(4, "monitor_opcode", 1029U);
    of_leaf->set<ib::reg::PddrTroubleshooting>(4, "status_message", std::string_view("Unsupported\x1b[2J"));
    of_leaf->set<ib::reg::PddrTroubleshooting>(5, "monitor_opcode", 1024U);
    of_leaf->set<ib::reg::PpcntStatistics>(2, "raw_ber_magnitude", 4U);
    of_leaf->set<ib::reg::PpcntStatistics>(2, "raw_ber_coef", 3U);
    general(*of_leaf, "MT_0000000042", 31);
    general(*of_other, "MT_0000000900", 28);
  }

  static void add_port(FakeRegisters& registers, unsigned port) {
    registers.set<ib::reg::PddrOperation>(port, "fec_mode_active", 4U);
    registers.add<ib::reg::PddrTroubleshooting>(port);
    registers.add<ib::reg::PddrModule>(port);
    registers.set<ib::reg::PddrLinkDown>(port, "local_reason_opcode", 23U);
    registers.set<ib::reg::PpcntPhysical>(port, "link_down_events", 2U);
    registers.set<ib::reg::PpcntStatistics>(port, "raw_ber_magnitude", 9U);
    registers.set<ib::reg::PpcntStatistics>(port, "raw_ber_coef", 5U);
    registers.set<ib::reg::PpcntStatistics>(port, "effective_ber_magnitude", 254U);
    registers.set<ib::reg::PpcntStatistics>(port, "effective_ber_coef", 15U);
  }
  static void module(FakeRegisters& registers, unsigned port, std::string_view serial) {
    registers.set<ib::reg::PddrModule>(port, "vendor_sn", serial);
    registers.set<ib::reg::PddrModule>(port, "vendor_name", std::string_view("Mellanox        "));
    registers.set<ib::reg::PddrModule>(port, "vendor_pn", std::string_view("MFS1S00-H003V"));
    registers.set<ib::reg::PddrModule>(port, "cable_type", 1U);
    registers.set<ib::reg::PddrModule>(port, "cable_length", 3U);
    registers.set<ib::reg::PddrModule>(port, "temperature", 45U * 256);
    registers.set<ib::reg::PddrModule>(port, "monitor_cap_mask", 0x1fU);
  }
  static void general(FakeRegisters& registers, std::string_view psid, unsigned major) {
    std::ranges::copy(psid, registers.general.fw_psid.begin());
    registers.general.ext_major = major;
    registers.general.uptime = 86400;
  }
  Outcome run(std::vector<std::string> words) { return ibtool(fabric, std::move(words)); }
  nlohmann::json document(std::vector<std::string> words) {
    words.emplace_back("--json");
    return nlohmann::json::parse(run(std::move(words)).out);
  }
};

}  // namespace ibtest
