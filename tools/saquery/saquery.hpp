// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// saquery: records by pattern (saquery.cpp), and look-ups that tell who has a name or a LID (nodes.cpp). Both ask by an Ask (ask.cpp);
// what infiniband-diags' records look like stands in diags_forms.cpp.
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

/// What is listed.
enum class List {
  records,  ///< those that match a pattern
  // of nodes, by name, LID or GUID
  lids,
  one_lid,
  guids,
  name_of_lid,
  name_of_guid,
  adapters,
  managers,  ///< ports where subnet managers run or could
  // of infiniband-diags alone
  nodes,    ///< NodeRecords, of a name
  groups,   ///< multicast groups
  members,  ///< the members of all groups, or of one
};

/// Records, with the form in which infiniband-diags writes them.
struct FormedReport : RecordsReport {
  const RecordForm* form{};
  RecordStyle style;
  std::function<bool(Bytes record)> shown;  ///< where not all of them are

  FormedReport(const Session& session, RecordStyle record_style, const sa::Pattern& asked);
  void diags_text(TextOut& out) const override;
};

/// One run.
struct Ask {
  Session& session;
  Emit& emit;
  bool as_diags;  ///< failures and values that are wrong end the command in infiniband-diags' words; that there are no records is one

  mad::Transactor& transactor() const { return session.transactor(); }
  FormedReport report(const sa::Pattern& pattern) const;
  /// Fetches what the pattern of `report` matches.
  async::Task<> fetch(FormedReport& report, std::uint8_t method = mad::method::get_table, std::uint32_t modifier = 0) const;
};

/// Throws where `list` needs the name, LID or GUID `word` and it is missing or wrong.
void check_word(List list, const std::string& word, bool as_diags);
/// Does one of the look-ups, `word` being the name, LID or GUID.
async::Task<> look_up(const Ask& ask, List list, std::string word);
/// Lists the ports of subnet managers.
async::Task<> list_managers(const Ask& ask);

/// Whether the site or the node itself calls it `name`.
bool is_called(Session& session, const sa::NodeRecord& node, std::string_view name);
/// The LID that `text` says: a number, or the name of a node, whose first LID it is. Empty for what is neither; with Ask::as_diags
/// that ends the command.
async::Task<std::optional<Lid>> lid_of(const Ask& ask, std::string text);

}  // namespace ib::tools::saquery
