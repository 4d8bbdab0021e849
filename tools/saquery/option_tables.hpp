// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The options of saquery that both dialects have.
#pragma once

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
enum class Value { number, number_not_0, key, gid };

/// An option that sets a member of the pattern.
struct MemberOption {
  std::string_view names, diags_name;  ///< one of them may be empty
  char letter;                         ///< the letter in infiniband-diags' dialect, or 0
  std::string_view member;
  Value value;  ///< with any other kind than `number`, 0 means that the option is not given
};
inline constexpr MemberOption member_options[] = {
    {"--slid", "slid", 0, "SLID", Value::number_not_0},
    {"--dlid", "dlid", 0, "DLID", Value::number_not_0},
    {"--mlid", "mlid", 0, "MLID", Value::number_not_0},
    {"--sgid", "sgid", 0, "SGID", Value::gid},
    {"--dgid", "dgid", 0, "DGID", Value::gid},
    {"--gid", "gid", 0, "portGID", Value::gid},
    {"--mgid", "mgid", 0, "MGID", Value::gid},
    {"-r --reversible", "reversible", 'r', "reversible", Value::number},
    {"-n --numb_path --numb-path", "numb_path", 'n', "numbPath", Value::number},
    {"--pkey", "pkey", 0, "PKey", Value::key},
    {"-Q --qos_class --qos-class", "qos_class", 'Q', "QOSClass", Value::number},
    {"--sl", "sl", 0, "SL", Value::number},
    {"-M --mtu", "mtu", 'M', "MTU", Value::number_not_0},
    {"-R --rate", "rate", 'R', "rate", Value::number_not_0},
    {"--pkt_lifetime --pkt-lifetime", "pkt_lifetime", 0, "packetLifeTime", Value::number_not_0},
    {"-q --qkey", "qkey", 'q', "QKey", Value::key},
    {"-T --tclass", "tclass", 'T', "TClass", Value::number_not_0},
    {"-f --flow_label --flow-label", "", 0, "flowLabel", Value::number_not_0},
    {"-F", "flow_label", 'F', "flowLabel", Value::number_not_0},
    {"-H --hop_limit --hop-limit", "hop_limit", 'H', "hopLimit", Value::number},
    {"--scope", "scope", 0, "scope", Value::number_not_0},
    {"-J --join_state --join-state", "join_state", 'J', "joinState", Value::number_not_0},
    {"-X --proxy_join --proxy-join", "proxy_join", 'X', "proxyJoin", Value::number},
    {"--service_id --service-id", "service_id", 0, "serviceID", Value::number_not_0},
};

}  // namespace ib::tools::saquery
