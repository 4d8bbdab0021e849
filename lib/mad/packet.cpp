// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The data area of each class. A unit test compares them with the generated formats.
#include "mad/packet.hpp"

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

std::uint32_t oui_of(Bytes mad) {
  if (mad.size() < 40 || !has_oui(mad[1])) return 0;
  return static_cast<std::uint32_t>(mad[37] << 16 | mad[38] << 8 | mad[39]);
}

}  // namespace ib::mad
