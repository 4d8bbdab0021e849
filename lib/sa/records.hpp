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
  RecordBuffer bytes;  ///< of each record; may be shorter than the type, the rest counts as zero
  bool torn = false;   ///< the answer ends within a record: the SA may have more
};

/// The method that asks for all records of a kind: SubnAdmGetTable, or where there is no such of it GetMulti or GetTraceTable;
/// Get of what there is one of.
std::uint8_t list_method(const StructInfo& record);

/// Asks the SA at the end of `path` for the records that `pattern` matches, by a list method or, for `method` Get, for the
/// only one. The error is an SaError with code 3 where a Get finds none (some SAs say so of a table as well), 4 where there are
/// several. Throws Error where the answer contradicts itself. All references must live until the task ends.
async::Task<mad::Result<Records>> try_records(mad::Transactor& transactor, const path::Path& path, const Pattern& pattern,
                                              std::uint8_t method = mad::method::get_table, std::uint32_t modifier = 0);

/// The bytes of a record up to the end of the last field that says something: SAs differ in what they pad it to.
std::size_t least_size(const StructInfo& record);

/// try_records() of the transactor's own SA. No records are an empty answer and no error.
async::Task<Records> find_records(mad::Transactor& transactor, const Pattern& pattern);

/// Whether `error` is the SA's word that there are no such records.
bool is_no_records(const mad::MadError& error);

}  // namespace ib::sa
