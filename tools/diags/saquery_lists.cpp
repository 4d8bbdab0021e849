// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "tools/diags/saquery_lists.hpp"

#include <cstdint>
#include <cstdlib>
#include <utility>

#include "base/escape.hpp"
#include "tools/diags/fabric.hpp"
#include "tools/diags/saquery_requests.hpp"
#include "tools/diags/saquery_text.hpp"
#include "iba-gen/sa.hpp"
#include "iba/text.hpp"
#include "iba/wire.hpp"

namespace ib::diags {
namespace {

void list_node(Names what, Bytes record, const subnet::NodeNameMap& names, tools::TextOut& out) {
  const auto node = wire::unpack_short<sa::NodeRecord>(record);
  switch (what) {
    case Names::lids:
    case Names::one_lid:
      out.print("{}\n", node.lid.value);
      break;
    case Names::guids:
      out.print("0x{:016x}\n", node.node_info.port_guid.value);
      break;
    case Names::adapters:
      out.print("{:6}  \"{}\"\n", node.lid.value, node_name(record, names));
      break;
    case Names::name_of_lid:
    case Names::name_of_guid:
      out.print("{}\n", node_name(record, names));
      break;
    case Names::all:
      out.write(record_text(node_record_form, record, {names}));
  }
}

}  // namespace

async::Task<> list_nodes(mad::Transactor& transactor, Names what, const std::optional<std::string>& operand,
                         const subnet::NodeNameMap& names, tools::TextOut& out) {
  const sa::Pattern all(sa::NodeRecord::info());
  const sa::Records nodes = co_await ask_sa(transactor, all);
  if (what == Names::adapters) out.write("   LID \"name\"\n================\n");
  for (const Bytes bytes : nodes.bytes) {
    const auto node = wire::unpack_short<sa::NodeRecord>(bytes);
    bool wanted = true;
    if (what == Names::adapters) {
      wanted = node.node_info.node_type == smp::NodeType::channel_adapter;
    } else if (what == Names::name_of_lid) {
      wanted = node.lid.value == static_cast<std::uint16_t>(std::strtoul(operand->c_str(), nullptr, 0));
    } else if (what == Names::name_of_guid) {
      wanted = node.node_info.port_guid.value == std::strtoul(operand->c_str(), nullptr, 0);
    } else if (operand) {
      wanted = fixed_text(node.node_description.node_string) == *operand || node_name(bytes, names) == *operand;
    }
    if (!wanted) continue;
    list_node(what, bytes, names, out);
    if (what == Names::one_lid) break;
  }
}

async::Task<> list_managers(mad::Transactor& transactor, const subnet::NodeNameMap& names, tools::TextOut& out) {
  constexpr std::uint32_t any_bit = 1U << 31;  // what has the bit matches, the mask need not be equal (IBA 15.2.5.3)
  for (const auto& [title, capability] : {std::pair{"IsSM ports\n", "IsSM"}, {"\nIsSMdisabled ports\n", "IsSMdisabled"}}) {
    sa::Pattern pattern(sa::PortInfoRecord::info());
    pattern.match("portInfo.capabilityMask", capability);
    const sa::Records records = co_await ask_sa(transactor, pattern, mad::method::get_table, any_bit);
    out.write(title);
    for (const Bytes record : records.bytes) out.write(record_text(port_summary_form, record, {names}));
  }
}

async::Task<> list_groups(mad::Transactor& transactor, const subnet::NodeNameMap& names, tools::TextOut& out) {
  const sa::Pattern all(sa::MCMemberRecord::info());
  const sa::Records members = co_await ask_sa(transactor, all);
  for (const Bytes bytes : members.bytes) out.write(record_text(mc_group_form, bytes, {names}));
}

async::Task<> list_members(mad::Transactor& transactor, const std::optional<std::string>& mlid, const subnet::NodeNameMap& names,
                           tools::TextOut& out) {
  const sa::Pattern all_members(sa::MCMemberRecord::info()), all_nodes(sa::NodeRecord::info());
  const sa::Records members = co_await ask_sa(transactor, all_members);
  const sa::Records nodes = co_await ask_sa(transactor, all_nodes);
  for (const Bytes bytes : members.bytes) {
    const auto member = wire::unpack_short<sa::MCMemberRecord>(bytes);
    std::string name = "<unknown>";
    for (const Bytes node : nodes.bytes) {
      if (wire::unpack_short<sa::NodeRecord>(node).node_info.port_guid != member.port_gid.guid()) continue;
      name = node_name(node, names);
      break;
    }
    if (mlid) {
      if (std::strtol(mlid->c_str(), nullptr, 0) == member.mlid.value)
        out.print("\t\tPortGid.................{} ({})\n", to_text(member.port_gid), name);
      continue;
    }
    out.print("{}\t\tNodeDescription.........{}\n", record_text(mc_member_form, bytes, {names}), name);
  }
}

}  // namespace ib::diags
