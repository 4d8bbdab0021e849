// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// A path in the words of umad. The kernel names P_Keys and GIDs by their indexes in the tables of the port that carries the MAD,
// which on planarized HCAs is one half of an end port or the other.
#pragma once

#include <infiniband/umad.h>

#include "mad/channel.hpp"

namespace ib::mad {

/// Where the kernel is to send an SMP or a GMP from `end_port` on `path`. Throws Error where the port that carries it has not the
/// path's P_Key or SGID, or has the SGID at an index above 255.
ib_mad_addr_t umad_address(path::IbPath path, const sys::EndPort& end_port, bool smp);

/// Where a MAD came from that the kernel says to have come to `end_port` from `address`.
Source umad_source(const ib_mad_addr_t& address, const sys::EndPort& end_port);

}  // namespace ib::mad
