// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Queries of the subnet administrator for records of any kind. try_subn_adm_get() and subn_adm_get_table() are for typed records;
// these functions are for records that a program knows only by their descriptor, and for finding nodes and links.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/error.hpp"
#include "base/keys.hpp"
#include "iba-gen/sa.hpp"
#include "mad/transactor.hpp"
#include "sa/pattern.hpp"
#include "sa/subn_adm.hpp"

namespace ib::sa {

/// The answer of the SA.
struct Records {
  RecordBuffer bytes;  ///< one row for each record; a row may be shorter than the structure, and missing bytes count as zero
  bool torn = false;   ///< the answer came without its end: the SA may have more records
};

/// The method that requests all records of a kind: SubnAdmGetTable, else GetMulti or GetTraceTable if the record has only that.
/// Get for a record that exists only once.
std::uint8_t list_method(const StructInfo& record);

/// Requests the records that match `pattern` from the SA at the end of `path`, by a list method, or a single record by the
/// method Get. The error is an SaError: code 3 if a Get finds no record (some SAs also use it for a table), code 4 if a Get
/// finds several. Throws Error if the answer contradicts itself. All references must live until the task ends.
async::Task<mad::Result<Records>> try_records(mad::Transactor& transactor, const path::Path& path, const Pattern& pattern,
                                              std::uint8_t method = mad::method::get_table, std::uint32_t modifier = 0);

/// The bytes of a record up to the end of its last field that is not reserved. SAs pad records to different sizes.
std::size_t least_size(const StructInfo& record);

/// Requests records from the transactor's own SA, as try_records() does. If there are no records, the result is empty and there
/// is no error.
async::Task<Records> find_records(mad::Transactor& transactor, const Pattern& pattern, std::uint8_t method = mad::method::get_table);

/// Whether `error` is the answer of the SA that no record matches.
bool is_no_records(const Error& error);

/// Stores the answer of a query. Returns the error of the request, or the one of an answer that contradicts itself; null if there is none.
/// Throws SysError.
template <class T>
async::Task<std::shared_ptr<const Error>> store_answer(async::Task<mad::Result<T>> query, T& into) {
  try {
    mad::Result<T> answer = co_await std::move(query);
    if (!answer) co_return answer.shared_error();
    into = std::move(*answer);
  } catch (const SysError&) {
    throw;
  } catch (const Error& error) {
    co_return std::make_shared<const Error>(error);
  }
  co_return nullptr;
}

using Nodes = Table<NodeRecord>;  ///< one record for each end port

/// The nodes whose NodeRecord has the value `text` of `member` (Pattern::match()). Throws a MadError, and UsageError for a wrong value.
async::Task<Nodes> find_nodes(mad::Transactor& transactor, std::string_view member, std::string_view text);

/// The nodes with the description `name`. Throws a MadError, or UsageError if the name is too long for a description.
async::Task<Nodes> find_nodes_by_name(mad::Transactor& transactor, std::string_view name);

/// The ports of the node with the GUID `guid`; where no node has it, the ports of the nodes with that SystemImageGUID. Throws a MadError.
async::Task<Nodes> find_nodes_by_guid(mad::Transactor& transactor, Guid guid);

// Single links, for following a route. In a query for links, opensm rounds the LID down by its own LMC, but not the LIDs of its switches,
// whose LMC is 0. If the LMC is 2, a query by LID therefore finds no links of three in four switches. A query by port number finds them.

/// The link at `port` of the node at LID `from`. Without `port`, the only link of the end port at `from`. One query is enough
/// if the SA answers it. The error comes from this query.
async::Task<mad::Result<LinkRecord>> find_link(mad::Transactor& transactor, Lid from, std::optional<std::uint8_t> port);

/// The LID at the other end of a link. Throws Error if it is not a unicast LID: no port can have such a LID.
Lid end_of(const LinkRecord& link);

// A record as a listing: its members, then the attribute that it holds in the form of that attribute (record_text.cpp).

/// How members are called: as saquery of python-rdma calls them, or by their names in the C++ structures.
enum class RecordNames : std::uint8_t { saquery, internal };

/// The lines of one record, each indented by two tabs. Safe for terminals.
std::string record_text(Bytes record, const StructInfo& info, RecordNames names, Keys keys = Keys::hidden);

/// Only the table that a record holds: forwarding entries, P_Keys or VL arbitration, each number in full: port masks with all their digits,
/// VLs with the reserved bits above them.
std::string table_text(Bytes record, const StructInfo& info);

}  // namespace ib::sa
