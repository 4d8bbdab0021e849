// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "tools/ibnetdiscover/topology_diff.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "formats/topology_text.hpp"
#include "subnet/model/order.hpp"
#include "tools/shared/diags_topology.hpp"

namespace ib::tools {
namespace {

using subnet::NodeIndex;
using subnet::NodeKind;
using subnet::none;

constexpr DiffKey topology_diff_keys[] = {
    {"sw", &DiffChecks::switches}, {"ca", &DiffChecks::cas},   {"router", &DiffChecks::routers},
    {"port", &DiffChecks::ports},  {"lid", &DiffChecks::lids}, {"nodedesc", &DiffChecks::descriptions},
};

/// The nodes of one side that are of `kind`.
DiffSide of_kind(DiffSide side, NodeKind kind) {
  std::erase_if(side.nodes, [&](NodeIndex at) { return side.subnet.node(at).kind() != kind; });
  return side;
}

/// The differences, sorted by kind.
std::vector<NodeDifference> compare(const DiffSide& before, const DiffSide& after, const DiffChecks& checks) {
  std::vector<NodeDifference> all;
  const auto add = [&](bool wanted, NodeKind kind) {
    if (wanted)
      std::ranges::move(differences(of_kind(before, kind), of_kind(after, kind), checks, DiffWay::topology), std::back_inserter(all));
  };
  add(checks.switches, NodeKind::sw);
  add(checks.cas, NodeKind::ca);
  add(checks.routers, NodeKind::router);
  return all;
}

/// Appends the numbers of ports of a node, which differ.
void append_num_ports(std::string& out, const subnet::Subnet& before, const subnet::Subnet& after, const NodeDifference& found) {
  out += fmt::format("{}numports = {}\n", old_side, before.node(found.before).info.num_ports);
  out += fmt::format("{}numports = {}\n", new_side, after.node(found.after).info.num_ports);
}

/// Appends `lines`, each with `prefix` before it.
void append_lines(std::string& out, std::string_view lines, std::string_view prefix) {
  for (std::size_t at = 0; at < lines.size();) {
    const std::size_t end = std::min(lines.find('\n', at), lines.size() - 1) + 1;
    out += prefix;
    out += lines.substr(at, end - at);
    at = end;
  }
}

/// Appends the head of a node that is in both fabrics. If it differs, its last line is printed for both.
void append_head(std::string& out, const formats::TopologyText& was, const formats::TopologyText& is, const NodeDifference& found) {
  std::string old_head, new_head;
  was.head(old_head, found.before);
  is.head(new_head, found.after);
  if (!found.head) {
    out += old_head;
    return;
  }
  const auto last_line = [](const std::string& head) { return head.rfind('\n', head.size() - 2) + 1; };
  out += old_head.substr(0, last_line(old_head));
  append_lines(out, old_head.substr(last_line(old_head)), old_side);
  append_lines(out, new_head.substr(last_line(new_head)), new_side);
}

}  // namespace

DiffOptions topology_diff_options() { return {topology_diff_keys, {.switches = true, .cas = true, .routers = true, .ports = true}}; }

DiffReport::DiffReport(const Fabric& stored, const Fabric& now, const DiffChecks& checks, bool full)
    : FabricReport(now),
      before_(stored),
      full_(full),
      found_(compare({stored.subnet, subnet::breadth_first(stored.subnet), &stored.failures},
                     {now.subnet, subnet::breadth_first(now.subnet), &now.failures}, checks)) {}

void DiffReport::visit(report::Sink& sink) const {
  visit_differences(sink, before_, found_);
  visit_failures(sink);
}

Exit DiffReport::status() const { return found_.empty() ? FabricReport::status() : Exit::findings; }

void DiffReport::text(TextOut& out) const {
  formats::TopologyText was(before_.subnet, &fabric.names), is(fabric.subnet, &fabric.names);
  was.full = is.full = full_;
  for (const NodeDifference& found : found_) {
    std::string text;
    if (found.before == none || found.after == none) {
      std::string block;
      found.after == none ? was.node(block, found.before) : is.node(block, found.after);
      append_lines(text, block, found.after == none ? old_side : new_side);
    } else {
      append_head(text, was, is, found);
      if (found.num_ports) append_num_ports(text, before_.subnet, fabric.subnet, found);
    }
    for (const PortDifference& port : found.ports) {
      std::string line;
      if (port.before != none) was.link(line, port.before), append_lines(text, line, old_side);
      line.clear();
      if (port.after != none) is.link(line, port.after), append_lines(text, line, new_side);
    }
    out.write(text + "\n");
  }
}

void print_differences(TextOut& out, const LibibnetdiscFabric& stored, const LibibnetdiscFabric& now, const DiffChecks& checks, bool full) {
  DiagsTopology was(stored.subnet, now.names), is(now.subnet, now.names);
  was.full = is.full = full;
  std::string& text = out.buffer();
  for (const NodeDifference& found : compare({stored.subnet, stored.order, {}}, {now.subnet, now.order, {}}, checks)) {
    if (found.after == none) {
      was.block(text, found.before, {}, old_side);
    } else if (found.before == none) {
      is.block(text, found.after, {}, new_side);
    } else {
      was.head(text, found.before, {{}, found.head ? old_side : std::string_view()});
      if (found.head) {
        is.detail(text, found.after, new_side);
        text += '\n';
      }
      if (found.num_ports) append_num_ports(text, stored.subnet, now.subnet, found);
      for (const PortDifference& port : found.ports) {
        if (port.before != none) was.port(text, port.before, old_side);
        if (port.after != none) is.port(text, port.after, new_side);
      }
    }
    out.write({});
  }
}

}  // namespace ib::tools
