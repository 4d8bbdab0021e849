// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Ports as perfquery takes them: 3, 1,4,8 or 1-10.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ib::tools::perfquery {

/// Port numbers 0…255. By the name of infiniband-diags whatever C reads: the heading shows the number, PortSelect is its lowest byte.
using PortNumbers = std::vector<std::int32_t>;

/// Reads port numbers. Throws UsageError for a word that is not a port number, and for more than 256 ports.
PortNumbers read_ports(std::string_view text);
/// Reads port numbers as infiniband-diags does: a word that is not a number is 0. Throws DiagsFailure for a range that goes down.
PortNumbers read_diags_ports(const std::string& text);

}  // namespace ib::tools::perfquery
