// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// What libibnetdisc knows of a fabric, which is less than ibtool does.
#include "base/bytes.hpp"
#include "iba-gen/smp.hpp"
#include "support/catch.hpp"
#include "support/program.hpp"

namespace tools_libibnetdisc_tests {

using ibtest::contains;
using ibtest::diags;
using ibtest::FakeFabric;
using ibtest::ibtool;

TEST_CASE("infiniband-diags' programs know of a fabric what libibnetdisc would") {
  FakeFabric fabric;
  const auto leaf = fabric.add_switch(0x100, 4, "leaf"), spine = fabric.add_switch(0x110, 4, "spine");
  const auto here = fabric.add_ca(0x200, 1, "here"), other = fabric.add_ca(0x300, 1, "other"), third = fabric.add_ca(0x400, 1, "third");
  fabric.link(leaf, 1, here, 1);
  fabric.link(leaf, 2, other, 1);
  fabric.link(leaf, 3, spine, 3);
  fabric.link(spine, 1, third, 1);
  fabric.assign_lids();
  fabric.attach(here);
  const auto is_port_info = [](const FakeFabric::Answer& mad, unsigned port) {
    return ib::load_be<std::uint16_t>(&mad[16]) == ib::smp::PortInfo::attribute_id && ib::load_be<std::uint32_t>(&mad[20]) == port;
  };
  SECTION("a port that recovers from errors is not crossed, though it is Active") {
    fabric.node(leaf).faults.lie = [&](FakeFabric::Answer& mad) {
      constexpr std::size_t physical_state = 64 + 33, recovery = 6U << 4;
      if (is_port_info(mad, 2)) mad[physical_state] = static_cast<std::uint8_t>((mad[physical_state] & 0xf) | recovery);
    };
    const std::string out = diags(fabric, {"iblinkinfo"}).out;
    CHECK_THAT(out, contains("   2[  ] ==( 4X          10.0 Gbps Active/LinkErrorRecovery)==>      \"Port not available\"\n"));
    CHECK_THAT(out, !contains("other"));
    CHECK_THAT(diags(fabric, {"ibhosts"}).out, contains("here") && !contains("other"));
    CHECK_THAT(ibtool(fabric, {"ibhosts"}).out, contains("other"));
  }
  SECTION("a description of all 64 bytes is printed whole") {
    fabric.node(other).description.fill('x');
    const std::string whole = '"' + std::string(64, 'x') + '"';
    for (const char* program : {"ibnetdiscover", "ibhosts", "iblinkinfo"}) CHECK_THAT(diags(fabric, {program}).out, contains(whole));
  }
  SECTION("a switch whose port 0 does not tell its PortInfo shows the port by which it was entered, and no more") {
    fabric.node(spine).faults.lie = [&](FakeFabric::Answer& mad) {
      constexpr std::size_t status = 4;
      if (is_port_info(mad, 0)) ib::store_be<std::uint16_t>(&mad[status], 0x1c);
    };
    CHECK_THAT(diags(fabric, {"ibhosts"}).out, contains("other") && !contains("third"));
    CHECK_THAT(ibtool(fabric, {"ibhosts"}).out, contains("third"));
  }
}

}  // namespace tools_libibnetdisc_tests
