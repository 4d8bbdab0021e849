// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The options of saquery that both dialects have.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "tools/saquery/saquery.hpp"

namespace ib::tools::saquery {

/// An option that selects the list: a kind of records in ibtool's dialect (if there is one), and `list` in infiniband-diags' dialect.
struct Choice {
  std::string_view names, diags_name;
  std::string_view record;
  List list;
  std::string_view help;
};
inline constexpr Choice choices[] = {
    {"-p", "p", "PathRecord", List::records, "PathRecords"},
    {"-N", "N", "NodeRecord", List::nodes, "NodeRecords"},
    {"-g", "g", "MCMemberRecord", List::groups, "MCMemberRecords, of the groups"},
    {"-m", "m", "MCMemberRecord", List::members, "MCMemberRecords, of the members"},
    {"-x", "x", "LinkRecord", List::records, "LinkRecords"},
    {"-c", "c", "ClassPortInfo", List::records, "ClassPortInfo of the SA"},
    {"-S", "S", "ServiceRecord", List::records, "ServiceRecords"},
    {"-I", "I", "InformInfoRecord", List::records, "InformInfoRecords: who is told of which events"},
    {"-L", "L", "", List::lids, "The LIDs of the node that the operand names"},
    {"-l", "l", "", List::one_lid, "The first LID of the node that the operand names"},
    {"-G", "G", "", List::guids, "The port GUIDs of the node that the operand names"},
    {"-O", "O", "", List::name_of_lid, "The name of the node whose LID is the operand"},
    {"-U", "U", "", List::name_of_guid, "The name of the node whose GUID is the operand"},
    {"-D --list", "list", "", List::adapters, "LIDs and names of all channel adapters"},
    {"-s", "s", "", List::managers, "The ports at which a subnet manager runs or is disabled"},
};

/// The way in which infiniband-diags reads the value of an option.
enum class Value { number, key, gid };

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
  std::string_view names, diags_name;  ///< one of them may be empty
  char letter;                         ///< the letter in infiniband-diags' dialect, or 0
  std::string_view member;
  Value value;
  NotGiven not_given{};                      ///< of a number or key
  NotGiven not_given_of_member = not_given;  ///< of a number or key in a query for MCMemberRecords

  std::string help() const;  ///< `MTU of PathRecord, MCMemberRecord`
};
inline constexpr MemberOption member_options[] = {
    {"--slid", "slid", 0, "SLID", Value::number, zero_of(16)},
    {"--dlid", "dlid", 0, "DLID", Value::number, zero_of(16)},
    {"--mlid", "mlid", 0, "MLID", Value::number, zero_of(16)},
    {"--sgid", "sgid", 0, "SGID", Value::gid},
    {"--dgid", "dgid", 0, "DGID", Value::gid},
    {"--gid", "gid", 0, "portGID", Value::gid},
    {"--mgid", "mgid", 0, "MGID", Value::gid},
    {"-r --reversible", "reversible", 'r', "reversible", Value::number, ones_of(8)},
    {"-n --numb_path --numb-path", "numb_path", 'n', "numbPath", Value::number, ones_of(8)},
    {"--pkey", "pkey", 0, "PKey", Value::key, zero_of(16)},
    {"-Q --qos_class --qos-class", "qos_class", 'Q', "QOSClass", Value::number, ones_of(32)},
    {"--sl", "sl", 0, "SL", Value::number, ones_of(16), ones_of(8)},
    {"-M --mtu", "mtu", 'M', "MTU", Value::number, zero_of(8)},
    {"-R --rate", "rate", 'R', "rate", Value::number, zero_of(8)},
    {"--pkt_lifetime --pkt-lifetime", "pkt_lifetime", 0, "packetLifeTime", Value::number, zero_of(8)},
    {"-q --qkey", "qkey", 'q', "QKey", Value::key, zero_of(32)},
    {"-T --tclass", "tclass", 'T', "TClass", Value::number, zero_of(8)},
    {"-f --flow_label --flow-label", "", 0, "flowLabel", Value::number, zero_of(8)},
    {"-F", "flow_label", 'F', "flowLabel", Value::number, zero_of(8)},
    {"-H --hop_limit --hop-limit", "hop_limit", 'H', "hopLimit", Value::number, ones_of(32), ones_of(8)},
    {"--scope", "scope", 0, "scope", Value::number, zero_of(8)},
    {"-J --join_state --join-state", "join_state", 'J', "joinState", Value::number, zero_of(8)},
    {"-X --proxy_join --proxy-join", "proxy_join", 'X', "proxyJoin", Value::number, ones_of(8)},
    {"--service_id --service-id", "service_id", 0, "serviceID", Value::number, zero_of(64)},
};

/// The greatest numbPath.
inline constexpr std::uint64_t all_paths = 0x7f;

/// Some values have a selector: two bits that stand above the value in the words of infiniband-diags, and a member of its own in a record.
inline constexpr unsigned selected_bits = 6;
inline std::string selector_of(std::string_view member) { return std::string(member) + "Selector"; }

}  // namespace ib::tools::saquery
