// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The multicast groups of the SA.
#pragma once

#include <string>
#include <vector>

#include "iba-gen/sa.hpp"
#include "tools/frame/stack.hpp"

namespace ib::tools {

/// All MCMemberRecords of the SA. Empty if no SA is known, or if it did not answer with a whole table; `why` is then the reason. Throws
/// SysError.
async::Task<std::vector<sa::MCMemberRecord>> read_group_records(Stack& stack, std::string& why);

}  // namespace ib::tools
