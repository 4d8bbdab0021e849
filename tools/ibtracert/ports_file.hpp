// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// --ports-file: pairs of ports, one a line. Lines that are blank or begin with '#' say nothing.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ib::tools::tracert {

struct PortsLine {
  std::string source, destination;
  unsigned line{};  ///< in the file, from 1
};

struct PortsFile {
  std::vector<PortsLine> pairs;
  std::optional<unsigned> bad_line;  ///< where reading ended; the pairs are those before it
};

/// As infiniband-diags reads it: lines of 79 bytes at most, words of 20.
PortsFile read_port_pairs(std::string_view text);

}  // namespace ib::tools::tracert
