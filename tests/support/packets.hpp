// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// What ibtest-packets.so, behind libumad2sim.so, does for ibtest-rmpp.so, before it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "mad/channel/simulator.hpp"
#include "mad/packet.hpp"

inline constexpr std::size_t ibtest_tail_size =
    ib::mad::packet_size - ib::mad::simulator_bytes;  ///< bytes of a MAD that libumad2sim.so loses

extern "C" {
/// An agent for `mgmt_class` was registered on a umad descriptor: answers of the class may come, and requests if it `serves` them.
void ibtest_agent(int fd, std::uint8_t mgmt_class, bool serves);
/// The descriptor is about to be closed.
void ibtest_closed(int fd);
/// The last ibtest_tail_size bytes of the MAD that begins with the ib::mad::simulator_bytes bytes at `mad`; false if it is unknown.
bool ibtest_tail(const std::uint8_t* mad, std::uint8_t* tail);
}
