// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Each kind of address and key of the IBA has a type of its own, so that a LID cannot be passed as a P_Key. Values are in host
// order, but a Gid is in wire order. Text forms are in iba/text.hpp.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <functional>

#include "base/bytes.hpp"

namespace ib {

/// EUI-64 identifier of a node, port or system image (IBA 4.1).
struct Guid {
  std::uint64_t value{};
  constexpr auto operator<=>(const Guid&) const = default;
};

/// The upper 64 bits of a GID: the subnet prefix (IBA 4.1.1). Link-local is fe80::/64.
struct GidPrefix {
  std::uint64_t value{};
  constexpr auto operator<=>(const GidPrefix&) const = default;
};
inline constexpr GidPrefix link_local_prefix{0xfe80000000000000U};

/// 128-bit global identifier, in wire order (IBA 4.1.1).
struct Gid {
  std::array<std::uint8_t, 16> bytes{};
  constexpr auto operator<=>(const Gid&) const = default;

  static constexpr Gid from(GidPrefix prefix, Guid guid) {
    Gid gid;
    store_bytes<8>(gid.bytes.data(), prefix.value);
    store_bytes<8>(gid.bytes.data() + 8, guid.value);
    return gid;
  }
  constexpr GidPrefix prefix() const { return {load_bytes<8>(bytes.data())}; }
  constexpr Guid guid() const { return {load_bytes<8>(bytes.data() + 8)}; }
  constexpr bool is_multicast() const { return bytes[0] == 0xff; }
};

/// Local identifier (IBA 4.1.3): 0 is unassigned, 1…0xbfff unicast, 0xc000…0xfffe multicast, 0xffff permissive.
struct Lid {
  std::uint16_t value{};
  constexpr auto operator<=>(const Lid&) const = default;
  constexpr bool is_unicast() const { return value >= 1 && value <= 0xbfff; }
  constexpr bool is_multicast() const { return value >= 0xc000 && value != 0xffff; }
};
inline constexpr Lid permissive_lid{0xffff};
inline constexpr std::uint16_t last_unicast_lid = 0xbfff;

/// Partition key. Bit 15 set means full membership (IBA 10.9).
struct Pkey {
  std::uint16_t value{};
  constexpr auto operator<=>(const Pkey&) const = default;
};
inline constexpr Pkey default_pkey{0xffff};

/// 24-bit queue pair number. QP0 carries SMPs, QP1 carries GMPs (IBA 3.9).
struct Qpn {
  std::uint32_t value{};
  constexpr auto operator<=>(const Qpn&) const = default;
};

/// True for vendor classes of range 2, whose MADs carry an OUI (IBA 16.5).
constexpr bool has_oui(std::uint8_t mgmt_class) { return mgmt_class >= 0x30 && mgmt_class <= 0x4f; }
/// True for vendor classes of either range (IBA 16.5).
constexpr bool is_vendor(std::uint8_t mgmt_class) { return (mgmt_class >= 0x09 && mgmt_class <= 0x0f) || has_oui(mgmt_class); }

}  // namespace ib

template <>
struct std::hash<ib::Guid> {
  std::size_t operator()(ib::Guid g) const noexcept { return std::hash<std::uint64_t>{}(g.value * 0x9e3779b97f4a7c15U); }
};
template <>
struct std::hash<ib::Lid> {
  std::size_t operator()(ib::Lid l) const noexcept { return l.value; }
};
