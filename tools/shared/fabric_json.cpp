// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// A fabric in JSON. Values that were not read are null, never zero.
#include "iba-gen/smp.hpp"
#include "iba/registry.hpp"
#include "report/member_names.hpp"
#include "subnet/counterparts.hpp"
#include "subnet/rate.hpp"
#include "tools/shared/fabric.hpp"
#include "tools/shared/fabric_diff.hpp"

namespace ib::tools {
namespace {

void visit_width(report::Sink& sink, std::string_view key, unsigned lanes) {
  lanes != 0 ? sink.symbol(key, lanes, std::to_string(lanes) + 'x') : sink.no_symbol(key);
}

void visit_speed(report::Sink& sink, std::string_view key, subnet::Speed speed) {
  speed != subnet::Speed::unknown ? sink.symbol(key, subnet::lane_mbps(speed), subnet::name(speed)) : sink.no_symbol(key);
}

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
  const subnet::Node& node = fabric.subnet.node(at);
  sink.value("node_guid", node.guid());
  sink.symbol("node_type", node.info.node_type, smp::to_text(node.info.node_type));
  sink.value_or_null("node_description", node.has_description, node.description());
  const auto name = fabric.names.find(node.guid());
  sink.value("node_name", name);
}

/// Writes the members that address an end port.
void FabricReport::visit_addresses(report::Sink& sink, subnet::PortIndex at) const {
  const subnet::Port& end_port = fabric.subnet.port(fabric.subnet.end_port_of(at));
  const Guid guid = fabric.subnet.end_port_guid(at);
  sink.value_or_null("port_guid", guid != Guid{}, guid);
  const Lid lid = fabric.subnet.lid(at);
  sink.lid_or_null("lid", lid);
  sink.value_or_null("lmc", end_port.has_info, fabric.subnet.lmc(at));
}

void FabricReport::visit_peer(report::Sink& sink, subnet::PortIndex at) const {
  const subnet::PortIndex peer = fabric.subnet.port(at).peer;
  if (peer == subnet::none) {
    return sink.null_object("peer", [](report::Sink& to) {
      unknown_names(to);
      for (const char* key : {"port_num", "lid"}) to.null(key);
    });
  }
  sink.begin_object("peer");
  visit_names(sink, fabric.subnet.port(peer).node);
  sink.value("port_num", fabric.subnet.port(peer).number);
  const Lid lid = fabric.subnet.lid(peer);
  sink.lid_or_null("lid", lid);
  sink.end_object();
}

void FabricReport::visit_port(report::Sink& sink, subnet::PortIndex at, std::string_view key) const {
  sink.begin_object(key);
  visit_port_members(sink, at);
  sink.end_object();
}

void FabricReport::visit_port_members(report::Sink& sink, subnet::PortIndex at) const {
  const subnet::Subnet& subnet = fabric.subnet;
  const subnet::Port& port = subnet.port(at);
  const smp::PortInfo info = port.info();
  sink.value("port_num", port.number);
  visit_addresses(sink, at);
  const bool is_whole = port.has_info && !subnet.node(port.node).is_listed;
  if (is_whole) {
    sink.symbol("state", info.port_state, smp::to_text(info.port_state));
    sink.symbol("phys_state", info.port_physical_state, smp::to_text(info.port_physical_state));
  } else {
    sink.no_symbol("state");
    sink.no_symbol("phys_state");
  }
  const subnet::LinkRate active = port.peer != subnet::none ? subnet::active_rate(subnet, at) : subnet::LinkRate{};
  const subnet::LinkRate best = subnet::best_rate(subnet, at);
  visit_width(sink, "width", active.lanes);
  visit_speed(sink, "speed", active.speed);
  sink.value_or_null("rate_mbps", active.known(), active.mbps());
  visit_width(sink, "best_width", best.lanes);
  visit_speed(sink, "best_speed", best.speed);
  sink.value_or_null("hoq_life", is_whole, info.hoq_life);
  sink.value_or_null("vl_stall_count", is_whole, info.vl_stall_count);
  visit_peer(sink, at);
}

void FabricReport::visit_route(report::Sink& sink, subnet::NodeIndex at) const {
  if (!fabric.route_to_start) return sink.null("route");
  sink.begin_array("route");
  for (const std::uint8_t port : *fabric.route_to_start) sink.value({}, port);
  std::array<std::uint8_t, 64> route{};
  const unsigned hops = subnet::route_to(fabric.subnet, at, route);
  for (unsigned hop = 1; hop <= hops; ++hop) sink.value({}, route[hop]);
  sink.end_array();
}

void FabricReport::visit_node(report::Sink& sink, subnet::NodeIndex at, const PortFilter& ports) const {
  const subnet::Subnet& subnet = fabric.subnet;
  const subnet::Node& node = subnet.node(at);
  const bool is_switch = node.kind() == subnet::NodeKind::sw;
  sink.begin_object();
  visit_names(sink, at);
  sink.value("num_ports", node.info.num_ports);
  sink.value("vendor_id", node.info.vendor_id);
  sink.value("device_id", node.info.device_id);
  sink.value("revision", node.info.revision);
  sink.value("system_image_guid", node.info.system_image_guid);
  sink.value("duplicate_guid", !subnet::has_own_guid(subnet, at));
  visit_route(sink, at);
  if (is_switch) {
    visit_addresses(sink, node.first_port);
  } else {
    for (const char* key : {"port_guid", "lid", "lmc"}) sink.null(key);  // each port has values of its own
  }
  sink.value_or_null("enhanced_port0", is_switch && node.has_switch_info, node.switch_info().enhanced_port0 != 0);
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
