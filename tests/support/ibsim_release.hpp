// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// What is recorded, and what tests expect, is of ibsim 0.10. Ports and switches of ibsim 0.12 can do other things; behind this they say
// that they are those of 0.10.
#pragma once

#include <cstddef>
#include <cstdint>

#include "iba-gen/smp.hpp"
#include "mad/packet.hpp"

inline constexpr std::size_t ibtest_packet_header = 32;  ///< bytes before a MAD on ibsim's socket

/// Makes of what ibsim 0.12 answers of a port or of a switch what 0.10 answers.
inline void as_ibsim_0_10(std::uint8_t* mad) {
  constexpr std::size_t data = 64, mask = 20, mask2 = 60, speed_supported = 62, speed_enabled = 63;  // of a PortInfo (IBA 14.2.5.6)
  constexpr std::uint8_t mask_notice = 0x40, vendor_class = 0x10, ndr = 0x04, ndr_speed = 0x08, no_ext_speed = 30, get_resp = 0x81,
                         attribute_at = 17;
  if (!ib::mad::is_smp(mad[1]) || mad[3] != get_resp || mad[attribute_at - 1] != 0) return;
  std::uint8_t* const value = mad + data;
  if (mad[attribute_at] == ib::smp::PortInfo::attribute_id) {
    if ((value[mask2] & ndr) != 0 && (value[mask + 1] & mask_notice) != 0) value[mask + 1] |= vendor_class;  // an end port
    value[mask2] &= static_cast<std::uint8_t>(~ndr);
    // The ports of a switch have no capabilities, and their speeds all the same.
    if (value[speed_supported] >> 4U != ndr_speed)
      value[speed_supported] &= static_cast<std::uint8_t>(~ndr_speed);  // beside the active one
    if ((value[speed_enabled] & 0x1fU) != no_ext_speed) value[speed_enabled] &= static_cast<std::uint8_t>(~ndr_speed);
  }
  constexpr std::uint8_t cap_of_0_12 = 49152 >> 8U, cap_of_0_10 = 30720 >> 8U;  // LinearFDBCap begins a SwitchInfo (IBA 14.2.5.4)
  if (mad[attribute_at] == ib::smp::SwitchInfo::attribute_id && value[0] == cap_of_0_12 && value[1] == 0) value[0] = cap_of_0_10;
}
