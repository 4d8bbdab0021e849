// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Shortens lists of host names: "n1", "n2", "n3" become "n1-3".
#pragma once

#include <string>
#include <vector>

namespace ib::tools::using_link {

/// The names in one line, in the format of infiniband-diags' ibfindnodesusing. Names are sorted by the number at their end. Consecutive
/// numbers after the same text become a range. Ranges are sorted by their text. A blank takes the place of each comma, and one blank
/// precedes the first name.
std::string host_list(std::vector<std::string> names);

}  // namespace ib::tools::using_link
