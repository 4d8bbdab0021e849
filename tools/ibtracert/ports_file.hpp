// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// --ports-file: pairs of ports, one a line. Lines that are blank or begin with '#' say nothing.
#pragma once

#include <cstddef>
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

struct PortsFormat {
  std::size_t longest_line = std::string_view::npos, longest_word = std::string_view::npos;  ///< in bytes; the rest is another line or word
  bool quotes = true;  ///< a word in double quotes may have blanks, as names of nodes do
};
inline constexpr PortsFormat diags_ports_format{79, 20, false};

PortsFile read_port_pairs(std::string_view text, const PortsFormat& format = {});

}  // namespace ib::tools::tracert
