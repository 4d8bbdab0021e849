// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// A fabric in a file, for commands that compare with one.
#pragma once

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <string>

namespace ibtest {

/// The name of a listing of the switch 0x100, which the fabrics of the tests have, and of one that none of them has. The file goes when the
/// program ends.
inline std::string stored_fabric() {
  struct File {
    std::string name = fmt::format("/tmp/ibtool-stored-{}", ::getpid());
    File() {
      std::ofstream(name) << "#\nSwitch\t4 \"S-0000000000009999\"\t\t# \"old\" base port 0 lid 99 lmc 0\n\n"
                             "Switch\t4 \"S-0000000000000100\"\t\t# \"leaf\" base port 0 lid 1 lmc 0\n";
    }
    File(const File&) = delete;
    File& operator=(const File&) = delete;
    ~File() { std::remove(name.c_str()); }
  };
  static const File file;
  return file.name;
}

}  // namespace ibtest
