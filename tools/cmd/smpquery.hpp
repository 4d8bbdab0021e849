// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The operations of smpquery. Those that print one attribute are in smpquery.cpp, the tables in smpquery_tables.cpp.
#pragma once

#include <cstdint>
#include <string_view>

#include "async/task.hpp"
#include "mad/transactor.hpp"
#include "path/path.hpp"
#include "tools/emit.hpp"
#include "tools/session.hpp"

namespace ib::tools::smpquery {

/// What an operation is asked; it lives as long as the operation runs.
struct Query {
  Session& session;
  Emit& emit;
  mad::Transactor& transactor;
  const path::Path& path;
  std::uint32_t modifier;  ///< ATTR_MOD, usually a port number
  bool extended;           ///< -x: ask PortInfo for extended speeds
};

struct Operation {
  std::string_view name, short_name, attribute;  ///< any of them, abbreviated if unambiguous, in any case
  async::Task<> (*run)(const Query& query);
  bool classic;  ///< one of python-rdma's: its abbreviations win over those of newer operations
};

async::Task<> pkey_table(const Query& query);
async::Task<> sl2vl_table(const Query& query);
async::Task<> vl_arbitration(const Query& query);
async::Task<> guid_info(const Query& query);
async::Task<> linear_forwarding_table(const Query& query);
async::Task<> multicast_forwarding_table(const Query& query);

/// The operation of that name. Throws UsageError "Unknown operation 'zz'" or "Ambiguous operation 'n'".
const Operation& find_operation(std::string_view word);

}  // namespace ib::tools::smpquery
