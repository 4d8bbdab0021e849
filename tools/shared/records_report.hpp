// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// A report of records of the subnet administrator.
#pragma once

#include <string>

#include "base/bytes.hpp"
#include "base/keys.hpp"
#include "iba/struct_info.hpp"
#include "sa/record_text.hpp"
#include "sa/records.hpp"
#include "tools/frame/emit.hpp"

namespace ib::tools {

using sa::RecordNames;

/// Writes the array `key` of records, structures of `type`.
void visit_records(report::Sink& sink, std::string_view key, const sa::RecordBuffer& records, const StructInfo& type, Keys keys);

struct RecordsReport : Report {
  sa::Pattern pattern;  ///< the pattern of the query
  sa::Records records;
  bool single = false;  ///< the query was a SubnAdmGet
  bool none = false;    ///< the SA answered that there are no records
  RecordNames names = RecordNames::saquery;
  Keys keys = Keys::hidden;

  explicit RecordsReport(sa::Pattern wanted) : pattern(std::move(wanted)) {}
  void visit(report::Sink& sink) const override;
  /// Writes what precedes the records.
  void visit_query(report::Sink& sink) const;
  void visit_records(report::Sink& sink, std::string_view key) const;
  /// A line for each record.
  void text(TextOut& out) const override;
  Exit status() const override { return records.torn ? Exit::incomplete : Exit::ok; }
};

/// The warning for an answer that came without its end, with the number of records that arrived.
std::string torn_text(std::size_t arrived);
void warn_torn(Log& log, std::size_t arrived);

}  // namespace ib::tools
