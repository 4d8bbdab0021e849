// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Ports as perfquery takes them: 3, 1,4,8 or 1-10.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ib::tools::perfquery {

/// Throws UsageError for what is no port, and for more than 256.
std::vector<std::uint8_t> read_ports(std::string_view text);
/// The same as infiniband-diags reads it: what is no number is 0. Throws DiagsFailure for a range that goes down.
std::vector<std::uint8_t> read_diags_ports(const std::string& text);

}  // namespace ib::tools::perfquery
