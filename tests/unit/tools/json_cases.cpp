// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "unit/tools/json_cases.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <optional>

#include "base/bytes.hpp"
#include "iba-gen/hdr.hpp"
#include "iba-gen/mlx.hpp"
#include "iba-gen/reg.hpp"
#include "iba-gen/sa.hpp"
#include "mad/sysstat.hpp"
#include "support/catch.hpp"
#include "support/fake_pma.hpp"
#include "support/fake_registers.hpp"
#include "support/fake_sa.hpp"
#include "support/sa_answer.hpp"
#include "support/snapshot_file.hpp"
#include "support/stored_fabric.hpp"
#include "support/stored_routes.hpp"

using namespace ib;

namespace ibtest {
namespace {

template <class T>
std::string packed_hex(const T& value) {
  std::vector<std::uint8_t> bytes(T::wire_size);
  value.pack(bytes);
  std::string text;
  for (const std::uint8_t byte : bytes) text += fmt::format("{:02x}", byte);
  return text;
}

/// The words of a MAD of class `mgmt_class` that asks for NodeInfo.
std::string mad_hex(std::uint8_t mgmt_class = mad::mgmt_class::smp) {
  mad::Header header;
  header.base_version = header.class_version = 1;
  header.mgmt_class = mgmt_class;
  header.method = mad::method::get;
  header.attribute_id = smp::NodeInfo::attribute_id;
  return packed_hex(header) + std::string(2 * (256 - mad::Header::wire_size), '0');
}

std::string packet_hex() {
  hdr::Lrh lrh;
  lrh.lnh = 2;
  hdr::Bth bth;
  bth.service = 3;
  bth.function = 4;
  return packed_hex(lrh) + packed_hex(bth) + packed_hex(hdr::Deth()) + mad_hex();
}

/// Two switches (LIDs 1 and 2) that are linked, the host of the test (3) and another (4) with two ports, of which one has no link. There
/// is an SA, which can be set; the other host answers pings and the first switch vendor MADs. The site has a name for it, and its port 4
/// leads to a node that is silent.
class Site {
 public:
  Site() : near_(fabric.add_switch(0x100, 6, "near")), far_(fabric.add_switch(0x200, 4, "far")), sa_(fabric) {
    const auto here = fabric.add_ca(0x300, 1, "here");
    other_ = fabric.add_ca(0x400, 2, "other");
    const auto silent = fabric.add_ca(0x500, 1, "silent");
    fabric.link(near_, 1, here, 1);
    fabric.link(near_, 2, far_, 2);
    fabric.link(near_, 4, silent, 1);
    fabric.link(far_, 4, other_, 1);
    fabric.assign_lids();
    fabric.attach(here);
    fabric.node(silent).faults.silent = true;
    fabric.node(near_).ports.at(0).info.capability_mask |= smp::capability_mask::is_vendor_class_supported;
    fabric.node(near_).ports.at(2).info.m_key = 0x1234;
    fabric.node(other_).sm_info.emplace();
    fabric.node(other_).sm_info->sm_key = 0x1234;
    fabric.node(far_).mft[0xc001] = {1, 2};
    serve();
    run_pma(fabric, near_);
  }

  FakeFabric fabric;

 private:
  void serve() {
    fabric.network.gmp = [sa = fabric.network.gmp](Bytes request, const path::Path& path) -> std::optional<FakeFabric::Answer> {
      const auto attribute = load_be<std::uint16_t>(&request[16]);
      if (request[3] == mad::method::set) return ibtest::answer_to(request);
      const bool by_bit = load_be<std::uint32_t>(&request[20]) != 0;  // of the capability mask, which the FakeSa does not know
      if (attribute == sa::PortInfoRecord::attribute_id && by_bit) return ibtest::sa_table(request, {ibtest::padded(sa::PortInfoRecord())});
      return sa(request, path);
    };
    for (const std::uint8_t mgmt_class : {mad::mgmt_class::ofa_ping, mad::mgmt_class::ofa_sysstat}) {
      fabric.node(other_).services[mgmt_class].answer = [](unsigned, Bytes request) -> std::optional<FakeFabric::Answer> {
        FakeFabric::Answer mad = ibtest::answer_to(request);
        std::ranges::copy(std::string_view("other\ncpu 0"), mad.begin() + 40);
        return mad;
      };
    }
    fabric.node(near_).services[mad::mgmt_class::congestion].answer = [](unsigned, Bytes request) -> std::optional<FakeFabric::Answer> {
      return ibtest::answer_to(request);
    };
    serve_registers(run_registers(fabric, far_));
    fabric.node(near_).services[mlx::GeneralInfo::mgmt_class].answer = [](unsigned, Bytes request) -> std::optional<FakeFabric::Answer> {
      return ibtest::answer_to(request);
    };
  }

  static void serve_registers(FakeRegisters& registers) {
    constexpr unsigned linked = 4;
    for (unsigned port = 1; port <= linked; ++port) {
      registers.add<reg::PddrOperation>(port);
      registers.add<reg::PddrTroubleshooting>(port);
      registers.add<reg::PddrModule>(port);
      registers.add<reg::PddrLinkDown>(port);
      registers.add<reg::PpcntPhysical>(port);
      registers.add<reg::PpcntStatistics>(port);
    }
    registers.set<reg::PddrOperation>(linked, "fec_mode_active", 2U);
    registers.set<reg::PddrTroubleshooting>(linked, "monitor_opcode", 15U);
    registers.set<reg::PddrTroubleshooting>(linked, "status_message", std::string_view("Bad signal integrity"));
    registers.set<reg::PddrModule>(linked, "vendor_sn", std::string_view("MT2030FT00042"));
    registers.set<reg::PddrModule>(linked, "cable_type", 1U);
    registers.set<reg::PddrModule>(linked, "monitor_cap_mask", 0x1fU);
    registers.set<reg::PddrModule>(linked, "rx_power[0]", 1U);
    registers.set<reg::PpcntStatistics>(linked, "raw_ber_magnitude", 9U);
    registers.set<reg::Mtcap>(0, "sensor_map", 1U);
    registers.set<reg::Mtmp>(0, "temperature", 47U * 8);
    registers.set<reg::Mfcr>(0, "tacho_active", 1U);
    registers.set<reg::Mfsm>(0, "rpm", 9000U);
    registers.add<reg::Fore>(0);
    std::ranges::copy(std::string_view("MT_0000000042"), registers.general.fw_psid.begin());
  }

  FakeFabric::NodeId near_, far_, other_{};
  ibtest::FakeSa sa_;
};

/// The site in a file, as ibnetdiscover stores it.
const std::string& stored_site() {
  struct File {
    File() {
      const int fd = mkstemp(name.data());
      REQUIRE(fd >= 0);
      close(fd);
      Site site;
      REQUIRE(ibtest::diags(site.fabric, {"ibnetdiscover", "-l", "--cache", name}).status == 0);
    }
    ~File() {
      unlink(name.c_str());
      unlink((name + ".json").c_str());
    }
    std::string name = "/tmp/stored-site-XXXXXX";
  };
  static const File file;
  return file.name;
}

/// The site in a snapshot.
const std::string& site_snapshot() {
  struct File {
    File() {
      Site site;
      REQUIRE(ibtest::ibtool(site.fabric, {"snapshot", name}).status == 4);  // a node is silent
    }
    TemporaryDirectory directory;
    std::string name = directory.file("site");
  };
  static const File file;
  return file.name;
}

std::vector<std::string> with_stored_routes(std::vector<std::string> words) {
  words.insert(words.end(), stored_routes().begin(), stored_routes().end());
  return words;
}

}  // namespace

const std::vector<JsonCase>& json_cases() {
  static const std::vector<JsonCase> all = {
      {{"check_lft_balance", "-a"}, {}, 4},
      {{"check_routes", "--load"}, {}, 4},
      {with_stored_routes({"check_routes", "--load"}), {}, 1},
      {{"help", "cable"}},
      {{"help", "ibaddr"}},
      {{"completion", "bash"}},
      {{"completion", "--words", "smpquery", "N"}},
      {{"completion", "--words", "ibstat", "--js"}},
      {{"decode_mad"}, mad_hex()},
      {{"decode_mad", "--umad"}, std::string(128, '0') + mad_hex()},
      {{"decode_mad", "--lrh"}, packet_hex()},
      {{"decode_mad"}, mad_hex(0x1f), 2},  // a class that nobody knows: told, and an error
      {{"dump_fts"}, {}, 4},
      {{"dump_lfts"}, {}, 4},
      {{"dump_mfts"}, {}, 4},
      {{"export", "openmetrics", site_snapshot()}, {}, 4},
      {{"exporter", "--once"}, {}, 4},
      {{"health", "--interval", "1"}, {}, 1},
      {{"ibaddr", "4"}},
      {{"ibchecknet", "--discovery=DR"}, {}, 1},
      {{"ibchecknode", "-v", "1"}},
      {{"ibcheckport", "1", "3"}, {}, 1},
      {{"ibcheckportstate", "-v", "1", "2"}},
      {{"ibcheckportwidth", "-v", "1", "2"}},
      {{"ibcheckstate", "-v"}, {}, 1},
      {{"ibcheckwidth", "-v"}, {}, 4},
      {{"ibcheckerrors"}, {}, 1},
      {{"ibcheckerrs", "1", "2"}},
      {{"ibcheckerrs", "-s"}},
      {{"ibclearcounters", "--yes"}, {}, 4},
      {{"ibclearerrors", "--yes"}, {}, 4},
      {{"ibdatacounters"}, {}, 4},
      {{"ibdatacounters", "--interval", "1", "--count", "2"}, {}, 4},
      {{"ibdatacounts", "1"}},
      {{"ibcacheedit", "--sysimgguid", "0x400:0x401", "--portguid", "0x400:0x401:0x409", stored_site(), stored_site() + ".json"}},
      {{"ibccconfig", "CS", "1", "0", "1", "1", "1", "1", "1"}},
      {{"ibccquery", "CK", "1"}},
      {{"ibccquery", "SP", "1"}},
      {{"ibccquery", "CT", "1"}},
      {{"ibfindnodesusing", "1", "2"}, {}, 4},
      {{"ibhosts"}, {}, 4},
      {{"ibidsverify", "-v"}, {}, 4},
      {{"iblinkinfo"}, {}, 4},
      {{"iblinkinfo", "--discovery=SA"}},
      {{"ibnetdiscover", "-m"}, {}, 4},
      {{"ibnetdiscover", "--diff", stored_site(), "--diffcheck", "sw,lid"}, {}, 4},
      {{"ibnetdiscover", "-p", "--load-cache", stored_site()}},
      {{"ibnodes"}, {}, 4},
      {{"ibping", "-c", "2", "4"}},
      {{"ibping", "-c", "2", "--protocol", "ibping", "4"}},
      {{"ibping", "-c", "2", "1", "--retries", "0"}, {}, 1},
      {{"ibportstate", "1", "1", "query"}},
      {{"ibportstate", "1", "4", "query"}, {}, 4},
      {{"ibportstate", "1", "0", "-n", "mkey", "5", "mkeylease", "7"}},
      {{"ibportstate", "1", "2", "-n", "enable"}},
      {{"ibportstate", "1", "2", "vls", "2"}},
      {{"ibprintca", "0x400"}, {}, 4},
      {{"ibprintrt", "-l"}, {}, 4},
      {{"ibprintswitch", "0x100"}, {}, 4},
      {{"ibqueryerrors", "--counters", "-r"}, {}, 4},
      {{"ibqueryerrors", "--counters", "--interval", "1", "--count", "2"}, {}, 4},
      {{"ibqueryerrors", "--details", "--data", "-s", "SymbolErrors", "1"}, {}, 4},
      {{"ibroute", "-M", "2"}},
      {{"ibroute", "2"}, {}, 4},
      {{"ibrouters"}, {}, 4},
      {{"ibstat"}},
      {{"ibstatus"}},
      {{"ibswitches"}, {}, 4},
      {{"ibswportwatch", "-n", "2", "1", "2"}},
      {{"ibsysstat", "4", "ping"}},
      {{"ibsysstat", "4", "host"}},
      {{"ibsysstat", "4", "cpu"}},
      {{"ibsysstat", "4", "cpi"}},
      {{"ibtracert", "4"}},
      {{"ibtracert", "-m", "0xc001", "4"}, {}, 1},
      {{"ibv_devices"}},
      {{"init_all_ports", "--yes"}, {}, 4},
      {{"init_all_ports", "-n"}, {}, 4},
      {{"environment", "2"}},
      {{"firmware", "2"}},
      {{"modules", "2"}},
      {{"phy", "2"}},
      {{"phy", "--histogram", "2"}, {}, 4},
      {{"phy", "--lanes", "--planes", "2"}},
      {{"phy", "--down", "2"}},
      {{"phy", "--interval", "1", "--count", "2", "2"}},
      {{"perfquery", "1", "2"}},
      {{"perfquery", "-x", "-l", "1"}},
      {{"perfquery", "-a", "-R", "1"}},
      {{"perfquery", "--vl-xmit-wait", "--interval", "0.5", "--count", "2", "1", "2"}},
      {{"query", "SubnGet", "SMPPortInfo", "1", "-a", "2"}},
      {{"query", "SubnAdmGetTable", "SANodeRecord"}},
      {{"saquery"}},
      {{"saquery", "NR", "4", "nodeInfo.nodeType=1"}},
      {{"saquery", "-D"}},
      {{"saquery", "PIR", "--sort=-endport_lid", "--top", "3"}},
      {{"saquery", "-s"}},
      {{"set_guid", "4", "1", "0x1234"}},
      {{"set_nodedesc", "-v"}},
      {{"set_port_state", "-n", "--disable", "1@2", "--discovery=DR"}, {}, 4},  // the sweep met a link without an answer
      {{"set_port_state", "--init", "1@2", "--discovery=DR"}, {}, 4},
      {{"sminfo", "4"}},
      {{"smpdump", "4", "0x11"}},
      {{"smpquery", "NI", "4"}},
      {{"smpquery", "ND", "0,1"}},
      {{"smpquery", "PI", "1", "2"}},
      {{"smpquery", "SI", "1"}},
      {{"smpquery", "PKeys", "4"}},
      {{"smpquery", "GI", "4"}},
      {{"smpquery", "LFT", "1"}},
      {{"smpquery", "MFT", "2"}},
      {{"smpquery", "--all", "PI"}, {}, 4},
      {{"smpquery", "--all", "NI", "--sort", "lid"}, {}, 4},
      {{"snapshot", ibtest::snapshot_file()}, {}, 4},
      {{"subnet_diff", ibtest::stored_fabric()}, {}, 1},
      {{"vendstat", "-N", "1"}},
      {{"vendstat", "-R", "10", "1"}},
      {{"vendstat", "-R", "10", "-W", "10,1", "1"}},
      {{"vendstat", "-i", "1", "1"}},
  };
  return all;
}

Outcome run_json_case(const JsonCase& wanted, const std::string& form) {
  Site site;
  std::vector<std::string> words = wanted.words;
  words.push_back(form);
  return ibtool(site.fabric, std::move(words), {.in = wanted.input});
}

}  // namespace ibtest
