// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The tables of a subnet administrator that are worth keeping, and the query that reads each of them whole. A kept table is the
// answer to this query as it came: the MAD with all records. StoredAnswers answers other queries from kept tables.
//
// Some records differ for a query with the SM_Key, which the SA trusts (IBA 15.4.1): only such a query gets P_Key tables, the
// members of multicast groups, the QPs of subscribers, and keys.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "iba/queries.hpp"
#include "mad/transactor.hpp"
#include "sa/subn_adm.hpp"

namespace ib::sa {

inline constexpr std::size_t sm_key_at = 36, sm_key_size = 8;  ///< bytes of a MAD of the SA (IBA 15.2.1.1)

/// All tables that are worth keeping: the records that iba-defs has in the part sa of a snapshot, in its order. Their names are unique:
/// "NodeRecord", "PathRecord", "MCMemberRecord", "MCMemberRecord groups".
std::span<const QueryInfo> stored_table_infos();
std::string_view table_name(const QueryInfo& table);
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

/// Makes the keys in the records and the SM_Key in the header of a kept table zero. `mad` is the reply to the table's query.
void hide_keys(const QueryInfo& table, MutableBytes mad);

/// The answer to a SubnAdmGet or SubnAdmGetTable with `records`, in the form of the answers of an SA. Each record is cut or filled with
/// zeros to `step` bytes, a multiple of 8: SAs differ in their size. For a Get, no record is the error "No records", and several are "Too
/// many records" (IBA C15-0.1.30). A table may be empty. `torn` says that there may be more records.
mad::Result<mad::Reply> table_reply(const mad::Request& request, std::size_t step, std::span<const Bytes> records, bool torn = false);

/// The error of an SA that answers `request` with `status` (all 16 bits).
std::shared_ptr<const mad::MadError> error_reply(const mad::Request& request, std::uint16_t status);

/// Answers queries of a subnet administrator from stored tables: the records that have the values of the query, for
/// the components that its component mask names (IBA 15.2.1.1), in the order of the table. What else an SA does with a query is its own
/// affair: a LID of a range that is not the base LID finds nothing here, for instance.
///
/// Example:
///   StoredAnswers answers(end_port, [&](const QueryInfo& table) { return file.table(table_name(table)); });
///   if (const auto why = answers.not_in_table(request)) throw Error(*why);
///   co_return answers.answer(request);
class StoredAnswers {
 public:
  /// Gives the stored answer to the query for a table, or the error that came instead. Nothing if the table was not read.
  using Load = std::function<std::optional<mad::Result<mad::Reply>>(const QueryInfo& table)>;

  /// `end_port` is the port that read the tables; it must outlive this object. Each table is loaded when it is needed first.
  StoredAnswers(const sys::EndPort& end_port, Load load);
  ~StoredAnswers();
  StoredAnswers(const StoredAnswers&) = delete;
  StoredAnswers& operator=(const StoredAnswers&) = delete;

  /// Whether a table would have the answer to `request`, but was not read. not_in_table() says so too. Throws Error if the table
  /// contradicts itself.
  bool is_unread(const mad::Request& request);

  /// Why stored tables cannot answer `request`, as a sentence for people. Nothing if they can. `request` is a request of the class of
  /// subnet administration. Throws Error if a stored table contradicts itself.
  std::optional<std::string> not_in_table(const mad::Request& request);

  /// The answer to a request that not_in_table() accepts, in the form in which it would have come from the SA: a reply, or an error.
  /// For a table that the SA refused or did not send, this is the stored error. If the stored table is torn, an answer with a table from it
  /// is torn too. Throws Error if a stored table contradicts itself.
  mad::Result<mad::Reply> answer(const mad::Request& request);

 private:
  struct Stored;
  Stored& stored(const QueryInfo& table);
  std::optional<bool> has_qos();

  /// The table whose records answer the request. Null if there is none.
  const QueryInfo* table_of(const mad::Request& request);
  std::optional<std::string> not_in_rows(const mad::Request& request, const QueryInfo& table);

  std::vector<Bytes> selected(const mad::Request& request, const QueryInfo& table);

  const sys::EndPort& end_port_;
  Load load_;
  std::map<const QueryInfo*, std::unique_ptr<Stored>> tables_;
};

}  // namespace ib::sa
