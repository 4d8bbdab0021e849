// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The multicast groups of the SA.
#pragma once

#include <string>
#include <vector>

#include "iba-gen/sa.hpp"
#include "tools/frame/session.hpp"

namespace ib::tools {

/// All MCMemberRecords of the SA. None where no SA is known, or where it did not give a whole table; `why` then says so. Throws SysError.
async::Task<std::vector<sa::MCMemberRecord>> read_group_records(Session& session, std::string& why);

}  // namespace ib::tools
