// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "iba/generic.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "base/escape.hpp"
#include "iba-gen/mlx.hpp"
#include "iba-gen/reg.hpp"
#include "iba-gen/sa.hpp"
#include "iba/registry.hpp"
#include "iba/text.hpp"
#include "iba/wire.hpp"
#include "support/catch.hpp"

namespace iba_test_generic_tests {

using namespace ib;

TEST_CASE("bits are counted from the most significant") {
  std::array<std::uint8_t, 9> bytes{0x12, 0x34, 0x56, 0x78, 0x9a, 0xbc, 0xde, 0xf0, 0x11};
  CHECK(wire::get_bits(bytes, 0, 4) == 1);
  CHECK(wire::get_bits(bytes, 4, 12) == 0x234);
  CHECK(wire::get_bits(bytes, 3, 64) == 0x91a2b3c4d5e6f780);
  CHECK(wire::get_bits(bytes, 68, 8) == 0x10);  // past the end: zeros
  wire::set_bits(bytes, 4, 12, 0xffabc);        // too wide: cut
  CHECK(bytes[0] == 0x1a);
  CHECK(bytes[1] == 0xbc);
  wire::set_bits(bytes, 3, 64, 0);
  CHECK(bytes == std::array<std::uint8_t, 9>{0, 0, 0, 0, 0, 0, 0, 0, 0x11});
  wire::set_bits(bytes, 70, 64, ~std::uint64_t{0});
  CHECK(bytes[8] == 0x13);
}

TEST_CASE("set_bits undoes get_bits at every offset and width") {
  for (unsigned offset = 0; offset < 17; ++offset) {
    for (unsigned width = 1; width <= 64; ++width) {
      std::array<std::uint8_t, 12> bytes{};
      bytes.fill(0xff);
      wire::set_bits(bytes, offset, width, 0x5555555555555555);
      const std::uint64_t mask = width == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << width) - 1;
      REQUIRE(wire::get_bits(bytes, offset, width) == (0x5555555555555555 & mask));
      wire::set_bits(bytes, offset, width, ~std::uint64_t{0});
      REQUIRE(std::ranges::all_of(bytes, [](std::uint8_t b) { return b == 0xff; }));
    }
  }
}

TEST_CASE("paths name nested fields and elements, in any of their names") {
  const StructInfo& record = *find_struct("SANodeRecord");
  const auto guid = find_path(record, "nodeInfo.nodeGUID");
  REQUIRE(guid);
  CHECK(guid->bit_offset == 128);
  CHECK(guid->mask_bit == 7);
  for (const char* same : {"nodeGUID", "NODEINFO.NODEGUID", "node_info.node_guid", "node_guid", "Guid"}) {
    INFO(same);
    const auto found = find_path(record, same);
    REQUIRE(found);
    CHECK(found->bit_offset == 128);
  }
  CHECK(find_path(record, "LID")->mask_bit == 0);
  CHECK(find_path(record, "nodeDescription.nodeString")->mask_bit == 14);
  CHECK(find_path(*find_struct("SAGUIDInfoRecord"), "GUIDInfo.GUIDBlock[3]")->mask_bit == 7);
  CHECK(find_path(*find_struct("SMPPKeyTable"), "PKeyBlock[31]")->bit_offset == 496);
  for (const char* bad : {"", ".", "x", "nodeInfo.", "nodeInfo.x", "LID.x", "LID[0]", "nodeInfo[1].nodeGUID", "LID[", "LID]", "LID[-1]"})
    CHECK_FALSE(find_path(record, bad));
  CHECK_FALSE(find_path(*find_struct("SMPPKeyTable"), "PKeyBlock[32]"));
}

TEST_CASE("fields are set from text") {
  const StructInfo& info = *find_struct("SAPathRecord");
  std::vector<std::uint8_t> bytes(info.bytes);
  set_field(bytes, info, "DGID", "fe80::2:c903:0:1491");
  CHECK(set_field(bytes, info, "slid", "0x11").mask_bit == 5);
  CHECK_THROWS_AS(set_field(bytes, info, "MTU", "2048"), UsageError);  // a number is the code, never its meaning
  set_field(bytes, info, "MTU", "mtu_2048");
  set_field(bytes, info, "rate", "10 Gb/s");
  const auto path = sa::PathRecord::unpack(bytes);
  CHECK(to_text(path.dgid) == "fe80::2:c903:0:1491");
  CHECK(path.slid == Lid{17});
  CHECK(path.mtu == smp::Mtu::mtu_2048);
  CHECK(path.rate == sa::Rate::gbps_10);

  std::vector<std::uint8_t> name(64, 0xee);
  set_field(name, *find_struct("SMPNodeDescription"), "nodeString", "abc");
  CHECK(fixed_text(name) == "abc");
  CHECK(name[63] == 0);
  CHECK_THROWS_AS(set_field(name, *find_struct("SMPNodeDescription"), "nodeString", std::string(65, 'x')), UsageError);

  std::vector<std::uint8_t> mad(256);
  set_field(mad, *find_struct("PMFormat"), "data", "0a0b");
  CHECK(mad[65] == 0x0b);
  CHECK_THROWS_AS(set_field(mad, *find_struct("PMFormat"), "data", "0a0"), UsageError);
  CHECK_THROWS_AS(set_field(mad, *find_struct("PMFormat"), "data", "zz"), UsageError);
}

TEST_CASE("values that do not fit are refused and change nothing") {
  const StructInfo& info = *find_struct("SMPPortInfo");
  std::vector<std::uint8_t> bytes(info.bytes);
  for (const auto& [path, text] : std::initializer_list<std::pair<const char*, const char*>>{
           {"LMC", "8"}, {"LMC", "x"}, {"LID", "65536"}, {"nope", "1"}, {"GIDPrefix", "fe80::1"}, {"portState", "Up"}, {"MKey", ""}}) {
    INFO(path << "=" << text);
    CHECK_THROWS_AS(set_field(bytes, info, path, text), UsageError);
  }
  CHECK(bytes == std::vector<std::uint8_t>(info.bytes));
}

TEST_CASE("enum names, texts and flags stand for numbers") {
  const StructInfo& info = *find_struct("SMPPortInfo");
  std::vector<std::uint8_t> bytes(info.bytes);
  set_field(bytes, info, "portState", "active");
  set_field(bytes, info, "portPhysicalState", "Link UP");
  set_field(bytes, info, "linkSpeedEnabled", "SDR,QDR");
  set_field(bytes, info, "capabilityMask", "IsSM|IsTrapSupported");
  set_field(bytes, info, "GIDPrefix", "fe80::/64");
  const auto port = smp::PortInfo::unpack(bytes);
  CHECK(port.port_state == smp::PortState::active);
  CHECK(port.port_physical_state == smp::PortPhysicalState::link_up);
  CHECK(port.link_speed_enabled == (smp::link_speed::sdr | smp::link_speed::qdr));
  CHECK(port.capability_mask == (smp::capability_mask::is_sm | smp::capability_mask::is_trap_supported));
  CHECK(port.gid_prefix == link_local_prefix);
  CHECK(symbol(smp::link_speed::info(), 7) == "SDR,DDR,QDR");
  CHECK(symbol(smp::enum_info(smp::PortState{}), 99).empty());
  CHECK_FALSE(parse_symbol(smp::link_speed::info(), "SDR,"));
}

TEST_CASE("a query sets values and component mask together") {
  const auto query = sa::PathRecord::Query{}.dgid(Gid::from(link_local_prefix, Guid{1})).slid(Lid{4}).numb_path(1);
  CHECK(query.component_mask == (1U << 2 | 1U << 5 | 1U << 12));
  CHECK(query.record.slid == Lid{4});
  CHECK(query.record.numb_path == 1);
  const auto node = sa::NodeRecord::Query{}.node_type(smp::NodeType::switch_);
  CHECK(node.component_mask == 1U << 4);
  CHECK(node.record.node_info.node_type == smp::NodeType::switch_);
  const auto guids = sa::GuidInfoRecord::Query{}.guid_block(7, Guid{5});
  CHECK(guids.component_mask == 1U << 11);
  CHECK(sa::PathRecord::Query{}.service_id(1).component_mask == 3);  // ServiceID8MSB, ServiceID56LSB
  CHECK(sa::ServiceRecord::Query{}.service_data8(3, 1).component_mask == 1U << 10);
  CHECK(find_path(*find_struct("SAPathRecord"), "serviceID")->mask == 3);
  CHECK(find_path(*find_struct("SAServiceRecord"), "serviceData8[3]")->mask == 1U << 10);
  CHECK(find_path(*find_struct("SAMultiPathRecord"), "SDGID[5]")->mask == 1U << 23);
  CHECK(sa::MulticastForwardingTableRecord::Query{}.block_num(1).component_mask == 1U << 3);
}

TEST_CASE("the registry knows names, formats and attributes") {
  CHECK(find_struct("smpportinfo")->name == "smp::PortInfo");
  CHECK(find_struct("smp::portinfo")->iba_name == "SMPPortInfo");
  CHECK(find_struct("PortInfo")->iba_name == "SMPPortInfo");
  CHECK(find_struct("Format") == nullptr);  // many have it
  CHECK(find_struct("") == nullptr);
  CHECK(find_format(0x81, 1)->iba_name == "SMPFormatDirected");
  CHECK(find_format(0x03, 2)->iba_name == "SAFormat");
  CHECK(find_format(0x03, 1) == nullptr);
  CHECK(find_format(0x0a, 1)->iba_name == "MlxFormat");
  CHECK(find_format(0x0b, 1)->iba_name == "VendFormat");
  CHECK(find_format(0x33, 1, 1, 0x1405)->iba_name == "OFASysStatFormat");
  CHECK(find_format(0x33, 1, 1, 0x1234)->iba_name == "VendOUIFormat");
  CHECK(find_format(0x21, 2)->iba_name == "CCFormat");
  CHECK(find_format(0x05, 1)->iba_name == "BMFormat");
  CHECK(find_format(0x01, 1, 0x80) == nullptr);  // OPA
  CHECK(find_attribute(0x81, 1, 0x15)->iba_name == "SMPPortInfo");
  CHECK(find_attribute(0x03, 2, 0x01)->iba_name == "MADClassPortInfo");
  CHECK(find_attribute(0x01, 1, 0x02)->iba_name == "SMPNoticeTrap");
  CHECK(find_attribute(0x04, 1, 0x1f)->variant.empty());
  CHECK(find_attribute(0x33, 1, 0x10, 0x1405)->iba_name == "OFASysStatPing");
  CHECK(find_attribute(0x04, 1, 0x9999) == nullptr);
  CHECK(find_trap(67)->iba_name == "MADNoticeTrap64");
  CHECK(find_trap(144)->iba_name == "MADNoticeTrap144");
  CHECK(find_trap(1) == nullptr);
}

TEST_CASE("a MAD with a register holds the layout that its modifier and the page select") {
  std::vector<std::uint8_t> mad(256);
  mad[0] = mad[2] = 1;
  mad[1] = 0x0a;
  mad[3] = 0x81;
  store_be(&mad[16], mlx::AccessRegister::attribute_id);
  store_be(&mad[20], reg::PddrModule::register_id);
  constexpr std::size_t page_select = 24 + 12 + 7;
  mad[page_select] = 3;
  CHECK(find_attribute_in(mad) == &reg::PddrModule::info());
  mad[page_select] = 200;
  CHECK(find_attribute_in(mad) == &reg::Pddr::info());
  store_be(&mad[20], std::uint32_t{0x7777});
  CHECK(find_attribute_in(mad) == &mlx::AccessRegister::info());
  mad[16] = 0;
  mad[17] = 0x17;
  CHECK(find_attribute_in(mad) == &mlx::GeneralInfo::info());
  store_be(&mad[34], std::uint16_t{0x257});  // Quantum-2
  CHECK(find_attribute_in(mad) == &mlx::Is4GeneralInfo::info());
  store_be(&mad[34], std::uint16_t{47396});  // InfiniScale III
  CHECK(find_attribute_in(mad) == &mlx::GeneralInfo::info());
  CHECK(find_attribute_in(Bytes(mad).first(10)) == nullptr);
  CHECK(find_attribute_in({}) == nullptr);
}

TEST_CASE("a field that would change something in a device takes no value") {
  std::vector<std::uint8_t> bytes(reg::Ppcnt::wire_size);
  CHECK_THROWS_AS(set_field(bytes, reg::Ppcnt::info(), "clr", "1"), UsageError);
  CHECK_THROWS_AS(set_field(bytes, reg::PpcntStatistics::info(), "clr", "0"), UsageError);
  for (const char* field : {"mte", "mtr", "weme", "sdme"}) CHECK_THROWS_AS(set_field(bytes, reg::Mtmp::info(), field, "1"), UsageError);
  CHECK_THROWS_AS(set_field(bytes, mlx::AccessRegister::info(), "data", "ff"), UsageError);
  CHECK(is_zero(bytes));
  set_field(bytes, reg::Ppcnt::info(), "local_port", "7");
  CHECK(bytes[13] == 7);
}

TEST_CASE("assignments: a comma separates only where a field and = follow it") {
  using Words = std::vector<std::string>;
  const StructInfo& info = sa::NodeRecord::info();
  CHECK(separate_assignments({"LID=1,nodeType=2", "nodeDescription.nodeString=a,b=c,LID=3"}, info) ==
        Words{"LID=1", "nodeType=2", "nodeDescription.nodeString=a,b=c", "LID=3"});
  const Words members = assignable_members(info);
  CHECK(std::ranges::find(members, "LID=") != members.end());
  CHECK(std::ranges::find(members, "nodeInfo.portGUID=") != members.end());
}

}  // namespace iba_test_generic_tests
