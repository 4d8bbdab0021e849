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

/// A word in double quotes may have blanks, as names of nodes do. As `diags`, infiniband-diags reads: a quote is a letter, a line ends
/// after 79 bytes and a word after 20, and the rest is another line or word.
PortsFile read_port_pairs(std::string_view text, bool diags = false);

}  // namespace ib::tools::tracert
