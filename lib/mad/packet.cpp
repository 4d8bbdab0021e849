// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The data area of each class, which a unit test compares with the generated formats, and the RMPP header.
#include "mad/packet.hpp"

#include <algorithm>

#include "mad/rmpp/rmpp.hpp"

namespace ib::mad {

DataArea data_area(std::uint8_t mgmt_class) {
  switch (mgmt_class) {
    case mgmt_class::smp:
    case mgmt_class::smp_directed:
      return {64, 64};  // IBA 14.2.1.1
    case mgmt_class::sa:
      return {56, 200};  // IBA 15.2.1.1
    case mgmt_class::performance:
    case mgmt_class::board:
    case mgmt_class::device:
    case mgmt_class::snmp:
    case mgmt_class::congestion:
      return {64, 192};
    default:
      break;
  }
  if (has_oui(mgmt_class)) return {40, 216};  // IBA 16.5.1
  return {24, 232};
}

void set_rmpp(Packet& packet, rmpp::Type type, std::uint8_t flags, rmpp::Status status, std::uint32_t data1, std::uint32_t data2) {
  constexpr std::uint8_t no_response_time = 0x1f;  // RRespTime: no time is given (IBA 13.6.2.1)
  packet[24] = 1;                                  // RMPPVersion
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
