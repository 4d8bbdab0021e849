// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "sa/simulator_keys.hpp"

#include "iba-gen/sa.hpp"

namespace ib::sa {
namespace {

// Block sizes and table lengths: IBA 14.2.5, 14.2.5.6 (GUIDCap), 14.2.5.4 (the caps of a switch).
constexpr TableKey node_keys[] = {{"LID", KeyValues::lids}};
constexpr TableKey port_info_keys[] = {{"endportLID", KeyValues::lids}, {"portNum", KeyValues::ports, "endportLID"}};
constexpr TableKey port_info_extended_keys[] = {{"LID", KeyValues::lids}, {"portNum", KeyValues::ports, "LID"}};
constexpr TableKey link_keys[] = {
    {"fromLID", KeyValues::even_lids}, {"fromPort", KeyValues::ports, "fromLID"}, {"toPort", KeyValues::ports, "toLID"}};
constexpr TableKey guid_info_keys[] = {{"LID", KeyValues::lids}, {"blockNum", KeyValues::blocks, {}, 0, 32}};
constexpr TableKey lft_keys[] = {{"LID", KeyValues::lids}, {"blockNum", KeyValues::blocks, {}, 0, 768}};
constexpr TableKey mft_keys[] = {
    {"LID", KeyValues::lids}, {"position", KeyValues::numbers, {}, 0, 16}, {"blockNum", KeyValues::blocks, {}, 0, 512}};
constexpr TableKey pkey_keys[] = {
    {"LID", KeyValues::lids_by_port}, {"portNum", KeyValues::ports, "LID"}, {"blockNum", KeyValues::blocks, {}, 0, 2048}};
constexpr TableKey sl_to_vl_keys[] = {
    {"LID", KeyValues::lids_by_port}, {"outputPortNum", KeyValues::ports, "LID"}, {"inputPortNum", KeyValues::ports, "LID"}};
constexpr TableKey vl_arbitration_keys[] = {
    {"LID", KeyValues::lids_by_port}, {"outputPortNum", KeyValues::ports, "LID"}, {"blockNum", KeyValues::numbers, {}, 1, 4}};
constexpr TableKey mc_member_keys[] = {{"MLID", KeyValues::numbers, {}, 0xc000, 1024}, {"portGID", KeyValues::gids}};
constexpr TableKey path_keys[] = {{"DGID", KeyValues::gids, "DLID"},
                                  {"SGID", KeyValues::gids, "SLID"},
                                  {"DLID", KeyValues::own_lids, "DGID"},
                                  {"SLID", KeyValues::own_lids, "SGID"}};
constexpr TableKey paths_from_one_port_keys[] = {{"DLID", KeyValues::all_lids}};
constexpr TableKey service_keys[] = {{"serviceGID", KeyValues::gids}};
constexpr TableKey inform_info_keys[] = {{"subscriberGID", KeyValues::gids}};

/// Whether `pattern` asks for the paths from one port to all others.
bool are_from_one_port(const Pattern& pattern) {
  return (pattern.matches_on("SGID") || pattern.matches_on("SLID")) && !pattern.matches_on("DGID") && !pattern.matches_on("DLID");
}

}  // namespace

std::span<const TableKey> table_keys(const Pattern& pattern, unsigned lmc) {
  const StructInfo& record = pattern.record();
  const auto is = [&record](const StructInfo& info) { return &record == &info; };
  if (is(NodeRecord::info()) || is(SwitchInfoRecord::info()) || is(SMInfoRecord::info())) return node_keys;
  if (is(PortInfoRecord::info())) return port_info_keys;
  if (is(PortInfoExtendedRecord::info())) return port_info_extended_keys;
  if (is(LinkRecord::info())) return link_keys;
  if (is(GuidInfoRecord::info())) return guid_info_keys;
  if (is(LinearForwardingTableRecord::info())) return lft_keys;
  if (is(MulticastForwardingTableRecord::info())) return mft_keys;
  if (is(PKeyTableRecord::info())) return pkey_keys;
  if (is(SLToVLMappingTableRecord::info())) return sl_to_vl_keys;
  if (is(VLArbitrationTableRecord::info())) return vl_arbitration_keys;
  if (is(MCMemberRecord::info())) return mc_member_keys;
  if (is(PathRecord::info())) {
    // Where a port has one LID, each LID has one of the paths from a port, and nobody needs to know the end ports.
    if (lmc == 0 && are_from_one_port(pattern)) return paths_from_one_port_keys;
    return path_keys;
  }
  if (is(ServiceRecord::info())) return service_keys;
  if (is(InformInfoRecord::info())) return inform_info_keys;
  return {};
}

}  // namespace ib::sa
