// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// What infiniband-diags' saquery knows by name: its options, its records, the members that options choose by.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <utility>

#include "tools/diags/options.hpp"
#include "tools/diags/saquery_text.hpp"
#include "iba/struct_info.hpp"

namespace ib::diags::saquery_tables {

/// Letters of options without a short form.
enum Letter : int {
  src_to_dst = 1,
  sgid_to_dgid = 2,
  node_name_map = 3,
  smkey = 4,
  slid = 5,
  dlid = 6,
  mlid = 7,
  sgid = 14,
  dgid = 15,
  gid = 16,
  mgid = 17,
  pkey = 18,
  sl = 19,
  pkt_lifetime = 20,
  scope = 21,
  service_id = 22,
};

extern const Tool saquery_tool;

/// A record that can be asked for by name. Each word of the command line has parts between slashes, the first of which is a
/// LID or a node's name.
struct RecordQuery {
  const char *name, *alias;
  const StructInfo& (*info)();
  const RecordForm* form;
  std::array<std::array<std::string_view, 3>, 2> members;  ///< by word and part
};
/// By name or alias, in any case; null where there is none.
const RecordQuery* find_query(const char* word);

/// A member that an option sets in the records that have it; 0 counts as not given where `none` says so.
struct MemberOption {
  int letter;
  std::string_view member;
  bool zero_is_none;
};
inline constexpr MemberOption member_options[]{
    {slid, "SLID", true},
    {dlid, "DLID", true},
    {mlid, "MLID", true},
    {'r', "reversible", false},
    {'n', "numbPath", false},
    {pkey, "PKey", true},
    {'Q', "QOSClass", false},
    {sl, "SL", false},
    {'M', "MTU", true},
    {'R', "rate", true},
    {'q', "QKey", true},
    {'T', "TClass", true},
    {'F', "flowLabel", true},
    {'H', "hopLimit", false},
    {scope, "scope", true},
    {'J', "joinState", true},
    {'X', "proxyJoin", false},
    {service_id, "serviceID", true},
    {pkt_lifetime, "packetLifeTime", true},
};
inline constexpr std::pair<int, std::string_view> gid_options[]{{sgid, "SGID"}, {dgid, "DGID"}, {gid, "portGID"}, {mgid, "MGID"}};

}  // namespace ib::diags::saquery_tables
