// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// iblinkinfo --diff in infiniband-diags' dialect: prints the links that differ from a stored fabric. Lines of the stored fabric begin with
// "< ", lines of the present fabric begin with "> ".
#pragma once

#include "tools/iblinkinfo/diags_links.hpp"
#include "tools/shared/fabric_diff.hpp"

namespace ib::tools {

/// The words of --diffcheck, and the comparisons without this option.
DiffOptions link_diff_options();

/// Appends the differences, in the order of the nodes of each side.
void print_link_differences(std::string& out, const DiagsLinks& was, const DiffSide& before, const DiagsLinks& is, const DiffSide& after,
                            const DiffChecks& checks);

}  // namespace ib::tools
