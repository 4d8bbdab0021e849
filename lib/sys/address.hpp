// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// GUIDs and GIDs from text that people and sysfs write.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "iba/types.hpp"

namespace ib::sys {

/// A GUID as four groups of up to four hex digits (0002:c903:0:1491), as 16 hex digits, or as 0x and up to 16.
std::optional<Guid> parse_guid(std::string_view text);
/// As parse_guid(), without the 0x form: a number there may be meant as a LID.
std::optional<Guid> parse_guid_groups(std::string_view text);
/// A GID in any text form of an IPv6 address (RFC 4291 2.2).
std::optional<Gid> parse_gid(std::string_view text);

/// 0002:c903:0000:1491
std::string guid_text(Guid guid);
/// fe80::2:c903:0:1491 (RFC 5952)
std::string gid_text(const Gid& gid);

}  // namespace ib::sys
