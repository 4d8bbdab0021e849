// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// smpquery --all: an attribute of all ports, or of all nodes, of the fabric as a table. Its columns are those of the node and the fields of
// the attribute.
#pragma once

#include <string_view>

#include "async/task.hpp"
#include "iba/queries.hpp"
#include "tools/frame/emit.hpp"
#include "tools/frame/session.hpp"
#include "tools/shared/table_options.hpp"

namespace ib::tools::smpquery {

/// "ports" or "nodes": the list in JSON. Throws UsageError for an attribute in blocks.
std::string_view listed_rows(const QueryInfo& query);
/// The names of the columns in JSON. None for an attribute in blocks.
std::vector<std::string> listed_keys(const QueryInfo& query);

/// Reads the attribute and prints the table. Devices that do not have the attribute are not in it.
async::Task<> list_all(Session& session, Emit& emit, const QueryInfo& query, const TableOptions& options);

}  // namespace ib::tools::smpquery
