// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The heading of a forwarding table, which names its switch, in the form of each program:
//
//     Unicast lids [0x0-0x13] of switch DR path slid 0; dlid 0; 0,1 guid 0x0002c90200400100 (leaf 1):   infiniband-diags
//     Unicast lids [0x0-0x13] of switch Lid 2 guid 0x0002c90200400100 (leaf 1):                         infiniband-diags
//     Unicast lids [0-22] of switch Lid 3 guid 0x0002c90200000010 ('leaf0'):                            opensm-lfts.dump
//     Unicast lids [0-63] of switch DR Path (0, 1) 'leaf 1'                                             ibtool
//     Unicast lids [0-63] of switch Path 1 -> 2 SL=0 PKey=0xffff DQPN=0 'leaf 1'                        ibtool
//     dump_ucast_routes: Switch 0x0002c90200000010                                                      opensm.fdbs
//     Switch 0x0002c90200000010                                                                         opensm.mcfdbs
//
// The name stands last and may hold anything, so a line is read from its front.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "iba/types.hpp"

namespace ib::formats {

struct ForwardingHeading {
  std::optional<Guid> node_guid;
  std::optional<Lid> lid;
  /// The output ports from the host that printed the table; empty for the host itself.
  std::optional<std::vector<std::uint8_t>> directed_route;
  std::string name;
  bool multicast = false;
  bool not_read = false;  ///< ibtool reports that it could not read the table: no rows follow
  /// The first and the last LID of the table. opensm.fdbs and opensm.mcfdbs name none.
  std::optional<std::uint16_t> first, last;
};

/// Whether `line` begins as a heading does. If parse_heading() then returns nothing, the heading is broken.
bool is_heading(std::string_view line);

/// The content of a heading. Nothing if `line` is not a heading or names no switch.
std::optional<ForwardingHeading> parse_heading(std::string_view line);

}  // namespace ib::formats
