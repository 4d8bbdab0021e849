// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Directed routes as libibmad reads them.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace ib::tools {

/// "0,1,3": numbers between commas, each as C's atoi() reads it, cut to a byte. The first stands for this node and is not looked at.
/// Nothing for an empty text, or one of more than path::max_hops hops.
std::optional<std::vector<std::uint8_t>> read_diags_route(std::string_view text);

}  // namespace ib::tools
