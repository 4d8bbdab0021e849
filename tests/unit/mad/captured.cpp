// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Captured packets: what stands before the MAD, and where the packet is too short.
#include "mad/captured.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "support/catch.hpp"

namespace mad_captured_tests {

using namespace ib;
using namespace ib::mad;

namespace {

const UmadField& field(std::string_view name) {
  return *std::ranges::find_if(umad_fields(), [&](const UmadField& each) { return each.name == name; });
}

/// SubnGet(NodeInfo).
std::vector<std::uint8_t> node_info() {
  std::vector<std::uint8_t> mad(256);
  mad[0] = mad[1] = mad[2] = mad[3] = 1;
  mad[17] = 0x11;
  return mad;
}

}  // namespace

TEST_CASE("a MAD behind umad's header, whose first numbers are in host order") {
  std::vector<std::uint8_t> packet(umad_header_bytes);
  const std::uint32_t timeout = 1000;
  std::copy_n(reinterpret_cast<const std::uint8_t*>(&timeout), sizeof timeout, packet.begin() + 8);
  packet[23] = 1;     // the QP
  packet[28] = 0x12;  // the LID
  packet[29] = 0x34;
  const std::vector<std::uint8_t> mad = node_info();
  packet.insert(packet.end(), mad.begin(), mad.end());
  CapturedPacket found;
  found.take_apart(packet, 0, true, false);
  CHECK(field("timeout_ms").number(found.umad) == 1000);
  CHECK(field("qpn").number(found.umad) == 1);
  CHECK(field("lid").number(found.umad) == 0x1234);
  CHECK(found.headers.empty());
  CHECK(std::ranges::equal(found.mad, mad));
  REQUIRE(found.format != nullptr);
  CHECK(found.format->iba_name == "SMPFormat");
}

TEST_CASE("the headers of a datagram, with a GRH if the LRH says so") {
  std::vector<std::uint8_t> packet(8 + 40 + 12 + 8);
  packet[1] = 3;          // LNH: a GRH, and a transport of IBA
  packet[8 + 40] = 0x64;  // UD send only
  const std::vector<std::uint8_t> mad = node_info();
  packet.insert(packet.end(), mad.begin(), mad.end());
  CapturedPacket found;
  found.take_apart(packet, 0, false, true);
  CHECK(found.headers.size() == 4);
  CHECK(std::ranges::equal(found.mad, mad));
  packet[1] = 0;
  CHECK_THROWS_WITH(CapturedPacket().take_apart(packet, 0, false, true), "The packet is a raw packet: it has no BTH and no MAD");
  packet[1] = 2;
  CHECK_THROWS_WITH(CapturedPacket().take_apart(packet, 0, false, true), ibtest::contains("The packet is not a datagram"));
}

TEST_CASE("a packet that ends too early keeps the parts before") {
  CapturedPacket found;
  const std::vector<std::uint8_t> packet(umad_header_bytes + 10);
  CHECK_THROWS_WITH(found.take_apart(packet, 0, true, false), "The input ends within the MAD header: 10 of 24 bytes");
  CHECK(found.umad.size() == umad_header_bytes);
  CHECK(found.format == nullptr);
  CHECK_THROWS_WITH(CapturedPacket().take_apart(packet, 100, false, false), "The input ends within the offset: 74 of 100 bytes");
}

}  // namespace mad_captured_tests
