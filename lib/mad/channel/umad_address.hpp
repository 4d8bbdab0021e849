// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Converts a path to umad's form. The kernel names P_Keys and GIDs by their indexes in the tables of the port that carries the
// MAD. On planarized HCAs this port is one half of the end port.
#pragma once

#include <infiniband/umad.h>

#include "mad/channel/channel.hpp"

namespace ib::mad {

/// The kernel's address for an SMP or a GMP from `end_port` on `path`. Throws Error if the port that carries the MAD does not
/// have the path's P_Key or SGID, or has the SGID at an index above 255.
ib_mad_addr_t umad_address(path::IbPath path, const sys::EndPort& end_port, bool smp);

/// The origin of a MAD that the kernel received at `end_port` from `address`.
Source umad_source(const ib_mad_addr_t& address, const sys::EndPort& end_port);

}  // namespace ib::mad
