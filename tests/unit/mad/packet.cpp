// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Building MADs: against the generated formats, class by class.
#include "mad/packet.hpp"

#include <stdexcept>

#include "iba-gen/sa.hpp"
#include "iba-gen/smp.hpp"
#include "iba/registry.hpp"
#include "mad/describe.hpp"
#include "mad/request.hpp"
#include "support/catch.hpp"

namespace mad_packet_tests {

using namespace ib;
using namespace ib::mad;

TEST_CASE("every class has its attribute where its format says") {
  for (const StructInfo& info : all_structs()) {
    if (!info.format || info.iba_name == "SNMPFormat") continue;
    const FieldInfo* data = find_field(info, "data");
    REQUIRE(data != nullptr);
    const DataArea area = data_area(info.mgmt_class);
    INFO(info.iba_name);
    REQUIRE(area.offset == data->bit_offset / 8);
    REQUIRE(area.size == data->bits * data->count / 8);
  }
}

TEST_CASE("a directed-route SMP has its route, keys and LIDs in place") {
  path::IbDrPath directed;
  directed.m_key = 0x1122334455667788;
  directed.route[1] = 3;
  directed.route[2] = 17;
  directed.hops = 2;
  directed.dr_slid = Lid{5};
  const path::Path path = directed;
  const std::array<std::uint8_t, 2> payload{0xaa, 0xbb};
  const auto mad =
      to_mad({.path = path, .mgmt_class = mgmt_class::smp_directed, .attribute_id = 0x15, .attribute_modifier = 9, .payload = payload});
  const smp::FormatDirected format = smp::FormatDirected::unpack(mad);
  REQUIRE(format.mgmt_class == 0x81);
  REQUIRE(format.hop_count == 2);
  REQUIRE(format.hop_pointer == 0);
  REQUIRE(format.attribute_modifier == 9);
  REQUIRE(format.m_key == directed.m_key);
  REQUIRE(format.dr_slid == Lid{5});
  REQUIRE(format.dr_dlid == permissive_lid);
  REQUIRE(mad[129] == 3);
  REQUIRE(mad[130] == 17);
  REQUIRE(mad[64] == 0xaa);
  REQUIRE(mad[65] == 0xbb);
  REQUIRE(describe(mad) == "MAD_METHOD_GET(1) SMPFormatDirected(129.1) SMPPortInfo(21)");
}

TEST_CASE("an SA query has its key and mask in place") {
  path::IbPath to_sa;
  to_sa.sm_key = 0x0102030405060708;
  const path::Path path = to_sa;
  const auto mad = to_mad({.path = path,
                           .mgmt_class = mgmt_class::sa,
                           .class_version = 2,
                           .attribute_id = 0x35,
                           .payload = {},
                           .component_mask = 0x8000000000000001});
  const sa::Format format = sa::Format::unpack(mad);
  REQUIRE(format.sm_key == to_sa.sm_key);
  REQUIRE(format.component_mask == 0x8000000000000001);
  REQUIRE(describe(mad) == "MAD_METHOD_GET(1) SAFormat(3.2) SAPathRecord(53)");
}

TEST_CASE("a vendor MAD of range 2 carries its OUI") {
  const path::Path path = path::IbPath{};
  const auto mad = to_mad({.path = path, .mgmt_class = 0x33, .attribute_id = 0x10, .payload = {}, .oui = 0x001405});
  REQUIRE(mad_oui(mad) == 0x001405);
  REQUIRE(describe(mad) == "MAD_METHOD_GET(1) OFASysStatFormat(51.1) OFASysStatPing(16)");
}

TEST_CASE("a payload that does not fit is refused") {
  const path::Path path = path::IbPath{};
  const std::array<std::uint8_t, 65> payload{};
  REQUIRE_THROWS_AS(to_mad({.path = path, .mgmt_class = mgmt_class::smp, .payload = payload}), std::invalid_argument);
}

TEST_CASE("an unknown name is ??") {
  const path::Path path = path::IbPath{};
  auto mad = to_mad({.path = path, .mgmt_class = mgmt_class::smp, .attribute_id = 0xff21, .payload = {}});
  REQUIRE(describe(mad) ==
          "MAD_METHOD_GET(1) SMPFormat(1.1) ?"
          "?(65313)");
  mad[1] = 0x77;
  mad[3] = 0x92;
  REQUIRE(describe(mad) ==
          "MAD_METHOD_?"
          "?(146) ?"
          "?(119.1) ?"
          "?(65313)");
  REQUIRE(describe(Bytes(mad).first(23)) == "a truncated MAD");
  REQUIRE(sa_status_text(3) == "MAD_STATUS_SA_NO_RECORDS(3)");
}

}  // namespace mad_packet_tests
