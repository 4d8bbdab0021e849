// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Packets as programs capture them: a MAD with what may stand before it, the header of umad or the headers of the link.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/bytes.hpp"
#include "iba/struct_info.hpp"

namespace ib::mad {

/// The parts of a captured packet, as views of its bytes.
struct CapturedPacket {
  struct Header {
    const StructInfo* info;
    Bytes bytes;
  };
  Bytes umad;                   ///< umad's header; empty if the packet does not begin with it
  std::vector<Header> headers;  ///< from the LRH on
  Bytes mad;                    ///< 256 bytes at most
  const StructInfo* format{};   ///< of the MAD; null: not known

  /// Finds the parts behind the first `offset` bytes of `packet`. Throws UsageError where it ends within a part, or is no datagram; the
  /// parts before are then found.
  void take_apart(Bytes packet, std::size_t offset, bool has_umad, bool has_lrh);
};

/// A member of the header that the kernel puts before a MAD that it passes through /dev/infiniband/umadN (struct ib_user_mad_hdr). The
/// first numbers and the last one are in host order, the addresses in network order.
struct UmadField {
  const char* name;
  unsigned at, bytes;  ///< where it stands; a GID has 16 bytes, all others are numbers
  bool in_host_order = false;

  bool is_gid() const { return bytes == 16; }
  std::uint64_t number(Bytes header) const;
};
inline constexpr std::size_t umad_header_bytes = 64;
std::span<const UmadField> umad_fields();

}  // namespace ib::mad
