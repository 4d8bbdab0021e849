// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Keys that whoever reads over a shoulder must not learn: in output they are hidden unless -K asks for them.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/bytes.hpp"
#include "iba/struct_info.hpp"

namespace ib::tools {

/// The C++ names of the members of a structure, or of a structure in it, that hold such a key which is not zero.
std::vector<std::string_view> secrets_in(Bytes bytes, const StructInfo& info);

/// The structure with zeros in the place of such keys.
std::vector<std::uint8_t> without_secrets(Bytes bytes, const StructInfo& info);

/// "# The M_Key is set but not displayed: -K shows it" and a newline; empty where there are no `secrets`.
std::string_view secrets_note(const std::vector<std::string_view>& secrets);

}  // namespace ib::tools
