// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// A line of a node has the form `Ca<tab>1 "H-0002c90300001490"<tab><tab># "name"`. What stands behind the first '#' goes into the list.
#include "tools/node_lists/topology_lines.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>

namespace ib::tools {
namespace {

using subnet::NodeKind;

constexpr std::string_view blanks = " \t\n";

/// The first three words of a line; empty ones where it has fewer.
std::array<std::string_view, 3> words_of(std::string_view line) {
  std::array<std::string_view, 3> words;
  for (std::string_view& word : words) {
    line.remove_prefix(std::min(line.find_first_not_of(blanks), line.size()));
    word = line.substr(0, line.find_first_of(blanks));
    line.remove_prefix(word.size());
  }
  return words;
}

/// The text behind the first '#' and its blanks; the whole line if it has no '#'.
std::string_view remark_of(std::string_view line) {
  const auto at = line.find('#');
  if (at == std::string_view::npos) return line;
  line.remove_prefix(at + 1);
  line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size()));
  return line;
}

/// The text from the first "port 0" on describes that port; the blank before it is removed.
std::string switch_remark(std::string_view remark) {
  const auto at = remark.find("port 0");
  if (at == std::string_view::npos) return fmt::format(" {}", remark);
  return fmt::format("{} {}", remark.substr(0, at == 0 ? 0 : at - 1), remark.substr(at));
}

std::string_view head_of(NodeKind kind) { return kind == NodeKind::sw ? "Switch" : kind == NodeKind::router ? "Rt" : "Ca"; }

/// Whether a line is an error message of ibnetdiscover. Names may contain any text, so a line with a name is not one.
bool is_complaint(std::string_view line) {
  const auto begins = [line](std::string_view word) { return line.starts_with(word); };
  if (std::ranges::any_of(std::array<std::string_view, 4>{"Ca", "Switch", "Rt", "["}, begins)) return false;
  const auto holds = [line](std::string_view word) { return line.find(word) != std::string_view::npos; };
  return begins("ib") || std::ranges::any_of(std::array<std::string_view, 3>{"ibpanic:", "ibwarn:", "iberror:"}, holds);
}

}  // namespace

void list_topology_line(std::string& out, std::string_view line, NodeKind kind) {
  if (!line.starts_with(head_of(kind))) return;
  const auto words = words_of(line);
  const std::string_view guid = words[2].size() > 3 ? words[2].substr(3, 16) : std::string_view();
  const std::string remark = kind == NodeKind::sw ? switch_remark(remark_of(line)) : std::string(remark_of(line));
  fmt::format_to(std::back_inserter(out), "{}\t: 0x{} ports {} {}\n", words[0], guid, words[1], remark);
}

void list_topology(std::string& out, std::string_view text, NodeKind kind) {
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    list_topology_line(out, line, kind);
    if (is_complaint(line)) fmt::format_to(std::back_inserter(out), "{}\n", line);
    text.remove_prefix(std::min(line.size() + 1, text.size()));
  }
}

}  // namespace ib::tools
