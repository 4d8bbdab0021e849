// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The table of commands, sorted by name. An explicit table, since the linker drops objects that register themselves
// out of a static library.
#include "tools/commands.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <ranges>

#include "base/escape.hpp"
#include "base/nearest.hpp"
#include "diags/tools.hpp"

namespace ib::tools {
namespace {

constexpr std::string_view iblinkinfo_aliases[]{"iblinkinfo.pl"};
constexpr std::string_view ibprintca_aliases[]{"ibprintca.pl"};
constexpr std::string_view ibprintrt_aliases[]{"ibprintrt.pl"};
constexpr std::string_view ibprintswitch_aliases[]{"ibprintswitch.pl"};
constexpr std::string_view set_nodedesc_aliases[]{"set_nodedesc.sh"};

constexpr CommandInfo table[] = {
    {"decode_mad", {}, HelpGroup::query, "Accept on stdin a hex dump of a MAD and pretty print it.", make_decode_mad, nullptr},
    {"help", {}, HelpGroup::local, "show this help message and exit", make_help, nullptr},
    {"ibaddr", {}, HelpGroup::query, "Display the GID and LID addresses for end ports.", make_ibaddr, diags::ibaddr},
    {"ibhosts", {}, HelpGroup::topology, "Display all CA nodes.", make_ibhosts, nullptr},
    {"iblinkinfo", iblinkinfo_aliases, HelpGroup::topology, "Display the topology of the subnet, differently.", make_iblinkinfo, nullptr},
    {"ibnetdiscover", {}, HelpGroup::topology, "Display the topology of the subnet.", make_ibnetdiscover, diags::ibnetdiscover},
    {"ibnodes", {}, HelpGroup::topology, "Display all CA or switch nodes.", make_ibnodes, nullptr},
    {"ibping", {}, HelpGroup::query, "Perform pings using ibsysstat", make_ibping, diags::ibping},
    {"ibportstate", {}, HelpGroup::config, "Manipulate the SMPPortInfo of a port", make_ibportstate, diags::ibportstate},
    {"ibprintca", ibprintca_aliases, HelpGroup::topology, "Display a CA node.", make_ibprintca, nullptr},
    {"ibprintrt", ibprintrt_aliases, HelpGroup::topology, "Display a router node.", make_ibprintrt, nullptr},
    {"ibprintswitch", ibprintswitch_aliases, HelpGroup::topology, "Display a switch node.", make_ibprintswitch, nullptr},
    {"ibrouters", {}, HelpGroup::topology, "Display all router nodes.", make_ibrouters, nullptr},
    {"ibstat", {}, HelpGroup::local, "Display the RDMA end ports in the system.", make_ibstat, diags::ibstat},
    {"ibstatus", {}, HelpGroup::local, "Display the RDMA end ports in the system.", make_ibstatus, diags::ibstatus},
    {"ibswitches", {}, HelpGroup::topology, "Display all switch nodes.", make_ibswitches, nullptr},
    {"ibsysstat", {}, HelpGroup::query, "Request the system information MAD", make_ibsysstat, diags::ibsysstat},
    {"ibv_devices", {}, HelpGroup::local, "Display the RDMA devices in the system.", make_ibv_devices, nullptr},
    {"init_all_ports", {}, HelpGroup::config, "Set the port state value to INIT for all links.", make_init_all_ports, nullptr},
    {"query", {}, HelpGroup::query, "Issue any GET type query for any known attribute", make_query, nullptr},
    {"rdma_bw", {}, HelpGroup::other, "Perform a RDMA bandwidth test over a RC QP.", make_rdma_bw, nullptr},
    {"saquery", {}, HelpGroup::sa, "Issue a SubnAdmGetTable() request to the SA for an attribute", make_saquery, diags::saquery},
    {"set_guid", {}, HelpGroup::config, "Set an alias guid on the port through the SA", make_set_guid, nullptr},
    {"set_nodedesc", set_nodedesc_aliases, HelpGroup::config, "Set or display the node description for CAs.", make_set_nodedesc, nullptr},
    {"set_port_state", {}, HelpGroup::config, "Set the port state value for multiple end ports.", make_set_port_state, nullptr},
    {"sminfo", {}, HelpGroup::query, "Display the SASMInfo record for a subnet manager.", make_sminfo, diags::sminfo},
    {"smpdump", {}, HelpGroup::query, "Display an arbitrary SMP record", make_smpdump, diags::smpdump},
    {"smpquery", {}, HelpGroup::query, "Display a SMP record", make_smpquery, diags::smpquery},
    {"vendstat", {}, HelpGroup::query, "Example how to use vendor MADs.", make_vendstat, diags::vendstat},
};

}  // namespace

std::span<const CommandInfo> commands() { return table; }

const CommandInfo* find_command(std::string_view name) {
  for (const CommandInfo& command : table) {
    if (command.name == name || std::find(command.aliases.begin(), command.aliases.end(), name) != command.aliases.end()) return &command;
  }
  return nullptr;
}

const CommandInfo& command_named(std::string_view name) {
  if (const CommandInfo* info = find_command(name)) return *info;
  std::vector<std::string_view> names;
  std::ranges::transform(table, std::back_inserter(names), &CommandInfo::name);
  throw UsageError(fmt::format("Bad command {}{}", escaped(name), did_you_mean(name, names, " (see ibtool help)")));
}

}  // namespace ib::tools
