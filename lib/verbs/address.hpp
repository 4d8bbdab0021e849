// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Converts a path to the terms of verbs: the address of a packet, and time codes.
#pragma once

#include "path/path.hpp"
#include "verbs/context.hpp"

namespace ib::verbs {

/// The address vector (IBA 11.2.2.1) of `path`, which needs an end port. Throws Error as path::sgid_index() does.
ibv_ah_attr address_of(const path::IbPath& path);

/// The index of the path's P_Key, or 0 if the end port lists no P_Keys. Throws Error if the end port lists only other P_Keys.
std::uint16_t pkey_index_of(const path::IbPath& path);

/// The smallest code with 4.096 µs · 2^code ≥ `time`, in 1…31. The code 0 is not used, because it means no timeout.
std::uint8_t time_code(path::Duration time);

/// An address handle: the destination of UD packets.
class AddressHandle {
 public:
  /// Throws SysError: EINVAL for an address without the GRH that RoCE needs; ENETUNREACH or ETIMEDOUT, after some time, for a
  /// GID that no host has.
  AddressHandle(const ProtectionDomain& domain, const path::IbPath& path);
  ibv_ah* get() const { return handle_.get(); }

 private:
  Handle<ibv_ah, ibv_destroy_ah> handle_;
};

}  // namespace ib::verbs
