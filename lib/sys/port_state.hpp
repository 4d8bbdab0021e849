// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// What passes an end port in the state that sysfs shows (IBA 7.2.7), and the kind of its link. Sends nothing.
#pragma once

#include <cstdint>
#include <string>

#include "sys/device.hpp"

namespace ib::sys {

/// The packets that pass an end port.
enum class Passage : std::uint8_t {
  nothing,     ///< it is Down, or has no physical link
  smps,        ///< it is in Initialize or Armed: nothing but SMPs leaves it
  everything,  ///< it is Active; also a port of which this cannot be said: no InfiniBand port, port 0 of a switch, or no state in sysfs
};
Passage passage_of(const EndPort& port);

/// The state as a clause: "mlx5_0/1 is Down (physical state Polling)".
std::string state_clause(const EndPort& port);

/// The kind of a port that is no InfiniBand port, with its article: "a RoCE port (Ethernet)". Empty for an InfiniBand port.
std::string other_kind(const EndPort& port);

}  // namespace ib::sys
