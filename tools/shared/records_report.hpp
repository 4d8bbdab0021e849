// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Records of the subnet administrator as a result.
#pragma once

#include <string>

#include "sa/records.hpp"
#include "tools/frame/emit.hpp"
#include "tools/frame/session.hpp"
#include "tools/shared/record_text.hpp"

namespace ib::tools {

struct RecordsReport : Report {
  sa::Pattern pattern;  ///< what was asked for
  sa::Records records;
  bool single = false;  ///< asked for by SubnAdmGet
  bool none = false;    ///< the SA said that there are none
  RecordNames names = RecordNames::saquery;
  Keys keys = Keys::hidden;

  explicit RecordsReport(sa::Pattern asked) : pattern(std::move(asked)) {}
  void visit(out::Sink& sink) const override;
  /// The records alone, as the array `key`.
  void visit_records(out::Sink& sink, std::string_view key) const;
  /// A line for each record.
  void text(TextOut& out) const override;
  Exit status() const override { return records.torn ? Exit::incomplete : Exit::ok; }
};

/// One line on stderr where only that many records of an answer came.
void warn_torn(std::size_t arrived);

}  // namespace ib::tools
