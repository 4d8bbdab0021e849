// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// A fabric in JSON. Values that were not read are null, never zero.
#include "iba/registry.hpp"
#include "report/member_names.hpp"
#include "tools/shared/fabric.hpp"
#include "tools/shared/fabric_columns.hpp"
#include "tools/shared/fabric_diff.hpp"

namespace ib::tools {
namespace {

/// The name in iba-defs of the attribute of a failure.
std::string_view attribute_name(std::string_view title) {
  const StructInfo* info = find_struct(title);
  return info != nullptr ? info->iba_name : title;
}

/// The members of visit_names() where no node is known.
void unknown_names(report::Sink& sink) {
  sink.null("node_guid");
  sink.no_symbol("node_type");
  sink.null("node_description");
  sink.null("node_name");
}

}  // namespace

void FabricReport::visit_names(report::Sink& sink, subnet::NodeIndex at) const {
  report::write_members(sink, name_columns(), NodeLine{&fabric, at});
}

void FabricReport::visit_port(report::Sink& sink, subnet::PortIndex at, std::string_view key) const {
  sink.begin_object(key);
  visit_port_members(sink, at);
  sink.end_object();
}

void FabricReport::visit_port_members(report::Sink& sink, subnet::PortIndex at) const {
  report::write_members(sink, port_columns(), PortLine{&fabric, at});
}

void FabricReport::visit_node(report::Sink& sink, subnet::NodeIndex at, const PortFilter& ports) const {
  const subnet::Node& node = fabric.subnet.node(at);
  sink.begin_object();
  report::write_members(sink, node_columns(), NodeLine{&fabric, at});
  if (ports) {
    sink.begin_array("ports");
    for (unsigned number = 1; number < node.slots; ++number) {
      if (ports(node.first_port + number)) visit_port(sink, node.first_port + number);
    }
    sink.end_array();
  }
  sink.end_object();
}

void FabricReport::visit_failure(report::Sink& sink, const subnet::Failure& failure) const {
  sink.begin_object();
  sink.value("reason", name(failure.kind));
  if (failure.node != subnet::none) {
    visit_names(sink, failure.node);
  } else {
    unknown_names(sink);
  }
  sink.value_or_null("port_num", failure.port >= 0, failure.port);
  sink.value("beyond", failure.beyond);
  failure.attribute.empty() ? sink.null("attribute") : sink.value("attribute", attribute_name(failure.attribute));
  sink.value("modifier", failure.modifier);
  sink.value("error", failure.why);
  sink.end_object();
}

FabricReport::PortFilter FabricReport::known_ports() const {
  return [this](subnet::PortIndex at) {
    const subnet::Port& port = fabric.subnet.port(at);
    return port.has_info || port.peer != subnet::none;
  };
}

void FabricReport::visit_nodes(report::Sink& sink, const std::vector<subnet::NodeIndex>& nodes, const PortFilter& ports) const {
  sink.begin_array("nodes");
  if (!fabric.subnet.nodes().empty()) {
    const PortFilter first = [this](subnet::PortIndex at) { return fabric.subnet.port(at).number == 1; };
    report::announce(sink, [&](report::Sink& to) { visit_node(to, 0, ports ? first : PortFilter()); });
  }
  for (const subnet::NodeIndex at : nodes) visit_node(sink, at, ports);
  sink.end_array();
}

/// The values of a node that a comparison uses.
void FabricReport::visit_head(report::Sink& sink, subnet::NodeIndex at, std::string_view key) const {
  if (at == subnet::none) {
    sink.null(key);
    return;
  }
  const subnet::Node& node = fabric.subnet.node(at);
  const Lid lid = node.kind() == subnet::NodeKind::sw ? fabric.subnet.lid(node.first_port) : Lid{};
  sink.begin_object(key);
  sink.value_or_null("node_description", node.has_description, node.description());
  sink.lid_or_null("lid", lid);
  sink.value("num_ports", node.info.num_ports);
  sink.end_object();
}

void FabricReport::visit_differences(report::Sink& sink, const Fabric& before, const std::vector<NodeDifference>& differences) const {
  struct Side final : FabricReport {
    using FabricReport::FabricReport;
    void visit(report::Sink&) const override {}
    void text(TextOut&) const override {}
  };
  const Side was(before), is(fabric);
  const auto visit_side = [&sink](const FabricReport& side, subnet::PortIndex at, std::string_view key) {
    at == subnet::none ? sink.null(key) : side.visit_port(sink, at, key);
  };
  sink.objects("differences", differences, [&](const NodeDifference& found) {
    found.after != subnet::none ? visit_names(sink, found.after) : was.visit_names(sink, found.before);
    was.visit_head(sink, found.before, "before");
    visit_head(sink, found.after, "after");
    sink.objects("ports", found.ports, [&](const PortDifference& port) {
      sink.value("port_num", port.after != subnet::none ? fabric.subnet.port(port.after).number : before.subnet.port(port.before).number);
      visit_side(was, port.before, "before");
      visit_side(is, port.after, "after");
    });
  });
}

void FabricReport::visit_failures(report::Sink& sink) const {
  sink.begin_array("unreachable");
  for (const subnet::Failure& failure : fabric.failures) visit_failure(sink, failure);
  for (const subnet::Failure& failure : failures) visit_failure(sink, failure);
  sink.end_array();
}

}  // namespace ib::tools
