// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// iblinkinfo --diff of infiniband-diags: the links that a stored fabric had otherwise, "< " before a line of the stored one, "> " before
// one of the fabric as it is.
#pragma once

#include <optional>

#include "tools/iblinkinfo/diags_links.hpp"
#include "tools/shared/fabric_diff.hpp"

namespace ib::tools {

/// The words of --diffcheck, and what is compared without one.
DiffOptions link_diff_options();

/// Appends what differs. The nodes of both sides are looked at in their order.
void print_link_differences(std::string& out, const DiagsLinks& was, const DiffSide& before, const DiagsLinks& is, const DiffSide& after,
                            const DiffChecks& checks);

}  // namespace ib::tools
