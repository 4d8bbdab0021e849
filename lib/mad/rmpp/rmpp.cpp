// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The RMPP header of a packet.
#include "mad/rmpp/rmpp.hpp"

#include <algorithm>

namespace ib::mad {

namespace {
constexpr std::uint8_t no_response_time = 0x1f;  // RRespTime: no time is given (IBA 13.6.2.1)
}  // namespace

void set_rmpp(Packet& packet, rmpp::Type type, std::uint8_t flags, rmpp::Status status, std::uint32_t data1, std::uint32_t data2) {
  packet[24] = 1;  // RMPPVersion
  packet[25] = static_cast<std::uint8_t>(type);
  packet[26] = static_cast<std::uint8_t>(no_response_time << 3 | flags | rmpp::flags::active);
  packet[27] = static_cast<std::uint8_t>(status);
  store_be(&packet[28], data1);
  store_be(&packet[32], data2);
  std::fill(packet.begin() + static_cast<std::ptrdiff_t>(data_area(packet[1]).offset), packet.end(), std::uint8_t{0});
}

void set_whole(MutableBytes mad) {
  std::ranges::fill(mad.subspan(header_size, rmpp_header_size - header_size), std::uint8_t{0});
  mad[26] = rmpp::flags::active;
}

}  // namespace ib::mad
