// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The tables of a subnet administrator that are worth keeping, and the query that reads each of them whole. A kept table is the
// answer to this query as it came: the MAD with all records. sa/stored_answers.hpp answers other queries from kept tables.
//
// Some records differ for a query with the SM_Key, which the SA trusts (IBA 15.4.1): only such a query gets P_Key tables, the
// members of multicast groups, the QPs of subscribers, and keys.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "iba/queries.hpp"
#include "mad/transactor.hpp"

namespace ib::sa {

/// All tables that are worth keeping: the records that iba-defs has in the part sa of a snapshot, in its order. Their names are unique:
/// "NodeRecord", "PathRecord", "MCMemberRecord", "MCMemberRecord groups".
std::span<const QueryInfo> stored_table_infos();
/// The table of that name. Null if there is none.
const QueryInfo* find_stored_table(std::string_view name);

/// The table that has the answer to `request`. Null if no table can have it. Two tables have MCMemberRecords: the members, for a
/// request with an SM_Key on its path, and the groups without their members, for any other request.
const QueryInfo* stored_table_for(const mad::Request& request);

/// Options of read_tables().
struct TableReading {
  /// Gets each table that was read: the answer of the SA.
  std::function<void(const QueryInfo& table, const mad::Reply& reply)> keep = {};
  /// Gets the number of tables that are done, and of all tables.
  std::function<void(std::size_t done, std::size_t all)> progress = {};
  /// Reads the keys in records. If false, the keys are zero: where possible they are not requested from the SA, and hide_keys() makes the
  /// others zero.
  bool with_keys = false;
};

/// A table that could not be read, or that came without its end. The part that came is kept.
struct TableFailure {
  const QueryInfo* table;
  std::shared_ptr<const mad::MadError> error;  ///< null if the answer contradicts itself, or came without its end
  std::string why;                             ///< a message for people
};

/// Reads `tables` from the SA of the transactor's end port, the first by itself, the others several at a time. Each is requested once. One
/// that fails does not stop the others, except where the SA is silent: then no further query is sent, and the tables that were not
/// requested have the error of the query that was not answered. Queries with a key carry the SM_Key of the transactor's SA path, or else
/// the default key of SAs: 1 (iba-defs, SM_Key). The result is in the order of `tables`. Throws SysError if this host cannot send.
async::Task<std::vector<TableFailure>> read_tables(mad::Transactor& transactor, std::vector<const QueryInfo*> tables, TableReading reading);

/// Makes the keys in a kept table zero: those of its records, and the SM_Key of its header. `mad` is the reply to the table's query.
void hide_keys(const QueryInfo& table, MutableBytes mad);

}  // namespace ib::sa
