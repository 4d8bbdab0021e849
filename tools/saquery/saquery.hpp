// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// saquery: lists records by pattern, in ibtool's dialect (saquery.cpp) and in infiniband-diags' (diags_query.cpp, diags_forms.cpp), and
// finds nodes by name, LID or GUID (nodes.cpp). All send their queries through an Ask (ask.cpp).
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "async/task.hpp"
#include "iba-gen/sa.hpp"
#include "mad/transactor.hpp"
#include "sa/records.hpp"
#include "tools/frame/emit.hpp"
#include "tools/frame/session.hpp"
#include "tools/saquery/diags_forms.hpp"
#include "tools/shared/records_report.hpp"

namespace ib::tools::saquery {

/// The kinds of lists.
enum class List {
  records,  ///< records that match a pattern
  // about nodes, which are selected by name, LID or GUID
  lids,
  one_lid,
  guids,
  name_of_lid,
  name_of_guid,
  adapters,
  managers,  ///< ports where subnet managers run or can run
  // only in infiniband-diags' dialect
  nodes,    ///< NodeRecords with a name
  groups,   ///< multicast groups
  members,  ///< the members of all groups, or of one
};

/// A report of records, with the form in which infiniband-diags prints them.
struct FormedReport : RecordsReport {
  const RecordForm* form{};
  RecordStyle style;
  std::function<bool(Bytes record)> shown;  ///< selects the records to print; empty: all

  FormedReport(const Session& session, RecordStyle record_style, const sa::Pattern& asked);
  void diags_text(TextOut& out) const override;
};

/// The state of a run.
struct Ask {
  Session& session;
  Emit& emit;
  bool as_diags;  ///< failures and wrong values end the command with infiniband-diags' messages; no records is a failure too

  mad::Transactor& transactor() const { return session.transactor(); }
  FormedReport report(const sa::Pattern& pattern) const;
  /// Reads the records that match the pattern of `report`.
  async::Task<> fetch(FormedReport& report, std::uint8_t method = mad::method::get_table, std::uint32_t modifier = 0) const;
};

/// Throws if `list` needs `word` (a name, LID or GUID) and it is missing or wrong.
void check_word(List list, const std::optional<std::string>& word, bool as_diags);
/// Makes a list about nodes. `word` is the name, LID or GUID.
async::Task<> look_up(const Ask& ask, List list, std::string word);
/// Lists the ports of subnet managers.
async::Task<> list_managers(const Ask& ask);

/// Whether the node has the name `name`, in the node name map or in its description.
bool is_called(Session& session, const sa::NodeRecord& node, std::string_view name);
/// The LID that `text` means: a number, or the name of a node, which means its first LID. Empty if it is neither. With Ask::as_diags,
/// this ends the command.
async::Task<std::optional<Lid>> lid_of(const Ask& ask, std::string text);

}  // namespace ib::tools::saquery
