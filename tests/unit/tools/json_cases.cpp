// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "unit/tools/json_cases.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <map>
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
#include "unit/tools/sample_lines.hpp"

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

/// What stands in a sample line as `<NAME`, for stdin; else NAME.
std::string input_of(const std::string& name) {
  if (name == "mad") return mad_hex();
  if (name == "umad") return std::string(128, '0') + mad_hex();
  if (name == "packet") return packet_hex();
  return name == "unknown-class" ? mad_hex(0x1f) : name;
}

/// The cases of a property. Its arguments are the status, and what is on stdin.
std::vector<JsonCase> cases_of(std::string_view property) {
  std::vector<JsonCase> all;
  const std::map<std::string, std::string> places{{"routes", "{routes}"},
                                                  {"site", stored_site()},
                                                  {"snapshot", site_snapshot()},
                                                  {"new", snapshot_file()},
                                                  {"fabric", stored_fabric()}};
  for (SampleLine& line : sample_lines(property, places)) {
    JsonCase& one = all.emplace_back(std::move(line.words));
    one.status = std::stoi(line.arguments.at(0));
    if (line.arguments.size() > 1) one.input = input_of(line.arguments[1].substr(1));
    if (one.words.back() != "{routes}") continue;
    one.words.pop_back();
    one.words.insert(one.words.end(), stored_routes().begin(), stored_routes().end());
  }
  return all;
}

}  // namespace

const std::vector<JsonCase>& json_cases() {
  static const std::vector<JsonCase> all = cases_of("json");
  return all;
}

std::vector<JsonCase> failing_cases() { return cases_of("json-failure"); }

Outcome run_json_case(const JsonCase& wanted, const std::string& form) {
  Site site;
  std::vector<std::string> words = wanted.words;
  words.push_back(form);
  return ibtool(site.fabric, std::move(words), {.in = wanted.input});
}

}  // namespace ibtest
