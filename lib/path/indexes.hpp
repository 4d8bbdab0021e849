// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// A path names GIDs, P_Keys and LIDs by value; devices are told of them by index into the end port's tables or by the
// low bits that LMC leaves to choose. Both ways of saying it are converted here. All need the path's end_port; on planarized HCAs the
// tables are those of its GSI half.
#pragma once

#include <cstdint>

#include "path/path.hpp"

namespace ib::path {

/// The index of the path's SGID in the end port's GID table, 0 for a path without one. Throws Error "GID … not available on …", and
/// for an index above 255, of which neither umad nor verbs can be told.
std::uint8_t sgid_index(const IbPath& path);
/// Sets the SGID to the GID at `index`. Throws UsageError if the table has none there.
void set_sgid_index(IbPath& path, unsigned index);

/// The index of the path's P_Key in the end port's table; the same P_Key with the other membership will do (IBA 10.9.3).
/// Throws Error "PKey … not available on …".
std::uint16_t pkey_index(const IbPath& path);
/// Sets the P_Key to that at `index`. Throws UsageError if the table has none there.
void set_pkey_index(IbPath& path, unsigned index);

/// The low bits of SLID that say which of the end port's 2^LMC LIDs it is.
std::uint8_t slid_bits(const IbPath& path);
/// Sets SLID to the end port's LID with `bits` in its LMC part; bits beyond that are ignored.
void set_slid_bits(IbPath& path, unsigned bits);
/// The low 7 bits of DLID: the most that LMC can cover, as the remote's is not known here.
std::uint8_t dlid_bits(const IbPath& path);
/// Sets DLID to the end port's LID with `bits` in its LMC part: for the path of a packet to this host.
void set_dlid_bits(IbPath& path, unsigned bits);

}  // namespace ib::path
