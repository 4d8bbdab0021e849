// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "tools/ibtracert/ports_file.hpp"

#include <algorithm>

namespace ib::tools::tracert {
namespace {

constexpr std::string_view blanks = " \t\n\v\f\r";

/// Removes the next word from `text` and returns it; empty if there is none, or if its quote does not end.
std::string take_word(std::string_view& text, const PortsFormat& format) {
  text.remove_prefix(std::min(text.find_first_not_of(blanks), text.size()));
  const std::size_t quote = format.quotes && text.starts_with('"') ? 1 : 0;
  const std::size_t end = quote != 0 ? text.find('"', quote) : std::min(text.find_first_of(blanks), format.longest_word);
  if (quote != 0 && end == std::string_view::npos) return {};
  const std::string_view word = text.substr(quote, end - quote);
  text.remove_prefix(word.size() + 2 * quote);
  return std::string(word);
}

}  // namespace

PortsFile read_port_pairs(std::string_view text, const PortsFormat& format) {
  PortsFile found;
  for (unsigned number = 1; !text.empty(); ++number) {
    const std::size_t end = text.find('\n');
    const std::size_t size = std::min({end == std::string_view::npos ? text.size() : end + 1, format.longest_line, text.size()});
    std::string_view line = text.substr(0, size);
    text.remove_prefix(size);
    line = line.substr(0, std::min(line.find('\0'), line.size()));
    const std::size_t begin = line.find_first_not_of(blanks);
    if (begin == std::string_view::npos || line[begin] == '#') continue;
    PortsLine pair;
    pair.source = take_word(line, format);
    pair.destination = take_word(line, format);
    pair.line = number;
    if (pair.source.empty() || pair.destination.empty()) {
      found.bad_line = number;
      return found;
    }
    found.pairs.push_back(std::move(pair));
  }
  return found;
}

}  // namespace ib::tools::tracert
