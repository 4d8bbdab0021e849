// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "tools/ibtracert/ports_file.hpp"

#include <algorithm>

namespace ib::tools::tracert {
namespace {

constexpr std::size_t longest_line = 79, longest_word = 20;
constexpr std::string_view blanks = " \t\n\v\f\r";

/// The next word of `text`, which loses it.
std::string take_word(std::string_view& text) {
  text.remove_prefix(std::min(text.find_first_not_of(blanks), text.size()));
  const std::string_view word = text.substr(0, std::min(text.find_first_of(blanks), longest_word));
  text.remove_prefix(word.size());
  return std::string(word);
}

}  // namespace

PortsFile read_port_pairs(std::string_view text) {
  PortsFile found;
  for (unsigned number = 1; !text.empty(); ++number) {
    const std::size_t end = text.find('\n');
    const std::size_t size = std::min({end == std::string_view::npos ? text.size() : end + 1, longest_line, text.size()});
    std::string_view line = text.substr(0, size);
    text.remove_prefix(size);
    line = line.substr(0, std::min(line.find('\0'), line.size()));
    const std::size_t begin = line.find_first_not_of(blanks);
    if (begin == std::string_view::npos || line[begin] == '#') continue;
    PortsLine pair;
    pair.source = take_word(line);
    pair.destination = take_word(line);
    pair.line = number;
    if (pair.destination.empty()) {
      found.bad_line = number;
      return found;
    }
    found.pairs.push_back(std::move(pair));
  }
  return found;
}

}  // namespace ib::tools::tracert
