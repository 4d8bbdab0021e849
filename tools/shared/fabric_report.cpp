// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "tools/shared/fabric_report.hpp"

#include "iba/registry.hpp"
#include "report/sink.hpp"
#include "tools/shared/fabric_diff.hpp"

namespace ib::tools {
namespace {

void write_port(report::Sink& sink, const Fabric& fabric, subnet::PortIndex at, std::string_view key = {}) {
  sink.begin_object(key);
  report::write_members(sink, port_columns(), PortLine{&fabric, at});
  sink.end_object();
}

void write_node(report::Sink& sink, const Fabric& fabric, subnet::NodeIndex at, const FabricReport::PortFilter& ports) {
  const subnet::Node& node = fabric.subnet.node(at);
  sink.begin_object();
  report::write_members(sink, node_columns(), NodeLine{&fabric, at});
  if (ports) {
    sink.begin_array("ports");
    for (unsigned number = 1; number < node.slots; ++number) {
      if (ports(node.first_port + number)) write_port(sink, fabric, node.first_port + number);
    }
    sink.end_array();
  }
  sink.end_object();
}

void write_failure(report::Sink& sink, const Fabric& fabric, const subnet::Failure& failure) {
  sink.value("reason", name(failure.kind));
  if (failure.node != subnet::none) {
    report::write_members(sink, name_columns(), NodeLine{&fabric, failure.node});
  } else {
    for (const report::ColumnInfo& column : name_columns()) column.coded ? sink.no_symbol(column.key) : sink.null(column.key);
  }
  sink.value_or_null("port_num", failure.port >= 0, failure.port);
  sink.value("beyond", failure.beyond);
  const StructInfo* info = failure.attribute.empty() ? nullptr : find_struct(failure.attribute);
  sink.text_or_null("attribute", info != nullptr ? std::string_view(info->iba_name) : failure.attribute);
  sink.value("modifier", failure.modifier);
  sink.value("error", failure.why);
}

/// The values of a node that a comparison uses.
void write_compared(report::Sink& sink, const Fabric& fabric, subnet::NodeIndex at, std::string_view key) {
  if (at == subnet::none) return sink.null(key);
  const subnet::Node& node = fabric.subnet.node(at);
  const Lid lid = node.kind() == subnet::NodeKind::sw ? fabric.subnet.lid(node.first_port) : Lid{};
  sink.begin_object(key);
  sink.value_or_null("node_description", node.has_description, node.description());
  sink.lid_or_null("lid", lid);
  sink.value("num_ports", node.info.num_ports);
  sink.end_object();
}

}  // namespace

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
    report::announce(sink, [&](report::Sink& to) { write_node(to, fabric, 0, ports ? first : PortFilter()); });
  }
  for (const subnet::NodeIndex at : nodes) write_node(sink, fabric, at, ports);
  sink.end_array();
}

void FabricReport::visit_differences(report::Sink& sink, const Fabric& before, const std::vector<NodeDifference>& differences) const {
  const auto write_side = [&sink](const Fabric& side, subnet::PortIndex at, std::string_view key) {
    at == subnet::none ? sink.null(key) : write_port(sink, side, at, key);
  };
  sink.objects("differences", differences, [&](const NodeDifference& found) {
    const NodeLine node = found.after != subnet::none ? NodeLine{&fabric, found.after} : NodeLine{&before, found.before};
    report::write_members(sink, name_columns(), node);
    write_compared(sink, before, found.before, "before");
    write_compared(sink, fabric, found.after, "after");
    sink.objects("ports", found.ports, [&](const PortDifference& port) {
      sink.value("port_num", port.after != subnet::none ? fabric.subnet.port(port.after).number : before.subnet.port(port.before).number);
      write_side(before, port.before, "before");
      write_side(fabric, port.after, "after");
    });
  });
}

void FabricReport::visit_failures(report::Sink& sink) const {
  sink.begin_array("unreachable");
  for (const subnet::Failures* of : {&fabric.failures, &failures}) {
    for (const subnet::Failure& failure : *of) {
      sink.begin_object();
      write_failure(sink, fabric, failure);
      sink.end_object();
    }
  }
  sink.end_array();
}

}  // namespace ib::tools
