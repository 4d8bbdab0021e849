// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// A path in the words of verbs: the address that a packet is sent to, and the codes of times.
#pragma once

#include "path/path.hpp"
#include "verbs/context.hpp"

namespace ib::verbs {

/// The address vector (IBA 11.2.2.1) of `path`, which needs an end port. Throws Error as path::sgid_index()
/// does.
ibv_ah_attr address_of(const path::IbPath& path);

/// The index of the path's P_Key, 0 where the end port tells of none. Throws Error where it has others only.
std::uint16_t pkey_index_of(const path::IbPath& path);

/// The smallest code whose time, 4.096 µs · 2^code, is not less than `time`: 1…31, for 0 would mean no end.
std::uint8_t time_code(path::Duration time);

/// Where UD packets go to.
class AddressHandle {
 public:
  /// Throws SysError: EINVAL for an address without the GRH that RoCE needs, ENETUNREACH or ETIMEDOUT for a GID that nobody
  /// has, after some time.
  AddressHandle(const ProtectionDomain& domain, const path::IbPath& path);
  ibv_ah* get() const { return handle_.get(); }

 private:
  Handle<ibv_ah, ibv_destroy_ah> handle_;
};

}  // namespace ib::verbs
