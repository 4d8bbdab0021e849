// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Names come from the wire. They are escaped here, in one place for all kinds of lines.
#include "formats/topology_text.hpp"

#include <fmt/format.h>

#include <array>
#include <iterator>

#include "base/escape.hpp"
#include "subnet/model/names.hpp"

namespace ib::formats {

using subnet::LinkRate;
using subnet::Node;
using subnet::NodeIndex;
using subnet::NodeKind;
using subnet::none;
using subnet::Port;
using subnet::PortIndex;

namespace {

template <typename... T>
void print(std::string& out, fmt::format_string<T...> format, T&&... args) {
  fmt::format_to(std::back_inserter(out), format, std::forward<T>(args)...);
}

}  // namespace

void append_guid(std::string& out, Guid guid) {
  constexpr char digits[] = "0123456789abcdef";
  for (int shift = 60; shift >= 0; shift -= 4) {
    out += digits[guid.value >> shift & 0xf];
    if (shift % 16 == 0 && shift != 0) out += ':';
  }
}

std::string to_text(LinkRate rate) {
  const std::string_view speed = name(rate.speed);
  return (rate.lanes == 0 ? "?" : std::to_string(rate.lanes)) + 'x' + (speed.empty() ? "?" : std::string(speed));
}

char type_letter(const Node& node) {
  switch (node.kind()) {
    case NodeKind::ca:
      return 'H';
    case NodeKind::sw:
      return 'S';
    case NodeKind::router:
      return 'R';
    case NodeKind::other:
      break;
  }
  return '?';
}

std::string type_name(const Node& node) {
  switch (node.kind()) {
    case NodeKind::ca:
      return "Ca";
    case NodeKind::sw:
      return "Switch";
    case NodeKind::router:
      return "Router";
    case NodeKind::other:
      break;
  }
  return "??" + std::to_string(static_cast<unsigned>(node.info.node_type));
}

std::string TopologyText::name(NodeIndex at) const { return escaped(name_of(subnet_.node(at), names_)); }

/// The kind of port 0 of a switch (SwitchInfo, IBA 14.2.5.4). An enhanced port 0 has features of a CA port.
std::string_view TopologyText::port0_kind(const Node& node) const {
  return (node.has_switch_info || node.is_listed) && node.switch_info().enhanced_port0 != 0 ? "enhanced" : "base";
}

void TopologyText::header(std::string& out, std::time_t now) const {
  std::array<char, 64> date{};
  std::tm local{};
  localtime_r(&now, &local);
  std::strftime(date.data(), date.size(), "%a %b %d %H:%M:%S %Y", &local);
  print(out, "#\n# Topology file: generated on {}\n#\n", date.data());
  if (subnet_.start == none) return;
  const Port& start = subnet_.port(subnet_.start);
  out += "# Initiated from node ";
  append_guid(out, subnet_.node(start.node).guid());
  out += " port ";
  append_guid(out, start.guid);
  out += '\n';
}

void TopologyText::ids(std::string& out, NodeIndex at) const {
  const smp::NodeInfo& info = subnet_.node(at).info;
  print(out, "vendid=0x{:x}\ndevid=0x{:x}\nsysimgguid=", info.vendor_id, info.device_id);
  append_guid(out, info.system_image_guid);
  if (grouping != nullptr && grouping->grouped(at)) {
    print(out, "\t\t# Chassis {}", grouping->chassis[grouping->slots[at].chassis].number);
  }
  out += '\n';
}

void TopologyText::head(std::string& out, NodeIndex at) const {
  const Node& node = subnet_.node(at);
  ids(out, at);
  constexpr std::array<std::string_view, 4> keys{"nodeguid=", "caguid=", "switchguid=", "rtguid="};  // by NodeKind
  out += keys[static_cast<std::size_t>(node.kind())];
  append_guid(out, node.guid());
  const bool is_switch = node.kind() == NodeKind::sw;
  if (is_switch) {
    out += '(';
    append_guid(out, node.info.port_guid);
    out += ')';
    if (grouping != nullptr && grouping->slots[at].chassis != none) {
      print(out, "\t# {} {}", escaped(grouping->slots[at].model), grouping->slot_text(node, at));
    }
  }
  print(out, "\n{}\t{} \"{}-", node.kind() == NodeKind::router ? "Rt" : type_name(node), node.info.num_ports, type_letter(node));
  append_guid(out, node.guid());
  print(out, "\"\t# \"{}\"", name(at));
  if (is_switch) print(out, " {} port 0 lid {} lmc {}", port0_kind(node), subnet_.lid(node.first_port).value, subnet_.lmc(node.first_port));
  out += '\n';
}

void TopologyText::node(std::string& out, NodeIndex at) const {
  head(out, at);
  const Node& node = subnet_.node(at);
  for (unsigned number = 0; number < node.slots; ++number) {
    if (subnet_.port(node.first_port + number).peer != none) link(out, node.first_port + number);
  }
}

void TopologyText::port_name(std::string& out, PortIndex at) const {
  const Port& port = subnet_.port(at);
  const Node& node = subnet_.node(port.node);
  print(out, "\"{}-", type_letter(node));
  append_guid(out, node.guid());
  print(out, "\"[{}]", port.number);
  if (grouping != nullptr && grouping->external_port[at] != 0) print(out, "[ext {}]", grouping->external_port[at]);
  if (node.kind() == NodeKind::sw) return;
  out += '(';
  append_guid(out, port.guid);
  out += ')';
}

void TopologyText::link(std::string& out, PortIndex at) const {
  const Port& port = subnet_.port(at);
  const Port& peer = subnet_.port(port.peer);
  print(out, "[{}]", port.number);
  if (grouping != nullptr && grouping->external_port[at] != 0) print(out, "[ext {}]", grouping->external_port[at]);
  const std::string rate = to_text(active_rate(subnet_, at));
  if (subnet_.node(port.node).kind() == NodeKind::sw) {
    out += '\t';
    port_name(out, port.peer);
    print(out, "\t# \"{}\" lid {} {}", name(peer.node), subnet_.lid(port.peer).value, rate);
  } else {
    out += '(';
    append_guid(out, port.guid);
    out += ")\t";
    port_name(out, port.peer);
    print(out, "\t# lid {} lmc {} \"{}\" {}", subnet_.lid(at).value, subnet_.lmc(at), name(peer.node), rate);
  }
  if (full) {
    const smp::PortInfo info = port.info();
    print(out, " s={} w={} v={}", info.link_speed_active, info.link_width_active, static_cast<unsigned>(info.vl_cap));
  }
  out += '\n';
}

void TopologyText::listed(std::string& out, NodeIndex at) const {
  const Node& node = subnet_.node(at);
  print(out, "{:<8}: ", type_name(node));
  append_guid(out, node.guid());
  print(out, " ports {} devid 0x{:x} vendid 0x{:x} \"{}\"\n", node.info.num_ports, node.info.device_id, node.info.vendor_id, name(at));
}

void TopologyText::summary(std::string& out, NodeIndex at) const {
  const Node& node = subnet_.node(at);
  print(out, "{:<8}: ", type_name(node));
  append_guid(out, node.guid());
  print(out, " ports {} \"{}\"", node.info.num_ports, name(at));
  if (node.kind() == NodeKind::sw) {
    print(out, " {} port 0 lid {} lmc {}", port0_kind(node), subnet_.lid(node.first_port).value, subnet_.lmc(node.first_port));
  }
  out += '\n';
}

void TopologyText::ports(std::string& out, NodeIndex at) const {
  const Node& node = subnet_.node(at);
  const auto end = [&](PortIndex index) {
    const Port& port = subnet_.port(index);
    const Node& owner = subnet_.node(port.node);
    print(out, "{} {:5} {:2} ", short_type(owner), subnet_.lid(index).value, port.number);
    append_guid(out, subnet_.end_port_guid(index));
  };
  for (unsigned number = 1; number < node.slots; ++number) {
    const PortIndex index = node.first_port + number;
    const Port& port = subnet_.port(index);
    if (!port.has_info && port.peer == none) continue;
    end(index);
    const LinkRate rate = active_rate(subnet_, index);
    print(out, " {}x {}", rate.lanes, subnet::name(rate.speed));
    if (port.peer == none) {
      print(out, "{:39}'{}'\n", "", name(at));
      continue;
    }
    out += " - ";
    end(port.peer);
    print(out, " ( '{}' - '{}' )\n", name(at), name(subnet_.port(port.peer).node));
  }
}

void TopologyText::chassis(std::string& out, const subnet::Chassis& box) const {
  print(out, "Chassis {}", box.number);
  if (box.guid.value != 0) {
    out += " (guid ";
    append_guid(out, box.guid);
    out += ')';
  }
  out += '\n';
}

}  // namespace ib::formats
