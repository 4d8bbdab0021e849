// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Queries of the subnet administrator for records of any kind. subn_adm_get() and subn_adm_get_table() are for typed records;
// these functions are for records that a program knows only by their descriptor.
#pragma once

#include <cstdint>

#include "mad/transactor.hpp"
#include "sa/pattern.hpp"
#include "sa/record_rows.hpp"

namespace ib::sa {

/// The answer of the SA.
struct Records {
  const StructInfo* type{};
  RecordBuffer bytes;  ///< one row for each record; a row may be shorter than the type, and missing bytes count as zero
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
async::Task<Records> find_records(mad::Transactor& transactor, const Pattern& pattern);

/// Whether `error` is the answer of the SA that no record matches.
bool is_no_records(const mad::MadError& error);

}  // namespace ib::sa
