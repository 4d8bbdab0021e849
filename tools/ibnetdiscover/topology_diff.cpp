// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "tools/ibnetdiscover/topology_diff.hpp"

#include <algorithm>
#include <iterator>

#include "formats/topology_text.hpp"
#include "subnet/order.hpp"
#include "tools/shared/stored_fabric.hpp"

namespace ib::tools {
namespace {

using subnet::NodeIndex;
using subnet::NodeKind;
using subnet::none;

constexpr DiffKey topology_diff_keys[] = {
    {"sw", &DiffChecks::switches}, {"ca", &DiffChecks::cas},   {"router", &DiffChecks::routers},
    {"port", &DiffChecks::ports},  {"lid", &DiffChecks::lids}, {"nodedesc", &DiffChecks::descriptions},
};

/// The nodes of `order` that are of `kind`.
std::vector<NodeIndex> of_kind(const subnet::Subnet& subnet, const std::vector<NodeIndex>& order, NodeKind kind) {
  std::vector<NodeIndex> nodes;
  std::ranges::copy_if(order, std::back_inserter(nodes), [&](NodeIndex at) { return subnet.node(at).kind() == kind; });
  return nodes;
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

DiffReport::DiffReport(const Fabric& stored, const Fabric& now, const DiffChecks& checks, bool full, bool asks_fdr10)
    : FabricReport(now),
      before_(stored),
      checks_(checks),
      full_(full),
      asks_fdr10_(asks_fdr10),
      found_(compare({subnet::breadth_first(stored.subnet), subnet::breadth_first(now.subnet)}, &stored.failures, &now.failures)) {}

std::vector<NodeDifference> DiffReport::compare(const Orders& orders, const subnet::Failures* before, const subnet::Failures* after) const {
  std::vector<NodeDifference> all;
  const auto add = [&](bool wanted, NodeKind kind) {
    if (!wanted) return;
    std::ranges::move(differences({before_.subnet, of_kind(before_.subnet, orders.before, kind), before},
                                  {fabric.subnet, of_kind(fabric.subnet, orders.after, kind), after}, checks_, DiffWay::topology),
                      std::back_inserter(all));
  };
  add(checks_.switches, NodeKind::sw);
  add(checks_.cas, NodeKind::ca);
  add(checks_.routers, NodeKind::router);
  return all;
}

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
      if (found.num_ports) {
        text += fmt::format("{}numports = {}\n", old_side, before_.subnet.node(found.before).info.num_ports);
        text += fmt::format("{}numports = {}\n", new_side, fabric.subnet.node(found.after).info.num_ports);
      }
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

void DiffReport::diags_text(TextOut& out) const {
  TextOut& to = file != nullptr ? *file : out;
  DiagsTopology was(before_.subnet, fabric.names), is(fabric.subnet, fabric.names);
  was.full = is.full = full_;
  for (const NodeDifference& found : compare({diags_order(before_, asks_fdr10_), diags_order(fabric, asks_fdr10_)}, nullptr, nullptr))
    print(to, was, is, found);
}

void DiffReport::print(TextOut& out, const DiagsTopology& was, const DiagsTopology& is, const NodeDifference& found) const {
  std::string& text = out.buffer();
  if (found.after == none) return was.block(text, found.before, {}, old_side), out.write({});
  if (found.before == none) return is.block(text, found.after, {}, new_side), out.write({});
  was.head(text, found.before, {{}, found.head ? old_side : std::string_view()});
  if (found.head) {
    is.detail(text, found.after, new_side);
    text += '\n';
  }
  if (found.num_ports) {
    out.print("{}numports = {}\n", old_side, before_.subnet.node(found.before).info.num_ports);
    out.print("{}numports = {}\n", new_side, fabric.subnet.node(found.after).info.num_ports);
  }
  for (const PortDifference& port : found.ports) {
    if (port.before != none) was.port(text, port.before, old_side);
    if (port.after != none) is.port(text, port.after, new_side);
  }
  out.write({});
}

}  // namespace ib::tools
