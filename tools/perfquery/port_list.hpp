// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Ports as perfquery takes them: 3, 1,4,8 or 1-10.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ib::tools::perfquery {

/// Port numbers 0…255. By the name of infiniband-diags whatever C reads: the heading shows the number, PortSelect is its lowest byte.
using Ports = std::vector<std::int32_t>;

/// Reads a list of ports: numbers and ranges, between commas. Throws UsageError for a word that is not a port, and for more than 256 ports.
Ports read_ports(std::string_view text);
/// Reads a list of ports as infiniband-diags does: a word that is not a number is 0. Throws DiagsFailure for a range that does not go up.
Ports read_diags_ports(const std::string& text);

}  // namespace ib::tools::perfquery
