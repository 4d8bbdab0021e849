// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Every field that libibmad knows, on random bytes: our layout reads what libibmad reads, our words are its
// words. Where libibmad is wrong, the exceptions say where it reads instead.
#include <infiniband/mad.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <sstream>

#include "defs/files.hpp"
#include "iba/dialects.hpp"
#include "iba/generic.hpp"
#include "iba/libibmad_text.hpp"
#include "iba/registry.hpp"
#include "iba/wire.hpp"
#include "support/catch.hpp"

using namespace ib;

namespace {

/// libibmad declares these without its byte-order correction and so reads a neighbour.
const std::map<std::string, std::string> misplaced = {
    {"IB_PC_QP1_DROP_F", "reads VL15Dropped"},
    {"IB_PORT_EXT_HDR_FEC_MODE_SUPPORTED_F", "reads EDRFECModeEnabled"},
    {"IB_PORT_EXT_HDR_FEC_MODE_ENABLED_F", "reads NDRFECModeSupported"},
    {"IB_PORT_EXT_NDR_FEC_MODE_SUPPORTED_F", "reads HDRFECModeEnabled"},
    {"IB_PORT_EXT_NDR_FEC_MODE_ENABLED_F", "reads reserved bits"},
};

struct Row {
  int index = 0;
  std::string enumerator, name, structure;
  std::uint32_t bit = 0;   ///< in our structure
  std::uint32_t base = 0;  ///< bit at which our structure begins in libibmad's
  std::uint32_t theirs = 0;
  std::uint32_t bits = 0;
};

std::vector<Row> rows() {
  auto in = ibtest::open_data("libibmad-fields.csv");
  std::vector<Row> out;
  std::string line;
  std::getline(in, line);
  while (std::getline(in, line)) {
    std::vector<std::string> c;
    std::istringstream cells(line);
    for (std::string cell; std::getline(cells, cell, ',');) c.push_back(cell);
    if (c.at(9) != "yes") continue;  // newer than Debian's library
    const auto number = [&](std::size_t i) { return static_cast<std::uint32_t>(std::stoul(c.at(i))); };
    out.push_back({std::stoi(c[0]), c[1], c[2], c[3], number(4), number(5), number(6), number(7)});
  }
  return out;
}

/// The field or element that begins at a bit of a structure, and its width; also of a nested structure.
struct Found {
  const FieldInfo* field = nullptr;
  std::uint32_t index = 0;
};

Found field_at(const StructInfo& info, std::uint32_t bit, std::uint32_t bits) {
  for (const FieldInfo& f : info.fields) {
    if (bit < f.bit_offset || bit >= f.bit_offset + f.bits * f.count) continue;
    const std::uint32_t index = (bit - f.bit_offset) / f.bits;
    const std::uint32_t inner = (bit - f.bit_offset) % f.bits;
    if (f.structure != nullptr) return field_at(*f.structure, inner, bits);
    if (inner == 0 && (bits == f.bits || bits == f.bits * f.count || bits == dialects_of(f).libibmad_bits)) return {&f, index};
    if (info.iba_name.starts_with("MADHeader") || info.iba_name == "SAServiceRecord") return {&f, index};  // part or sum of fields
  }
  return {};
}

}  // namespace

TEST_CASE("every field of libibmad reads the same") {
  std::mt19937_64 random(4);
  int checked = 0;
  for (const Row& row : rows()) {
    INFO(row.enumerator << " " << row.name << " in " << row.structure);
    const StructInfo* info = find_struct(row.structure);
    REQUIRE(info != nullptr);
    REQUIRE(field_at(*info, row.bit, row.bits).field != nullptr);
    const bool wrong = misplaced.contains(row.enumerator);
    REQUIRE(wrong == (row.bit + row.base != row.theirs));
    for (int i = 0; i < 10; ++i) {
      auto bytes = ibtest::random_bytes(random, 512);
      std::array<std::uint8_t, 1024> value{};
      mad_decode_field(bytes.data(), static_cast<MAD_FIELDS>(row.index), value.data());
      if (row.bits > 64) {
        REQUIRE(std::equal(value.begin(), value.begin() + row.bits / 8, bytes.begin() + row.theirs / 8));
        continue;
      }
      std::uint64_t theirs = 0;
      if (row.bits <= 32) {
        std::uint32_t small = 0;
        std::memcpy(&small, value.data(), 4);
        theirs = small;
      } else {
        std::memcpy(&theirs, value.data(), 8);
      }
      REQUIRE(theirs == wire::get_bits(bytes, wrong ? row.theirs : row.bit + row.base, row.bits));
    }
    ++checked;
  }
  CHECK(checked > 600);
}

TEST_CASE("every field of libibmad has libibmad's name and words") {
  std::mt19937_64 random(5);
  int checked = 0;
  for (const Row& row : rows()) {
    const StructInfo& info = *find_struct(row.structure);
    const auto [field, index] = field_at(info, row.bit, row.bits);
    // Strings and arrays are no numbers (libibmad prints a short array in the byte order of the host).
    const FieldDialects words = dialects_of(*field);
    if (words.libibmad_text == LibibmadText::none || words.libibmad_text == LibibmadText::string ||
        words.libibmad_text == LibibmadText::array || info.iba_name.starts_with("SANode") || info.iba_name.starts_with("SAGUID"))
      continue;
    const std::string name = row.name;
    std::string ours = std::string(words.libibmad);
    if (const auto at = ours.find("{}"); at != std::string::npos) ours.replace(at, 2, std::to_string(index));
    INFO(row.enumerator << " in " << row.structure);
    CHECK(ours == name);
    for (std::uint64_t i = 0; i < 100 && row.bits <= 64; ++i) {
      std::uint64_t value = i < 66 ? i : random();
      if (row.bits < 64) value &= (std::uint64_t{1} << row.bits) - 1;
      std::array<char, 4096> line{};
      auto narrow = static_cast<std::uint32_t>(value);  // as mad_decode_field() gives it
      void* const theirs = row.bits <= 32 ? static_cast<void*>(&narrow) : &value;
      mad_dump_field(static_cast<MAD_FIELDS>(row.index), line.data(), line.size(), theirs);
      REQUIRE(libibmad_line(name, libibmad_text(words.libibmad_text, value, row.bits)) == std::string(line.data()) + "\n");
      ++checked;
    }
  }
  CHECK(checked > 30000);
}

TEST_CASE("tables of service levels and virtual lanes equal libibmad's") {
  std::mt19937_64 random(7);
  for (int i = 0; i < 50; ++i) {
    auto bytes = ibtest::random_bytes(random, 64);
    std::array<char, 2048> text{};
    mad_dump_sltovl(text.data(), static_cast<int>(text.size()), bytes.data(), 8);
    REQUIRE(libibmad_sl_to_vl(bytes) == text.data());
    mad_dump_vlarbitration(text.data(), static_cast<int>(text.size()), bytes.data(), 2 * (i % 33));
    REQUIRE(libibmad_vl_arbitration(bytes, static_cast<unsigned>(i % 33)) == text.data());
  }
}

TEST_CASE("listings equal libibmad's") {
  std::mt19937_64 random(6);
  using Dump = void (*)(char*, int, void*, int);
  const std::vector<std::pair<const char*, Dump>> dumps = {
      {"SMPNodeInfo", mad_dump_nodeinfo},
      {"SMPPortInfo", mad_dump_portinfo},
      {"SMPSwitchInfo", mad_dump_switchinfo},
      {"PMPortCounters", mad_dump_perfcounters},
      {"PMPortCountersExt", mad_dump_perfcounters_ext},
      {"PMPortXmitDataSL", mad_dump_perfcounters_xmt_sl},
      {"PMPortRcvDataSL", mad_dump_perfcounters_rcv_sl},
      {"PMPortXmitDiscardDetails", mad_dump_perfcounters_xmt_disc},
      {"PMPortRcvErrorDetails", mad_dump_perfcounters_rcv_err},
      {"PMPortSamplesCtl", mad_dump_portsamples_control},
      {"PMPortSamplesRes", mad_dump_portsamples_result},
      {"PMPortExtendedSpeedsCounters", mad_dump_port_ext_speeds_counters},
      {"PMPortExtendedSpeedsCountersRSFEC", mad_dump_port_ext_speeds_counters_rsfec_active},
      {"PMPortOpRcvCounters", mad_dump_perfcounters_port_op_rcv_counters},
      {"PMPortFlowCtlCounters", mad_dump_perfcounters_port_flow_ctl_counters},
      {"PMPortVLOpPackets", mad_dump_perfcounters_port_vl_op_packet},
      {"PMPortVLOpData", mad_dump_perfcounters_port_vl_op_data},
      {"PMPortVLXmitFlowCtlUpdateErrors", mad_dump_perfcounters_port_vl_xmit_flow_ctl_update_errors},
      {"PMPortVLXmitWaitCounters", mad_dump_perfcounters_port_vl_xmit_wait_counters},
      {"PMSwPortVLCongestion", mad_dump_perfcounters_sw_port_vl_congestion},
      {"PMPortRcvConCtrl", mad_dump_perfcounters_rcv_con_ctrl},
      {"PMPortSLRcvFECN", mad_dump_perfcounters_sl_rcv_fecn},
      {"PMPortSLRcvBECN", mad_dump_perfcounters_sl_rcv_becn},
      {"PMPortXmitConCtrl", mad_dump_perfcounters_xmit_con_ctrl},
      {"PMPortVLXmitTimeCong", mad_dump_perfcounters_vl_xmit_time_cong},
      {"CCCongestionInfo", mad_dump_cc_congestioninfo},
      {"CCCongestionKeyInfo", mad_dump_cc_congestionkeyinfo},
      {"CCSwitchCongestionSetting", mad_dump_cc_switchcongestionsetting},
      {"CCCACongestionSetting", mad_dump_cc_cacongestionsetting},
      {"CCTimeStamp", mad_dump_cc_timestamp},
      {"SMPMlnxExtPortInfo", mad_dump_mlnx_ext_port_info},
      {"MADClassPortInfo", mad_dump_classportinfo},
  };
  for (const auto& [name, dump] : dumps) {
    const StructInfo& info = *find_struct(name);
    for (int i = 0; i < 20; ++i) {
      auto bytes = ibtest::random_bytes(random, 512);
      if (info.iba_name == "SMPPortInfo") bytes[56] = 0;                                              // XDR: newer than Debian's library
      if (info.iba_name == "PMPortCounters") std::copy_n(bytes.begin() + 22, 2, bytes.begin() + 20);  // the misplaced QP1Dropped
      std::array<char, 16384> text{};
      dump(text.data(), static_cast<int>(text.size()), bytes.data(), static_cast<int>(bytes.size()));
      INFO(name);
      REQUIRE(libibmad_listing(Bytes(bytes).first(info.bytes), info, Keys::shown) == text.data());
    }
  }
}

TEST_CASE("the listing of PortInfoExtended equals libibmad's up to the fields that it reads at the wrong place") {
  std::mt19937_64 random(8);
  auto bytes = ibtest::random_bytes(random, 64);
  std::array<char, 4096> text{};
  mad_dump_portinfo_ext(text.data(), static_cast<int>(text.size()), bytes.data(), static_cast<int>(bytes.size()));
  const std::string ours = libibmad_listing(bytes, *find_struct("SMPPortInfoExtended")), theirs = text.data();
  const auto right = [](const std::string& all) { return all.substr(0, all.find("HDRFECModeSupported")); };
  CHECK(right(ours) == right(theirs));
  CHECK(std::ranges::count(ours, '\n') == std::ranges::count(theirs, '\n'));
}
