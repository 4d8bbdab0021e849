// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Asking the subnet administrator for records of any kind: what subn_adm_get() and subn_adm_get_table()
// are to typed records, for those that a program knows by their descriptor only.
#pragma once

#include <cstdint>

#include "mad/transactor.hpp"
#include "sa/pattern.hpp"
#include "sa/record_rows.hpp"

namespace ib::sa {

/// What the SA answered.
struct Records {
  const StructInfo* type{};
  RecordBuffer bytes;     ///< of each record; may be shorter than the type, the rest counts as zero
  bool cut = false;       ///< the SA has more, but its answer did not arrive whole
  bool torn = false;      ///< why it is cut: it ends within a record, and narrower queries would bring no more
  bool in_parts = false;  ///< it came cut, and was asked for again in parts
};

/// The method that asks for all records of a kind: SubnAdmGetTable, or where there is no such of it GetMulti or GetTraceTable;
/// Get of what there is one of.
std::uint8_t list_method(const StructInfo& record);

/// Asks the SA at the end of `path` for the records that `pattern` matches, by a list method or, for `method` Get, for the
/// only one. A table that comes cut is asked for again in parts: see ask_in_parts(). The error is an SaError with code 3 where a
/// Get finds none (some SAs say so of a table as well), 4 where there are several. Throws Error where the answer contradicts
/// itself. All references must live until the task ends.
async::Task<mad::Result<Records>> try_records(mad::Transactor& transactor, const path::Path& path, const Pattern& pattern,
                                              std::uint8_t method = mad::method::get_table, std::uint32_t modifier = 0);

/// The one answer to one query, cut or not.
async::Task<mad::Result<Records>> try_answer(mad::Transactor& transactor, const path::Path& path, const Pattern& pattern,
                                             std::uint8_t method, std::uint32_t modifier);

/// try_records() of the transactor's own SA. No records are an empty answer and no error.
async::Task<Records> find_records(mad::Transactor& transactor, const Pattern& pattern);

/// Whether `error` is the SA's word that there are no such records.
bool is_no_records(const mad::MadError& error);

}  // namespace ib::sa
