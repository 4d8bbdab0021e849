// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The listings against Debian's libibmad, which wrote the originals, on random bytes.
#include "diags/listing.hpp"

#include <infiniband/mad.h>

#include <array>
#include <random>
#include <string>

#include "iba/registry.hpp"
#include "iba/wire.hpp"
#include "support/catch.hpp"

using namespace ib::diags;

namespace {

using Payload = std::array<std::uint8_t, 64>;

Payload random_payload(std::mt19937& random) {
  Payload payload;
  for (auto& byte : payload) byte = static_cast<std::uint8_t>(random());
  return payload;
}

using Dump = void (*)(char*, int, void*, int);

std::string theirs(Dump dump, Payload payload) {
  std::array<char, 8192> text{};
  dump(text.data(), static_cast<int>(text.size()), payload.data(), static_cast<int>(payload.size()));
  return text.data();
}

void compare(const Listing& listing, Dump dump) {
  std::mt19937 random(1);
  for (int i = 0; i < 2000; ++i) {
    const Payload payload = random_payload(random);
    REQUIRE(listed(listing, payload) == theirs(dump, payload));
  }
}

}  // namespace

TEST_CASE("NodeInfo, SwitchInfo and MlnxExtPortInfo are listed as libibmad lists them") {
  compare(node_info_listing, mad_dump_nodeinfo);
  compare(switch_info_listing, mad_dump_switchinfo);
  compare(mlnx_ext_port_info_listing, mad_dump_mlnx_ext_port_info);
}

TEST_CASE("PortInfo is listed as libibmad lists it, whatever its bytes") {
  // libibmad complains on stderr of every width that it does not know.
  std::mt19937 random(2);
  for (int i = 0; i < 2000; ++i) {
    Payload payload = random_payload(random);
    payload[31] = static_cast<std::uint8_t>(1U << (payload[31] % 5));
    REQUIRE(listed(port_info_listing, payload) == theirs(mad_dump_portinfo, payload));
  }
}

TEST_CASE("every value of PortInfo's small fields has libibmad's words") {
  for (const ListedField& line : port_info_listing.fields) {
    const ib::FieldInfo* field = ib::find_field(*ib::find_struct("smp::PortInfo"), line.field);
    REQUIRE(field != nullptr);
    if (field->bits > 8 || line.form == Form::width_active) continue;
    for (unsigned value = 0; value < 1U << field->bits; ++value) {
      Payload payload{};
      payload[31] = 1;
      ib::wire::set_bits(payload, field->bit_offset, field->bits, value);
      REQUIRE(listed(port_info_listing, payload) == theirs(mad_dump_portinfo, payload));
    }
  }
  CHECK(listed_value(Form::width_active, 3, 8) == "undefined (3)");
}

TEST_CASE("PortInfoExtended: libibmad reads four FEC fields at the wrong place, the rest agrees") {
  std::mt19937 random(3);
  const Payload payload = random_payload(random);
  const std::string ours = listed(port_info_extended_listing, payload), other = theirs(mad_dump_portinfo_ext, payload);
  const auto until_hdr = [](const std::string& text) { return text.substr(0, text.find("HDRFECModeSupported")); };
  CHECK(until_hdr(ours) == until_hdr(other));
  CHECK(std::count(ours.begin(), ours.end(), '\n') == std::count(other.begin(), other.end(), '\n'));
}

TEST_CASE("a hidden field keeps its line") {
  Payload payload{};
  payload[7] = 1;
  CHECK(listed(port_info_listing, payload, "m_key").starts_with("Mkey:............................<not displayed>\nGidPrefix:"));
  CHECK(listed(port_info_listing, payload).starts_with("Mkey:............................0x0000000000000001\n"));
}

TEST_CASE("XDR speeds") {
  Payload payload{};
  payload[56] = 0b0'01'01'011;
  CHECK(listed(port_info_xdr_listing, payload) ==
        "LinkSpeedExtActive2:.............212.5 Gbps\n"
        "LinkSpeedExtSupported2:..........212.5 Gbps\n"
        "LinkSpeedExtEnabled2:............212.5 Gbps or undefined (3)\n");
}
