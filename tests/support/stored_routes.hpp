// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Files for check_routes: a topology of three switches in a ring, a host on each, and tables that have it all: a credit loop, an entry that
// is missing, a table that is missing, a multicast group that goes round, and one that forgets a member. The files go when the program
// ends.
#pragma once

#include <fmt/format.h>

#include <fstream>
#include <string>
#include <vector>

#include "support/temporary_directory.hpp"

namespace ibtest {

/// The options of check_routes that name the files.
inline const std::vector<std::string>& stored_routes() {
  static const TemporaryDirectory directory;
  static const std::vector<std::string> words = [] {
    std::string topology = "vendid=0x1\n", unicast, groups;
    for (unsigned at = 0; at < 4; ++at) {  // the last one is at a port of the first and has no table
      topology += fmt::format("switchguid=0x{0:x}({0:x})\nSwitch\t4 \"S-{0:016x}\"\t\t# \"ring{2}\" base port 0 lid {1} lmc 0\n", 0x10 + at,
                              at + 1, at);
      if (at == 3) {
        topology += "[1]\t\"S-0000000000000010\"[4]\t\t# \"ring0\" lid 1 4xEDR\n";
      } else {
        topology += fmt::format("[1]\t\"S-{:016x}\"[2]\t\t# \"next\" lid 1 4xEDR\n", 0x10 + (at + 1) % 3);
        topology += fmt::format("[2]\t\"S-{:016x}\"[1]\t\t# \"before\" lid 1 4xEDR\n", 0x10 + (at + 2) % 3);
        if (at == 0) topology += "[4]\t\"S-0000000000000013\"[1]\t\t# \"ring3\" lid 4 4xEDR\n";
      }
      topology += fmt::format("[3]\t\"H-{0:016x}\"[1]({0:x})\t\t# \"host\" lid {1} 4xEDR\n\n", 0x20 + at, 11 + at);
      topology += fmt::format("caguid=0x{0:x}\nCa\t1 \"H-{0:016x}\"\t\t# \"host{1}\"\n", 0x20 + at, at);
      topology += fmt::format("[1]({:x})\t\"S-{:016x}\"[3]\t\t# lid {} lmc 0 \"ring\" lid 1 4xEDR\n\n", 0x20 + at, 0x10 + at, 11 + at);
    }
    for (unsigned at = 0; at < 3; ++at) {
      unicast += fmt::format("dump_ucast_routes: Switch {:#018x}\nLID    : Port : Hops : Optimal\n", 0x10 + at);
      for (unsigned to = 0; to < 3; ++to) unicast += fmt::format("{:#06x} : {:03}  : 00   : yes\n", 11 + to, at == to ? 3 : 1);
      unicast += at == 0 ? "0x000e : 004  : 00   : yes\n\n" : "0x000e : UNREACHABLE\n\n";
      groups += fmt::format("\nSwitch {:#018x}\nLID    : Out Port(s)\n0xC000 : 0x001  0x002  0x003  \n0xC001 : {}\n", 0x10 + at,
                            at == 2 ? "0x003  " : "0x001  0x002  0x003  ");
    }
    const auto file = [](const char* name, const std::string& text) {
      std::ofstream(directory.file(name)) << text;
      return directory.file(name);
    };
    return std::vector<std::string>{"--topology", file("topology", topology), "--lfts", file("unicast", unicast),
                                    "--lfts",     file("groups", groups)};
  }();
  return words;
}

}  // namespace ibtest
