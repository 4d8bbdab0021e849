// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// A path names GIDs, P_Keys and LIDs by value. Devices name them by an index into the end port's tables, or by the low bits
// that LMC leaves free. These functions convert between both forms. All of them need the path's end_port. On planarized HCAs
// they use the tables of the GSI half.
#pragma once

#include <cstdint>

#include "path/path.hpp"

namespace ib::path {

/// The index of the path's SGID in the end port's GID table, or 0 for a path without SGID. Throws Error "GID … not available on
/// …", also for an index above 255, which neither umad nor verbs accept.
std::uint8_t sgid_index(const IbPath& path);

/// The index of the path's P_Key in the end port's table. The same P_Key with the other membership also matches (IBA 10.9.3).
/// Throws Error "PKey … not available on …".
std::uint16_t pkey_index(const IbPath& path);
/// Sets the P_Key to the entry at `index`. Throws UsageError if the table has no P_Key there.
void set_pkey_index(IbPath& path, unsigned index);

/// The low bits of SLID, which select one of the end port's 2^LMC LIDs.
std::uint8_t slid_bits(const IbPath& path);

}  // namespace ib::path
