// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Everything that the library knows of ibsim. A program uses ibsim through the preloaded library umad2sim. umad2sim replaces
// the system calls with which libibumad reads sysfs and uses umad devices. It differs from a kernel as follows:
//
// - The kernel does not know its descriptors. This is how it is recognised.
// - Its poll() sees no other descriptor and no signal, and fails without an errno when it wakes up without an event. The loop
//   therefore polls no other descriptor with it, and in slices. Its read() may return the negative error number itself.
// - It reports no timeouts.
// - It and ibsim block each other when each has filled the other's socket, which holds 11 packets.
// - It passes on only simulator_bytes of a MAD and reports up to 256 bytes. The rest is old content of its memory, and is set to
//   zero here. The preloads of our tests pass on the whole MAD; they define simulator_tail_symbol.
// - It does no RMPP. If an SA leaves an answer to its kernel to segment, only the first MAD arrives, Active and with RMPPType
//   0. A longer table is cut to simulator_bytes and marked as the first segment here, so that its readers see that its end is
//   missing. An SA repeats the RMPP header of the request in its answer.
// - It delivers requests only to a program that has opened an issm device. It then delivers SMPs too, and ends the program when
//   a MAD comes for a class without an agent.
#pragma once

#include <cstddef>

namespace ib::mad {

/// Bytes of a MAD that the simulated umad passes to its reader.
inline constexpr std::size_t simulator_bytes = 224;
/// A global function of a preloaded library that restores the other bytes.
inline constexpr const char* simulator_tail_symbol = "ibtest_tail";

/// Makes the program receive requests only while it serves and after their agents are registered, whatever the environment says
/// (SIM_SET_ISSM). To be called at the start of the program, before anything is opened.
void keep_simulator_quiet();

}  // namespace ib::mad
