// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// All that the library knows of ibsim. A program gets there by a preloaded library, umad2sim, which takes the place of the calls
// by which libibumad reads sysfs and uses umad devices. It behaves like a kernel, but for this:
//
// - Its descriptors are numbers that the kernel does not know: by that it is recognised.
// - Its poll() looks at no other descriptor and no signal, and fails without an errno when it wakes up for nothing. The loop
//   polls it alone, in slices. Its read() may return the negative error itself.
// - It reports no timeouts.
// - It and ibsim wait for each other when both have filled the other's socket, of 11 packets each.
// - It hands on simulator_bytes of a MAD and says that there are 256; the rest is whatever was in its memory.
// - It does no RMPP. Of what an SA leaves to its kernel to segment the first MAD arrives, Active and of RMPPType 0: a table ends
//   behind simulator_bytes (sa/simulator_tables.hpp mends that). The RMPP header of an answer is that of its request, which an
//   SA repeats.
// - It gives requests to a program that opened an issm device only, gives it SMPs too, and ends the program when a MAD comes of a
//   class that has no agent.
#pragma once

#include <cstddef>

namespace ib::mad {

/// What of a MAD the simulated umad hands to its reader.
inline constexpr std::size_t simulator_bytes = 224;

/// For the start of a program, before anything is opened: requests come when it serves, and not before there are agents for them,
/// whatever the environment says (SIM_SET_ISSM).
void keep_simulator_quiet();

}  // namespace ib::mad
