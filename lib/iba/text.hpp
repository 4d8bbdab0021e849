// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Text forms of addresses: GUIDs as `0002:c903:0000:1491`, GIDs as IPv6 addresses, prefixes as
// `fe80::/64`, LIDs as decimal numbers. Parsers take hostile text: they accept the whole string or nothing.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "iba/types.hpp"

namespace ib {

/// `0002:c903:0000:1491`
std::string to_text(Guid guid);
/// RFC 5952 as inet_ntop writes it: `fe80::2:c903:0:1491`
std::string to_text(const Gid& gid);
/// The prefix as a network: `fe80::/64`
std::string to_text(GidPrefix prefix);
/// Decimal.
std::string to_text(Lid lid);

/// `0x0002c90300001491`: 16 hex digits, the form of infiniband-diags.
std::string to_hex(Guid guid);
/// `0x` and at least `digits` lower-case hex digits.
std::string to_hex(std::uint64_t value, unsigned digits = 1);

/// A non-negative number in C notation (decimal, 0x hex, leading 0 octal as strtoul(…, 0)), nothing else
/// around it. Empty on anything else and on overflow of 64 bits.
std::optional<std::uint64_t> parse_number(std::string_view text);

/// `0002:c903:0000:1491` (four groups of 1…4 hex digits) or `0x` and up to 16 hex digits, or 16 hex digits.
std::optional<Guid> parse_guid(std::string_view text);
/// An IPv6 address with no scope and no embedded IPv4 address is a GID; embedded IPv4 is accepted as well.
std::optional<Gid> parse_gid(std::string_view text);
/// `fe80::/64`, `fe80::` (lower half zero), `0xfe80000000000000` or `fe80:0000:0000:0000`.
std::optional<GidPrefix> parse_gid_prefix(std::string_view text);
/// A number 0…0xffff in decimal or 0x hex. Leading zeros do not make it octal.
std::optional<Lid> parse_lid(std::string_view text);

}  // namespace ib
