// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The way of packets from one port to one LID, switch by switch, for a few ways of a fabric whose tables are not read as a whole.
// ways.hpp finds the ways of all senders.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "routing/network.hpp"
#include "routing/ways.hpp"

namespace ib::routing {

/// Where packets end.
struct OneWay {
  Fault fault{};          ///< not_read: the entry of switch `at` was not read, or with `out` nothing answered behind that port
  SwitchIndex at = none;  ///< the last switch, of a loop one of its switches; none: the packets pass no switch
  PlaceIndex out = none;  ///< the port by which it sends, or that of the sender where `at` is none; none: nothing is sent
};

/// The output port of a LID in the table of a switch: subnet::no_out_port if the switch has no entry; nothing if the entry was not read.
using FindOutPort = std::function<std::optional<std::uint8_t>(SwitchIndex at, Lid lid)>;

/// Follows packets from the end port `from` to `to`. The fault is `not_read` where the network has no such end port.
OneWay follow(const Network& network, const FindOutPort& out_port, subnet::PortIndex from, Lid to);

}  // namespace ib::routing
