// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// saquery: lists records by pattern, and finds nodes by name, LID or GUID. ibtool's front end is saquery.cpp, infiniband-diags' is
// diags_query.cpp. The reports on records, nodes and subnet managers in reports.cpp belong to both.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "async/task.hpp"
#include "base/bytes.hpp"
#include "base/keys.hpp"
#include "iba-gen/sa.hpp"
#include "iba/libibmad_text.hpp"
#include "iba/struct_info.hpp"
#include "mad/transactor.hpp"
#include "sa/records.hpp"
#include "subnet/model/names.hpp"
#include "tools/frame/options.hpp"
#include "tools/frame/report.hpp"
#include "tools/shared/table_options.hpp"

namespace ib::tools {
class Command;
class Emit;
class Manners;
class Session;
class Stack;
}  // namespace ib::tools

namespace ib::tools::saquery {

enum class ListKind {
  records,  ///< records that match a pattern
  // about nodes, which are selected by name (the first three), LID or GUID
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

enum class NodeKey { none, name, lid, guid };
constexpr NodeKey node_key(ListKind list) {
  if (list == ListKind::name_of_lid) return NodeKey::lid;
  if (list == ListKind::name_of_guid) return NodeKey::guid;
  return list >= ListKind::lids && list <= ListKind::guids ? NodeKey::name : NodeKey::none;
}

struct RecordStyle {
  const subnet::NodeNameMap& names;
  Keys keys = Keys::hidden;
  std::uint32_t capability_mask2 = 0;       ///< CapabilityMask2 in the ClassPortInfo of the SA
  std::span<const sa::NodeRecord> nodes{};  ///< for forms that print the name of a GID's node
  NewFields new_fields{};                   ///< of a PortInfo
};

class RecordLines;

struct RecordForm {
  std::string_view name, alias;  ///< the names on the command line; empty if an option selects the record
  std::string_view arguments;    ///< the members in the words that follow, divided by slashes: "from_lid/from_port to_lid/to_port"
  std::string_view title;
  std::size_t column;  ///< the column of the values, counted from the labels
  const StructInfo& (*info)();
  /// LABEL=MEMBER+SKIPPED*BITS:FORMAT divided by |, where all but LABEL may be left out. MEMBER is a path, as find_path() takes it. BITS
  /// is the size of a word of several members, which begins SKIPPED bits behind the start of MEMBER. A text after a tab is a whole line.
  std::string_view lines;
  void (*rest)(RecordLines& out) = nullptr;  ///< adds what no line says
};

/// The forms of records that have a name on the command line.
std::span<const RecordForm> record_forms();
/// The form with that name or alias, in upper or lower case. Null if there is none.
const RecordForm* find_form(std::string_view word);
const RecordForm& form_of(const StructInfo& info);

/// A short PortInfoRecord; a MCMemberRecord as a group, as a member, or as the GID of the member.
enum class SpecialForm { port_summary, mc_group, mc_member, mc_gid };
const RecordForm& special_form(SpecialForm which);

/// The text of a record. Missing bytes count as zero. The text is safe for terminals.
std::string record_text(const RecordForm& form, Bytes record, const RecordStyle& style);

/// The name of a node: the site's name, else its description.
std::string node_name(const sa::NodeRecord& node, const subnet::NodeNameMap& names);

/// A report of records, with the form in which infiniband-diags prints them.
struct RecordsReport : Report {
  sa::Pattern pattern;  ///< the pattern of the query
  sa::Records records;
  bool single = false;  ///< the query was a SubnAdmGet
  bool none = false;    ///< the SA answered that there are no records
  sa::RecordNames names;
  std::optional<ListReport<Bytes>> table;  ///< the records as a table, in the place of the listing
  const RecordForm* form{};
  RecordStyle style;
  std::function<bool(Bytes record)> shown;  ///< selects the records that infiniband-diags prints; empty: all

  RecordsReport(Stack& stack, sa::Pattern wanted);
  void visit(report::Sink& sink) const override;
  /// Writes the records as the array `key`.
  void visit_records(report::Sink& sink, std::string_view key) const;
  void text(TextOut& out) const override;
  void diags_text(TextOut& out) const override;
  Exit status() const override { return records.torn ? Exit::incomplete : Exit::ok; }
};

/// Reads the records that match the pattern of `report` into it. If there are none, `report` says so; throws a MadError for any other
/// failure. For infiniband-diags any failure, to which "no records" belongs, ends the program with its message and status (exit_for()).
async::Task<> fetch_records(Stack& stack, RecordsReport& report, std::uint8_t method = mad::method::get_table, std::uint32_t modifier = 0);
/// Throws DiagsExit for a query for `record` that failed.
[[noreturn]] void exit_for(const StructInfo& record, const mad::MadError& error);
void emit_nodes(Stack& stack, Emit& emit, ListKind list, sa::Nodes nodes, const TableOptions& table = {});
std::vector<std::string> node_list_keys();
async::Task<> list_managers(Stack& stack, Emit& emit);

std::string description_of(const sa::NodeRecord& node);
/// An option that selects the list: a kind of records in ibtool's dialect (if there is one), and `list` in infiniband-diags' dialect.
struct ListOption {
  Spelling spelling;
  std::string_view record;
  ListKind list;
  std::string_view help;
};
inline constexpr ListOption list_options[] = {
    {{"-p", "-p --p"}, "PathRecord", ListKind::records, "PathRecords"},
    {{"-N", "-N --N"}, "NodeRecord", ListKind::nodes, "NodeRecords"},
    {{"-g", "-g --g"}, "MCMemberRecord", ListKind::groups, "MCMemberRecords, of the groups"},
    {{"-m", "-m --m"}, "MCMemberRecord", ListKind::members, "MCMemberRecords, of the members"},
    {{"-x", "-x --x"}, "LinkRecord", ListKind::records, "LinkRecords"},
    {{"-c", "-c --c"}, "ClassPortInfo", ListKind::records, "ClassPortInfo of the SA"},
    {{"-S", "-S --S"}, "ServiceRecord", ListKind::records, "ServiceRecords"},
    {{"-I", "-I --I"}, "InformInfoRecord", ListKind::records, "InformInfoRecords: subscriptions to events"},
    {{"-L", "-L --L"}, "", ListKind::lids, "The LIDs of the node that the operand names"},
    {{"-l", "-l --l"}, "", ListKind::one_lid, "The first LID of the node that the operand names"},
    {{"-G", "-G --G"}, "", ListKind::guids, "The port GUIDs of the node that the operand names"},
    {{"-O", "-O --O"}, "", ListKind::name_of_lid, "The name of the node whose LID is the operand"},
    {{"-U", "-U --U"}, "", ListKind::name_of_guid, "The name of the node whose GUID is the operand"},
    {"-D --list", "", ListKind::adapters, "LIDs and names of all channel adapters"},
    {{"-s", "-s --s"}, "", ListKind::managers, "The ports at which a subnet manager runs or is disabled"},
};

/// The way in which infiniband-diags reads the value of an option.
enum class DiagsValue { number, key, gid };

/// The number that means to infiniband-diags that an option or a word is not given: no bit of the lowest `bits` is set, or all are.
struct NotGiven {
  bool all_ones;
  unsigned bits;

  bool is(std::uint64_t number) const {
    const std::uint64_t all = ~std::uint64_t{0} >> (64 - bits);
    return (number & all) == (all_ones ? all : 0);
  }
};
constexpr NotGiven zero_of(unsigned bits) { return {false, bits}; }
constexpr NotGiven ones_of(unsigned bits) { return {true, bits}; }

struct MemberOption {
  Spelling spelling;
  std::string_view member;
  DiagsValue value;
  NotGiven not_given{};                      ///< of a number or key
  NotGiven not_given_of_member = not_given;  ///< of a number or key in a query for MCMemberRecords

  std::string help() const;  ///< `MTU of PathRecord, MCMemberRecord`
};
inline constexpr MemberOption member_options[] = {
    {"--slid", "SLID", DiagsValue::number, zero_of(16)},
    {"--dlid", "DLID", DiagsValue::number, zero_of(16)},
    {"--mlid", "MLID", DiagsValue::number, zero_of(16)},
    {"--sgid", "SGID", DiagsValue::gid},
    {"--dgid", "DGID", DiagsValue::gid},
    {"--gid", "portGID", DiagsValue::gid},
    {"--mgid", "MGID", DiagsValue::gid},
    {"-r --reversible", "reversible", DiagsValue::number, ones_of(8)},
    {"-n --numb_path --numb-path", "numbPath", DiagsValue::number, ones_of(8)},
    {"--pkey", "PKey", DiagsValue::key, zero_of(16)},
    {"-Q --qos_class --qos-class", "QOSClass", DiagsValue::number, ones_of(32)},
    {"--sl", "SL", DiagsValue::number, ones_of(16), ones_of(8)},
    {"-M --mtu", "MTU", DiagsValue::number, zero_of(8)},
    {"-R --rate", "rate", DiagsValue::number, zero_of(8)},
    {"--pkt_lifetime --pkt-lifetime", "packetLifeTime", DiagsValue::number, zero_of(8)},
    {"-q --qkey", "QKey", DiagsValue::key, zero_of(32)},
    {"-T --tclass", "TClass", DiagsValue::number, zero_of(8)},
    {"-H --hop_limit --hop-limit", "hopLimit", DiagsValue::number, ones_of(32), ones_of(8)},
    {"--scope", "scope", DiagsValue::number, zero_of(8)},
    {"-J --join_state --join-state", "joinState", DiagsValue::number, zero_of(8)},
    {"-X --proxy_join --proxy-join", "proxyJoin", DiagsValue::number, ones_of(8)},
    {"--service_id --service-id", "serviceID", DiagsValue::number, zero_of(64)},
};
/// By infiniband-diags its letter is F, by python-rdma f and F.
inline constexpr MemberOption flow_label{"-F --flow_label", "flowLabel", DiagsValue::number, zero_of(8)};

/// Adds the options whose value `take` gets with the option: those that both dialects spell alike.
template <class Take>
void add_member_options(OptionSet& set, Take take) {
  for (const MemberOption& option : member_options)
    set.value(option.spelling, "VALUE", option.help(), [take, &option](const std::string& text) { take(option, text); });
}

/// Adds the options that give both ends of a path, as LIDs or as GIDs.
template <class TakeLids, class TakeGids>
void add_path_options(OptionSet& set, TakeLids take_lids, TakeGids take_gids) {
  set.value("--src-to-dst", "SRC:DST", "The paths between two LIDs or names of nodes", take_lids);
  set.value("--sgid-to-dgid", "SGID-DGID", "The paths between two GIDs", take_gids);
}

inline constexpr std::uint64_t all_paths = 0x7f;

/// Some values have a selector: two bits that stand above the value in the words of infiniband-diags, and a member of its own in a record.
inline constexpr unsigned selected_bits = 6;
inline std::string selector_of(std::string_view member) { return std::string(member) + "Selector"; }

std::unique_ptr<Command> make_saquery_diags();

}  // namespace ib::tools::saquery
