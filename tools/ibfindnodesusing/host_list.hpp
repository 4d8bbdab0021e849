// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Names of hosts in short: "n1", "n2", "n3" as "n1-3".
#pragma once

#include <string>
#include <vector>

namespace ib::tools::using_link {

/// The names as infiniband-diags' ibfindnodesusing puts them in one line: sorted by the number that they end with, runs of numbers behind
/// one text together, and by that text. A blank stands for each comma, and one before the first name.
std::string host_list(std::vector<std::string> names);

}  // namespace ib::tools::using_link
