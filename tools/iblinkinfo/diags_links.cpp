// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Columns, blanks and words are as in infiniband-diags. Like there, the fields of a port that was not read are zero.
#include "tools/iblinkinfo/diags_links.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <iterator>
#include <utility>

#include "tools/shared/diags_fabric.hpp"

namespace ib::tools {

namespace {

using subnet::Node;
using subnet::NodeIndex;
using subnet::NodeKind;
using subnet::none;
using subnet::Port;
using subnet::PortIndex;

constexpr unsigned widest_code = 16;  // IBA 14.2.5.6: LinkWidthActive

constexpr DiffKey link_diff_keys[] = {
    {"port", &DiffChecks::ports},
    {"state", &DiffChecks::states},
    {"lid", &DiffChecks::lids},
    {"nodedesc", &DiffChecks::descriptions},
};

template <typename... T>
void print(std::string& out, fmt::format_string<T...> format, T&&... args) {
  fmt::format_to(std::back_inserter(out), format, std::forward<T>(args)...);
}

/// `text`, aligned to the right in a column of `width` bytes.
std::string right(std::string_view text, std::size_t width) {
  std::string result(width - std::min(width, text.size()), ' ');
  return result += text;
}

}  // namespace

/// "( 4X 25.78125 Gbps Active/ LinkUp)", in columns. Width and speed are left out for a switch whose port 0 is not known.
std::string DiagsLinks::link(PortIndex at) const {
  const Port& port = subnet_.port(at);
  const smp::PortInfo info = port.info();
  const bool known = subnet_.node(port.node).kind() != NodeKind::sw || subnet_.port(subnet_.end_port_of(at)).has_info;
  std::string text = diags_link_text(subnet_, at, known);
  if (port.state() == smp::PortState::down) return text;
  const unsigned width = known ? info.link_width_active : 0U;
  if (!std::has_single_bit(width) || width > widest_code) bad_widths_.push_back(width);
  if (additional) print(text, " (HOQ:{} VL_Stall:{})", info.hoq_life, info.vl_stall_count);
  return text;
}

std::string DiagsLinks::far_end(PortIndex at) const {
  constexpr std::size_t buffer = 255;
  const Port& port = subnet_.port(at);
  if (port.peer == none) return port.state() == smp::PortState::down ? "           [  ] \"\" ( )\n" : "    \"Port not available\"\n";
  const Port& peer = subnet_.port(port.peer);
  std::string text;
  if (line) print(text, "0x{:016x} ", subnet_.port_guid(port.peer).value);
  print(text, "{:6} {:4}[{:>2}] \"{}\" ({})\n", subnet_.lid(port.peer).value, peer.number, external(port.peer), name(peer.node),
        diags_could_be(subnet_, at));
  if (text.size() <= buffer) return text;
  ++cut_;
  return text.substr(0, buffer);
}

void DiagsLinks::heading(std::string& out, NodeIndex at, std::string_view prefix) const {
  const Node& node = subnet_.node(at);
  if (node.kind() == NodeKind::sw) {
    print(out, "{}Switch: 0x{:016x} {}:\n", prefix, subnet_.port_guid(node.first_port).value, name(at));
    return;
  }
  const std::string_view kind = node.kind() == NodeKind::ca ? "CA" : node.kind() == NodeKind::router ? "Router" : "??";
  print(out, "{}{}: {}:\n", prefix, kind, name(at));
}

void DiagsLinks::port(std::string& out, PortIndex at, std::string_view prefix) const {
  const Port& port = subnet_.port(at);
  if (port.state() == smp::PortState::down && hides && hides(at)) return;
  const std::string link_text = link(at), far = far_end(at);
  out += prefix;
  if (line) {
    print(out, "0x{:016x} \"{}\" ", subnet_.port_guid(at).value, right(name(port.node), 30));
  } else {
    out += "      ";
    if (subnet_.node(port.node).kind() != NodeKind::sw) print(out, "0x{:016x} ", subnet_.port_guid(at).value);
  }
  print(out, "{:6} {:4}[{:>2}] =={}==>  {}", subnet_.lid(at).value, port.number, external(at), link_text, far);
}

void DiagsLinks::node(std::string& out, NodeIndex at, std::string_view prefix) const {
  const Node& node = subnet_.node(at);
  bool first = true;
  for (unsigned number = 1; number < node.slots && number <= node.info.num_ports; ++number) {
    const PortIndex index = node.first_port + number;
    if (!exists(index) || (down && subnet_.port(index).state() != smp::PortState::down)) continue;
    if (first && !line) heading(out, at, prefix);
    first = false;
    port(out, index, prefix);
  }
}

DiffOptions link_diff_options() { return {link_diff_keys, {.ports = true, .states = true}}; }

void print_link_differences(std::string& out, const DiagsLinks& was, const DiffSide& before, const DiagsLinks& is, const DiffSide& after,
                            const DiffChecks& checks) {
  const auto number_of_ports = [&out](std::string_view side, const subnet::Node& node) {
    print(out, "{}numports = {}\n", side, node.info.num_ports);
  };
  for (const NodeDifference& found : differences(before, after, checks, DiffWay::links)) {
    if (found.after == none) {
      was.node(out, found.before, old_side);
      continue;
    }
    if (found.before == none) {
      is.node(out, found.after, new_side);
      continue;
    }
    bool headed = was.line;
    if (found.head && !headed) {
      was.heading(out, found.before, old_side);
      is.heading(out, found.after, new_side);
      headed = true;
    }
    const auto head = [&] {
      if (!std::exchange(headed, true)) was.heading(out, found.before);
    };
    if (found.num_ports) {
      head();
      number_of_ports(old_side, before.subnet.node(found.before));
      number_of_ports(new_side, after.subnet.node(found.after));
    }
    for (const PortDifference& port : found.ports) {
      head();
      if (port.before != none) was.port(out, port.before, old_side);
      if (port.after != none) is.port(out, port.after, new_side);
    }
  }
}

}  // namespace ib::tools
