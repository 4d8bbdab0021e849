// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Forwarding tables as text: reading them throws UsageError with a place, or gives tables that say whose they are and whose rows are in
// order.
#include "formats/forwarding_text.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "fuzz.hpp"

namespace ibtest::fuzz_forwarding_text {

using namespace ib;
using namespace ib::formats;

namespace {

void check(const StoredForwardingTable& table) {
  ibtest::must(table.node_guid || table.port_guid || table.lid || table.directed_route, "a table of no switch");
  ibtest::must(table.line > 0, "a table without a place");
  ibtest::must(table.multicast ? table.routes.empty() : table.groups.empty(), "rows of both kinds");
  for (std::size_t i = 0; i < table.routes.size(); ++i) {
    ibtest::must(table.routes[i].lid.is_unicast(), "not a unicast LID");
    ibtest::must(i == 0 || table.routes[i - 1].lid < table.routes[i].lid, "routes that are not in order");
    ibtest::must(table.says(table.routes[i].lid), "a row of which the table says nothing");
  }
  for (std::size_t i = 0; i < table.groups.size(); ++i) {
    ibtest::must(table.groups[i].lid.is_multicast() && !table.groups[i].ports[no_port], "not a group");
    ibtest::must(i == 0 || table.groups[i - 1].lid < table.groups[i].lid, "groups that are not in order");
    ibtest::must(table.says(table.groups[i].lid), "a group of which the table says nothing");
  }
}

}  // namespace

int try_input(const std::uint8_t* data, std::size_t size) {
  std::string_view text(reinterpret_cast<const char*>(data), size);
  ForwardingTextReader reader("FILE", [](StoredForwardingTable&& table) { check(table); });
  try {
    while (!text.empty()) {
      const std::string_view line = text.substr(0, text.find('\n'));
      const bool has_end = line.size() < text.size();
      text.remove_prefix(line.size() + (has_end ? 1 : 0));
      has_end ? reader.line(line) : reader.cut_line(line);
    }
    reader.end();
  } catch (const UsageError& error) {
    ibtest::must(error.message().starts_with("FILE:"), "an error without a place");
  }
  for (const std::string& remark : reader.remarks()) {
    ibtest::must(std::ranges::none_of(remark, [](char c) { return static_cast<unsigned char>(c) < ' '; }),
                 "a remark that is not one clean line");
  }
  return 0;
}

std::vector<std::string> seeds() {
  return {
      "Unicast lids [0x0-0x4] of switch DR path slid 0; dlid 0; 0,1 guid 0x0000000000200000 (Switch1):\n  Lid  Out   Destination\n"
      "       Port     Info \n0x0001 001 : (Channel Adapter portguid 0x0000000000100001: 'Hca1')\n"
      "0x0002 000 : (Switch portguid 0x0000000000200000: 'Switch1')\n2 valid lids dumped \n",
      "Unicast lids [0-63] of switch DR Path (0, 1) 'Switch1'\n     1 001 : \n     4 002 : \n2 valid lids dumped, 1 block not read\n"
      "Unicast lids [0-63] of switch Path 1 -> 2 SL=0 PKey=0xffff DQPN=0 'Switch1'\n     1 001 : \n1 lids dumped\n",
      "dump_ucast_routes: Switch 0x0002c90200000010\nLID    : Port : Hops : Optimal\n0x0001 : 001  : 01   : yes\n0x0002 : UNREACHABLE\n",
      "Switch 0x0002c90200000010\nLID    : Out Port(s)\n0xC000 : 0x001  0x003 \nSwitch 0x0002c90200000020\n0xC000 : 0x000 \n",
      "Multicast mlids [0xc000-0xc3ff] of switch Lid 2 guid 0x20 (x):\n     Ports: 0 1 2 3 \n MLid\n0xc000        x \n1 valid mlids dumped "
      "\n"
      "Multicast mlids [0xc000-0xc3ff] of switch Lid 2 guid 0x20 (x):\n MLid       Port Mask\n0xc001      040a0000\n1 valid mlids dumped "
      "\n",
  };
}

}  // namespace ibtest::fuzz_forwarding_text
