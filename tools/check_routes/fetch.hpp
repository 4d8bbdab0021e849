// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Where the tables come from: switches, a snapshot, files, and the SA.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "async/task.hpp"
#include "tools/check_routes/found.hpp"
#include "tools/check_routes/wanted.hpp"

namespace ib::tools::routes {

/// Reads the forwarding tables of all switches; with files of --lfts only those of multicast. Returns what failed.
async::Task<std::vector<subnet::Failure>> read_tables(Stack& stack, const Wanted& wanted, Tables& tables);
/// Reads the groups of the SA: members as far as it names them, and SLs. Nothing where no SA is known; `why` then says so.
async::Task<> read_groups(Stack& stack, Tables& tables, std::string& why);
/// Reads the paths of the SA from one source after another, for their SLs. Where that fails, the SLs stay unknown; `why` then says so.
async::Task<> read_paths(Stack& stack, Tables& tables, bool with_switches, std::string& why);

/// Reads the files of --lfts into the tables. Returns remarks on them, one line each. Throws UsageError or SysError.
std::vector<std::string> read_table_files(const std::vector<std::string>& files, Tables& tables);
/// Reads the file of --psl. Returns remarks on it. Throws UsageError or SysError.
std::vector<std::string> read_level_file(const std::string& file, Tables& tables, bool with_switches);

}  // namespace ib::tools::routes
