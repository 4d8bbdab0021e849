// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Text forms of addresses: GUIDs as `0002:c903:0000:1491`, GIDs as IPv6 addresses, prefixes as `fe80::/64`, LIDs as decimal
// numbers. The parsers take untrusted text and accept the whole string or nothing.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "iba/types.hpp"

namespace ib {

/// The GUID in four groups of hex digits: `0002:c903:0000:1491`.
std::string to_text(Guid guid);
/// The GID as inet_ntop writes it (RFC 5952): `fe80::2:c903:0:1491`.
std::string to_text(const Gid& gid);
/// The prefix as a network: `fe80::/64`.
std::string to_text(GidPrefix prefix);
/// The LID as a decimal number.
std::string to_text(Lid lid);

/// `value` as `0x` and at least `digits` lower-case hex digits.
std::string to_hex(std::uint64_t value, unsigned digits = 1);

/// Parses a non-negative number in C notation (decimal, 0x hex, or octal with a leading 0 as strtoul(…, 0) does). Nothing may
/// stand around the number. Empty for any other text and on overflow of 64 bits.
std::optional<std::uint64_t> parse_number(std::string_view text);

/// Parses `0002:c903:0000:1491` (four groups of 1…4 hex digits), `0x` and up to 16 hex digits, or 16 hex digits.
std::optional<Guid> parse_guid(std::string_view text);
/// Parses a GID as an IPv6 address without a scope. An embedded IPv4 address is accepted.
std::optional<Gid> parse_gid(std::string_view text);
/// Parses `fe80::/64`, `fe80::` (lower half zero), `0xfe80000000000000` or `fe80:0000:0000:0000`.
std::optional<GidPrefix> parse_gid_prefix(std::string_view text);
/// Parses a number 0…0xffff in decimal or 0x hex. A leading zero does not mean octal.
std::optional<Lid> parse_lid(std::string_view text);

}  // namespace ib
