// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// saquery: lists records by pattern, and finds nodes by name, LID or GUID. ibtool's front end is saquery.cpp, with its searches in
// nodes.cpp. infiniband-diags' front end is diags_query.cpp, with its text in diags_forms.cpp. The reports and the list of subnet managers
// belong to both.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "async/task.hpp"
#include "iba-gen/sa.hpp"
#include "mad/transactor.hpp"
#include "sa/records.hpp"
#include "tools/frame/options.hpp"
#include "tools/saquery/diags_forms.hpp"
#include "tools/shared/records_report.hpp"
#include "tools/shared/table_options.hpp"

namespace ib::tools {
class Command;
class Manners;
class Session;
class Stack;
}  // namespace ib::tools

namespace ib::tools::saquery {

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
/// The nodes of `list` by one or two queries of the SA. `word` is the name, LID or GUID. Throws Error if there is no such node.
async::Task<sa::Nodes> find_nodes(Session& session, ListKind list, std::string word);
/// Emits the list about `nodes`, as a table where `table` wants one.
void emit_nodes(Stack& stack, Emit& emit, ListKind list, sa::Nodes nodes, const TableOptions& table = {});
std::vector<std::string> node_list_keys();
async::Task<> list_managers(Stack& stack, Emit& emit, FetchRecords fetch);

std::string description_of(const sa::NodeRecord& node);
/// Whether the node has the name `name`, in the node name map or in its description.
bool is_called(Manners& manners, const sa::NodeRecord& node, std::string_view name);
/// The LID that `text` means: a number, or a target (Targets::path()). Empty if it can be neither. Throws UsageError for a name that no
/// node has, or several.
async::Task<std::optional<Lid>> lid_of(Session& session, std::string text);

/// SRC:DST of --src-to-dst, where either end may have colons of its own: a GUID, or the name of a node. An empty word is any end.
struct TwoEnds {
  std::string source, destination;
};
/// Divides `text`, which has a colon, where both parts are targets. A division into addresses and whole words of names is preferred to one
/// with pieces of names. Throws UsageError if no division is left, or several.
async::Task<TwoEnds> two_ends(Targets& targets, std::string text);

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
