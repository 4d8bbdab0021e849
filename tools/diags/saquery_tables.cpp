// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The help texts are infiniband-diags' own: its usage is compared word by word.
#include "tools/diags/saquery_tables.hpp"

#include <strings.h>

#include <algorithm>
#include <iterator>

#include "iba-gen/mad.hpp"
#include "iba-gen/sa.hpp"

namespace ib::diags::saquery_tables {
namespace {

constexpr Option options[]{
    {"p", 'p', nullptr, "get PathRecord info"},
    {"N", 'N', nullptr, "get NodeRecord info"},
    {"L", 'L', nullptr, "return the Lids of the name specified"},
    {"l", 'l', nullptr, "return the unique Lid of the name specified"},
    {"G", 'G', nullptr, "return the Guids of the name specified"},
    {"O", 'O', nullptr, "return name for the Lid specified"},
    {"U", 'U', nullptr, "return name for the Guid specified"},
    {"s", 's', nullptr, "return the PortInfoRecords with isSM or isSMdisabled capability mask bit on"},
    {"g", 'g', nullptr, "get multicast group info"},
    {"m", 'm', nullptr,
     "get multicast member info (if multicast group specified, list member GIDs only for group specified, for example 'saquery -m "
     "0xC000')"},
    {"x", 'x', nullptr, "get LinkRecord info"},
    {"c", 'c', nullptr, "get the SA's class port info"},
    {"S", 'S', nullptr, "get ServiceRecord info"},
    {"I", 'I', nullptr, "get InformInfoRecord (subscription) info"},
    {"list", 'D', nullptr, "the node desc of the CA's"},
    {"src-to-dst", src_to_dst, "<src:dst>", "get a PathRecord for <src:dst> where src and dst are either node names or LIDs"},
    {"sgid-to-dgid", sgid_to_dgid, "<sgid-dgid>", "get a PathRecord for <sgid-dgid> where sgid and dgid are addresses in IPv6 format"},
    {"node-name-map", node_name_map, "<file>", "specify a node name map file"},
    {"smkey", smkey, "<val>",
     "SA SM_Key value for the query. If non-numeric value (like 'x') is specified then saquery will prompt for a value.  Default (when not "
     "specified here or in ibdiag.conf) is to  use SM_Key == 0 (or \"untrusted\")"},
    {"slid", slid, "<lid>", "Source LID (PathRecord)"},
    {"dlid", dlid, "<lid>", "Destination LID (PathRecord)"},
    {"mlid", mlid, "<lid>", "Multicast LID (MCMemberRecord)"},
    {"sgid", sgid, "<gid>", "Source GID (IPv6 format) (PathRecord)"},
    {"dgid", dgid, "<gid>", "Destination GID (IPv6 format) (PathRecord)"},
    {"gid", gid, "<gid>", "Port GID (MCMemberRecord)"},
    {"mgid", mgid, "<gid>", "Multicast GID (MCMemberRecord)"},
    {"reversible", 'r', "<val>", "Reversible path (PathRecord)"},
    {"numb_path", 'n', "<val>", "Number of paths (PathRecord)"},
    {"pkey", pkey, "<val>",
     "P_Key (PathRecord, MCMemberRecord). If non-numeric value (like 'x') is specified then saquery will prompt for a value"},
    {"qos_class", 'Q', "<val>", "QoS Class (PathRecord)"},
    {"sl", sl, "<val>", "Service level (PathRecord, MCMemberRecord)"},
    {"mtu", 'M', "<val>", "MTU and selector (PathRecord, MCMemberRecord)"},
    {"rate", 'R', "<val>", "Rate and selector (PathRecord, MCMemberRecord)"},
    {"pkt_lifetime", pkt_lifetime, "<val>", "Packet lifetime and selector (PathRecord, MCMemberRecord)"},
    {"qkey", 'q', "<val>", "Q_Key (MCMemberRecord). If non-numeric value (like 'x') is specified then saquery will prompt for a value"},
    {"tclass", 'T', "<val>", "Traffic Class (PathRecord, MCMemberRecord)"},
    {"flow_label", 'F', "<val>", "Flow Label (PathRecord, MCMemberRecord)"},
    {"hop_limit", 'H', "<val>", "Hop limit (PathRecord, MCMemberRecord)"},
    {"scope", scope, "<val>", "Scope (MCMemberRecord)"},
    {"join_state", 'J', "<val>", "Join state (MCMemberRecord)"},
    {"proxy_join", 'X', "<val>", "Proxy join (MCMemberRecord)"},
    {"service_id", service_id, "<val>", "ServiceID (PathRecord)"},
};

constexpr RecordQuery queries[]{
    {"ClassPortInfo", "CPI", mad::ClassPortInfo::info, &class_port_info_form, {}},
    {"NodeRecord", "NR", sa::NodeRecord::info, &node_record_form, {{{"lid"}}}},
    {"PortInfoRecord", "PIR", sa::PortInfoRecord::info, &port_info_record_form, {{{"endport_lid", "port_num", "options"}}}},
    {"SL2VLTableRecord", "SL2VL", sa::SLToVLMappingTableRecord::info, &sl2vl_record_form, {{{"lid", "input_port_num", "output_port_num"}}}},
    {"PKeyTableRecord", "PKTR", sa::PKeyTableRecord::info, &pkey_table_record_form, {{{"lid", "port_num", "block_num"}}}},
    {"VLArbitrationTableRecord",
     "VLAR",
     sa::VLArbitrationTableRecord::info,
     &vl_arbitration_record_form,
     {{{"lid", "output_port_num", "block_num"}}}},
    {"InformInfoRecord", "IIR", sa::InformInfoRecord::info, &inform_info_record_form, {}},
    {"LinkRecord", "LR", sa::LinkRecord::info, &link_record_form, {{{"from_lid", "from_port"}, {"to_lid", "to_port"}}}},
    {"ServiceRecord", "SR", sa::ServiceRecord::info, &service_record_form, {}},
    {"PathRecord", "PR", sa::PathRecord::info, &path_record_form, {}},
    {"MCMemberRecord", "MCMR", sa::MCMemberRecord::info, &mc_member_record_form, {}},
    {"LFTRecord", "LFTR", sa::LinearForwardingTableRecord::info, &lft_record_form, {{{"lid", "block_num"}}}},
    {"MFTRecord", "MFTR", sa::MulticastForwardingTableRecord::info, &mft_record_form, {{{"lid", "position", "block_num"}}}},
    {"GUIDInfoRecord", "GIR", sa::GuidInfoRecord::info, &guid_info_record_form, {{{"lid", "block_num"}}}},
    {"SwitchInfoRecord", "SWIR", sa::SwitchInfoRecord::info, &switch_info_record_form, {{{"lid"}}}},
    {"SMInfoRecord", "SMIR", sa::SMInfoRecord::info, &sm_info_record_form, {{{"lid"}}}},
};

}  // namespace

const Tool saquery_tool{"saquery",
                        "[query-name] [<name> | <lid> | <guid>]\n"
                        "\nSupported query names (and aliases):\n"
                        "  ClassPortInfo (CPI) \n"
                        "  NodeRecord (NR) [lid]\n"
                        "  PortInfoRecord (PIR) [[lid]/[port]/[options]]\n"
                        "  SL2VLTableRecord (SL2VL) [[lid]/[in_port]/[out_port]]\n"
                        "  PKeyTableRecord (PKTR) [[lid]/[port]/[block]]\n"
                        "  VLArbitrationTableRecord (VLAR) [[lid]/[port]/[block]]\n"
                        "  InformInfoRecord (IIR) [subscriber_gid]\n"
                        "  LinkRecord (LR) [[from_lid]/[from_port]] [[to_lid]/[to_port]]\n"
                        "  ServiceRecord (SR) \n"
                        "  PathRecord (PR) \n"
                        "  MCMemberRecord (MCMR) \n"
                        "  LFTRecord (LFTR) [[lid]/[block]]\n"
                        "  MFTRecord (MFTR) [[mlid]/[position]/[block]]\n"
                        "  GUIDInfoRecord (GIR) [[lid]/[block]]\n"
                        "  SwitchInfoRecord (SWIR) [lid]\n"
                        "  SMInfoRecord (SMIR) [lid]\n"
                        "\n  Queries node records by default.",
                        "DGLsy",
                        options,
                        {}};

const RecordQuery* find_query(const char* word) {
  const auto found =
      std::ranges::find_if(queries, [&](const RecordQuery& q) { return strcasecmp(word, q.name) == 0 || strcasecmp(word, q.alias) == 0; });
  return found != std::end(queries) ? &*found : nullptr;
}

}  // namespace ib::diags::saquery_tables
