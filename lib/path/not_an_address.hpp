// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#pragma once

#include <string_view>

namespace ib::path {

/// The end of the complaint about a word that is an address of no form.
inline constexpr std::string_view not_an_address = " is not a valid end port address (GID, port GUID or LID)";

}  // namespace ib::path
