// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The options of saquery that both dialects have.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "tools/frame/options.hpp"
#include "tools/saquery/saquery.hpp"

namespace ib::tools::saquery {

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

/// An option that sets a member of the pattern.
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

/// The greatest numbPath.
inline constexpr std::uint64_t all_paths = 0x7f;

/// Some values have a selector: two bits that stand above the value in the words of infiniband-diags, and a member of its own in a record.
inline constexpr unsigned selected_bits = 6;
inline std::string selector_of(std::string_view member) { return std::string(member) + "Selector"; }

}  // namespace ib::tools::saquery
