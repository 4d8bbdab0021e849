// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// saquery: lists records by pattern, and finds nodes by name, LID or GUID. ibtool's front end is saquery.cpp, with its searches in
// nodes.cpp. infiniband-diags' front end is diags_query.cpp, with its searches and failures in diags_fetch.cpp and its text in
// diags_forms.cpp. The reports and the list of subnet managers belong to both.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "async/task.hpp"
#include "iba-gen/sa.hpp"
#include "mad/transactor.hpp"
#include "sa/nodes.hpp"
#include "sa/records.hpp"
#include "tools/frame/emit.hpp"
#include "tools/frame/session.hpp"
#include "tools/saquery/diags_forms.hpp"
#include "tools/shared/records_report.hpp"
#include "tools/shared/table_options.hpp"

namespace ib::tools::saquery {

/// What a run lists.
enum class ListKind {
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

/// What the operand of a list about nodes is.
enum class NodeKey { none, name, lid, guid };
NodeKey node_key(ListKind list);

/// A report of records, with the form in which infiniband-diags prints them.
struct FormedReport : RecordsReport {
  const RecordForm* form{};
  RecordStyle style;
  std::function<bool(Bytes record)> shown;  ///< selects the records to print; empty: all

  FormedReport(Stack& stack, const sa::Pattern& wanted);
  void diags_text(TextOut& out) const override;
};

/// Reads the records that match the pattern of `report` into it.
using FetchRecords = async::Task<> (*)(Stack& stack, RecordsReport& report, std::uint8_t method, std::uint32_t modifier);

/// FetchRecords: if there are no records, `report` says so. Throws a MadError for any other failure.
async::Task<> fetch_records(Stack& stack, RecordsReport& report, std::uint8_t method = mad::method::get_table, std::uint32_t modifier = 0);
/// FetchRecords: a failure, to which "no records" belongs, ends the program with infiniband-diags' message and status (DiagsExit).
async::Task<> fetch_records_or_exit(Stack& stack, RecordsReport& report, std::uint8_t method = mad::method::get_table,
                                    std::uint32_t modifier = 0);

/// The nodes of `list` by one or two queries of the SA. `word` is the name, LID or GUID. Throws Error if there is no such node.
async::Task<sa::Nodes> find_nodes(Session& session, ListKind list, std::string word);
/// The nodes of `list` among all NodeRecords. If LMC is not zero, a node is found by its base LID only; the SA would find it by all its
/// LIDs.
async::Task<sa::Nodes> search_all_nodes(Session& session, ListKind list, std::string word);
/// Emits the list about `nodes`, as a table where `table` wants one.
void emit_nodes(Stack& stack, Emit& emit, ListKind list, sa::Nodes nodes, const TableOptions& table = {});
/// The names of the columns of that table.
std::vector<std::string> node_list_keys();
/// Lists the ports of subnet managers.
async::Task<> list_managers(Stack& stack, Emit& emit, FetchRecords fetch);

std::string description_of(const sa::NodeRecord& node);
/// Whether the node has the name `name`, in the node name map or in its description.
bool is_called(Manners& manners, const sa::NodeRecord& node, std::string_view name);
/// The LID that `text` means: a number, or a target (Targets::path()). Empty if it can be neither. Throws UsageError for a name that no
/// node has, or several.
async::Task<std::optional<Lid>> lid_of(Session& session, std::string text);
/// The LID that `text` means for infiniband-diags: a number as strtol reads it, or the description of a node. Throws DiagsExit if it is
/// neither.
async::Task<Lid> lid_or_exit(Session& session, std::string text);

/// The command in infiniband-diags' dialect.
std::unique_ptr<Command> make_saquery_diags();

}  // namespace ib::tools::saquery
