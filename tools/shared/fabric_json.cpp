// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// A fabric in JSON. Values that were not read are null, never zero.
#include <fmt/format.h>

#include "iba-gen/smp.hpp"
#include "subnet/names.hpp"
#include "subnet/rate.hpp"
#include "tools/shared/fabric.hpp"

namespace ib::tools {
namespace {

std::string_view type_of(const subnet::Node& node) {
  switch (node.kind()) {
    case subnet::NodeKind::ca:
      return "ca";
    case subnet::NodeKind::sw:
      return "switch";
    case subnet::NodeKind::router:
      return "router";
    case subnet::NodeKind::other:
      break;
  }
  return "unknown";
}

void visit_rate(out::Sink& sink, subnet::LinkRate rate) {
  if (rate.lanes == 0 || rate.speed == subnet::Speed::unknown) {
    sink.null("width");
    sink.null("speed");
    sink.null("mbps");
    return;
  }
  sink.value("width", fmt::format("{}x", rate.lanes));
  sink.value("speed", subnet::name(rate.speed));
  sink.value("mbps", std::uint64_t{rate.lanes} * subnet::lane_mbps(rate.speed));
}

}  // namespace

void FabricReport::visit_link(out::Sink& sink, subnet::PortIndex at) const {
  const subnet::Subnet& subnet = fabric.subnet;
  const subnet::Port& port = subnet.port(at);
  if (port.peer == subnet::none) {
    sink.null("peer");
    return;
  }
  const subnet::Port& peer = subnet.port(port.peer);
  sink.begin_object("peer");
  sink.value("node_guid", subnet.node(peer.node).guid());
  sink.value("node_type", type_of(subnet.node(peer.node)));
  sink.value("port", static_cast<unsigned>(peer.number));
  sink.value("lid", subnet.lid(port.peer));
  sink.end_object();
}

void FabricReport::visit_port(out::Sink& sink, subnet::PortIndex at) const {
  const subnet::Subnet& subnet = fabric.subnet;
  const subnet::Port& port = subnet.port(at);
  const bool is_switch = subnet.node(port.node).kind() == subnet::NodeKind::sw;
  sink.begin_object();
  sink.value("port", static_cast<unsigned>(port.number));
  if (!is_switch) sink.value("port_guid", port.guid);
  if (!is_switch) sink.value("lid", subnet.lid(at));
  if (!is_switch) sink.value("lmc", subnet.lmc(at));
  if (port.has_info) {
    sink.value("state", to_text(static_cast<smp::PortState>(port.state())));
    sink.value("phys_state", to_text(static_cast<smp::PortPhysicalState>(port.physical_state())));
  } else {
    sink.null("state");
    sink.null("phys_state");
  }
  const subnet::LinkRate active = subnet::active_rate(subnet, at), best = subnet::best_rate(subnet, at);
  if (port.has_info) {
    sink.value("hoq_life", static_cast<unsigned>(port.info().hoq_life));
    sink.value("vl_stall_count", static_cast<unsigned>(port.info().vl_stall_count));
  }
  visit_rate(sink, port.peer != subnet::none ? active : subnet::LinkRate{});
  if (best.lanes > active.lanes) sink.value("could_be_width", fmt::format("{}x", best.lanes));
  if (best.speed > active.speed) sink.value("could_be_speed", subnet::name(best.speed));
  visit_link(sink, at);
  sink.end_object();
}

void FabricReport::visit_node(out::Sink& sink, subnet::NodeIndex at, bool with_ports, std::string_view key) const {
  const subnet::Subnet& subnet = fabric.subnet;
  const subnet::Node& node = subnet.node(at);
  sink.begin_object(key);
  sink.value("node_guid", node.guid());
  sink.value("node_type", type_of(node));
  sink.value("num_ports", static_cast<unsigned>(node.info.num_ports));
  if (node.has_description) {
    sink.value("node_description", node.description());
  } else {
    sink.null("node_description");
  }
  if (const auto name = fabric.names.find(node.guid())) sink.value("name", *name);
  sink.value("vendor_id", node.info.vendor_id);
  sink.value("device_id", node.info.device_id);
  sink.value("revision", node.info.revision);
  sink.value("system_image_guid", node.info.system_image_guid);
  if (node.is_twin) sink.value("duplicate_guid", true);
  sink.begin_array("route");
  std::array<std::uint8_t, 64> route{};
  const unsigned hops = subnet::route_to(subnet, at, route);
  for (unsigned hop = 1; hop <= hops; ++hop) sink.value({}, static_cast<unsigned>(route[hop]));
  sink.end_array();
  const bool is_switch = node.kind() == subnet::NodeKind::sw;
  if (is_switch) {
    sink.value("port_guid", node.info.port_guid);
    sink.value("lid", subnet.lid(node.first_port));
    sink.value("lmc", subnet.lmc(node.first_port));
    if (node.has_switch_info) {
      sink.value("enhanced_port0", node.switch_info().enhanced_port0 != 0);
    } else {
      sink.null("enhanced_port0");
    }
  }
  if (with_ports) {
    sink.begin_array("ports");
    for (const subnet::Port& port : subnet.ports_of(node)) {
      if (port.number != 0 && (port.has_info || port.peer != subnet::none)) visit_port(sink, node.first_port + port.number);
    }
    sink.end_array();
  }
  sink.end_object();
}

void FabricReport::visit_failure(out::Sink& sink, const subnet::Failure& failure, std::string_view key) const {
  const subnet::Subnet& subnet = fabric.subnet;
  sink.begin_object(key);
  sink.value("kind", name(failure.kind));
  if (failure.node != subnet::none) {
    sink.value("node_guid", subnet.node(failure.node).guid());
  } else {
    sink.null("node_guid");
  }
  if (failure.port >= 0) {
    sink.value("port", static_cast<unsigned>(failure.port));
  } else {
    sink.null("port");
  }
  sink.value("beyond", failure.beyond);
  sink.value("attribute", failure.attribute);
  sink.value("modifier", failure.modifier);
  sink.value("message", failure.why);
  sink.end_object();
}

void FabricReport::visit_failures(out::Sink& sink) const {
  sink.begin_array("unreachable");
  for (const subnet::Failure& failure : fabric.subnet.failures) visit_failure(sink, failure);
  sink.end_array();
}

void FabricReport::lines(const std::vector<subnet::NodeIndex>& nodes, bool with_ports,
                         const std::function<void(const std::function<void(out::Sink&)>&)>& line) const {
  for (const subnet::NodeIndex at : nodes) {
    line([&](out::Sink& sink) { visit_node(sink, at, with_ports, "node"); });
  }
  for (const subnet::Failure& failure : fabric.subnet.failures) {
    line([&](out::Sink& sink) { visit_failure(sink, failure, "unreachable"); });
  }
}

void FabricReport::visit_nodes(out::Sink& sink, const std::vector<subnet::NodeIndex>& nodes, bool with_ports) const {
  sink.begin_array("nodes");
  for (const subnet::NodeIndex at : nodes) visit_node(sink, at, with_ports);
  sink.end_array();
}

}  // namespace ib::tools
