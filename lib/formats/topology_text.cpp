// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Names come from the wire. They are escaped here, in one place for all kinds of lines.
#include "formats/topology_text.hpp"

#include <fmt/format.h>

#include <array>
#include <iterator>

#include "base/escape.hpp"
#include "iba/text.hpp"
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

/// The letter and the name of a node's type.
char type_letter(const Node& node) { return "?HSR"[static_cast<std::size_t>(node.kind())]; }
std::string type_name(const Node& node) {
  constexpr std::array<std::string_view, 4> names{"??", "Ca", "Switch", "Router"};
  const std::string name(names[static_cast<std::size_t>(node.kind())]);
  return node.kind() == NodeKind::other ? name + std::to_string(static_cast<unsigned>(node.info.node_type)) : name;
}

}  // namespace

std::string rate_text(const LinkRate& rate) {
  const std::string_view speed = subnet::name(rate.speed);
  return (rate.lanes == 0 ? "?" : std::to_string(rate.lanes)) + 'x' + (speed.empty() ? "?" : std::string(speed));
}

std::string TopologyText::name(NodeIndex at) const { return escaped(name_of(subnet_.node(at), names_)); }

/// " base port 0 lid 2 lmc 0" of a switch. An enhanced port 0 has features of a CA port (SwitchInfo, IBA 14.2.5.4). Empty for other nodes.
std::string TopologyText::port0(NodeIndex at) const {
  const Node& node = subnet_.node(at);
  if (node.kind() != NodeKind::sw) return {};
  const bool is_enhanced = (node.has_switch_info || node.is_listed) && node.switch_info().enhanced_port0 != 0;
  return fmt::format(" {} port 0 lid {} lmc {}", is_enhanced ? "enhanced" : "base", subnet_.lid(node.first_port).value,
                     subnet_.lmc(node.first_port));
}

void TopologyText::header(std::string& out, std::time_t now) const {
  std::array<char, 64> date{};
  std::tm local{};
  localtime_r(&now, &local);
  std::strftime(date.data(), date.size(), "%a %b %d %H:%M:%S %Y", &local);
  print(out, "#\n# Topology file: generated on {}\n#\n", date.data());
  if (subnet_.start == none) return;
  const Port& start = subnet_.port(subnet_.start);
  print(out, "# Initiated from node {} port {}\n", to_text(subnet_.node(start.node).guid()), to_text(start.guid));
}

void TopologyText::head(std::string& out, NodeIndex at) const {
  const Node& node = subnet_.node(at);
  print(out, "vendid=0x{:x}\ndevid=0x{:x}\nsysimgguid={}", node.info.vendor_id, node.info.device_id, to_text(node.info.system_image_guid));
  if (grouping != nullptr && grouping->grouped(at)) print(out, "\t\t# Chassis {}", grouping->chassis[grouping->slots[at].chassis].number);
  constexpr std::array<std::string_view, 4> keys{"nodeguid", "caguid", "switchguid", "rtguid"};  // by NodeKind
  print(out, "\n{}={}", keys[static_cast<std::size_t>(node.kind())], to_text(node.guid()));
  if (node.kind() == NodeKind::sw) {
    print(out, "({})", to_text(node.info.port_guid));
    if (grouping != nullptr && grouping->slots[at].chassis != none)
      print(out, "\t# {} {}", escaped(grouping->slots[at].model), grouping->slot_text(node, at));
  }
  print(out, "\n{}\t{} \"{}-{}\"\t# \"{}\"{}\n", node.kind() == NodeKind::router ? "Rt" : type_name(node), node.info.num_ports,
        type_letter(node), to_text(node.guid()), name(at), port0(at));
}

void TopologyText::node(std::string& out, NodeIndex at) const {
  head(out, at);
  const Node& node = subnet_.node(at);
  for (unsigned number = 0; number < node.slots; ++number) {
    if (subnet_.port(node.first_port + number).peer != none) link(out, node.first_port + number);
  }
}

std::string TopologyText::extension(PortIndex at) const {
  return grouping != nullptr && grouping->external_port[at] != 0 ? fmt::format("[ext {}]", grouping->external_port[at]) : std::string();
}

std::string TopologyText::port_name(PortIndex at) const {
  const Port& port = subnet_.port(at);
  const Node& node = subnet_.node(port.node);
  const std::string guid = node.kind() == NodeKind::sw ? std::string() : fmt::format("({})", to_text(port.guid));
  return fmt::format("\"{}-{}\"[{}]{}{}", type_letter(node), to_text(node.guid()), port.number, extension(at), guid);
}

void TopologyText::link(std::string& out, PortIndex at) const {
  const Port& port = subnet_.port(at);
  const NodeIndex peer = subnet_.port(port.peer).node;
  const std::string rate = rate_text(active_rate(subnet_, at));
  print(out, "[{}]{}", port.number, extension(at));
  if (subnet_.node(port.node).kind() == NodeKind::sw) {
    print(out, "\t{}\t# \"{}\" lid {} {}", port_name(port.peer), name(peer), subnet_.lid(port.peer).value, rate);
  } else {
    print(out, "({})\t{}\t# lid {} lmc {} \"{}\" {}", to_text(port.guid), port_name(port.peer), subnet_.lid(at).value, subnet_.lmc(at),
          name(peer), rate);
  }
  if (full) {
    const smp::PortInfo info = port.info();
    print(out, " s={} w={} v={}", info.link_speed_active, info.link_width_active, static_cast<unsigned>(info.vl_cap));
  }
  out += '\n';
}

void TopologyText::listed(std::string& out, NodeIndex at) const {
  const Node& node = subnet_.node(at);
  print(out, "{:<8}: {} ports {} devid 0x{:x} vendid 0x{:x} \"{}\"\n", type_name(node), to_text(node.guid()), node.info.num_ports,
        node.info.device_id, node.info.vendor_id, name(at));
}

void TopologyText::summary(std::string& out, NodeIndex at) const {
  const Node& node = subnet_.node(at);
  print(out, "{:<8}: {} ports {} \"{}\"{}\n", type_name(node), to_text(node.guid()), node.info.num_ports, name(at), port0(at));
}

void TopologyText::ports(std::string& out, NodeIndex at) const {
  const Node& node = subnet_.node(at);
  const auto end = [&](PortIndex index) {
    const Port& port = subnet_.port(index);
    return fmt::format("{} {:5} {:2} {}", short_type(subnet_.node(port.node)), subnet_.lid(index).value, port.number,
                       to_text(subnet_.end_port_guid(index)));
  };
  for (unsigned number = 1; number < node.slots; ++number) {
    const PortIndex index = node.first_port + number;
    const Port& port = subnet_.port(index);
    if (!port.has_info && port.peer == none) continue;
    const LinkRate rate = active_rate(subnet_, index);
    print(out, "{} {}x {}", end(index), rate.lanes, subnet::name(rate.speed));
    if (port.peer == none) {
      print(out, "{:39}'{}'\n", "", name(at));
    } else {
      print(out, " - {} ( '{}' - '{}' )\n", end(port.peer), name(at), name(subnet_.port(port.peer).node));
    }
  }
}

void TopologyText::chassis(std::string& out, const subnet::Chassis& box) const {
  print(out, "Chassis {}{}\n", box.number, box.guid == Guid{} ? std::string() : fmt::format(" (guid {})", to_text(box.guid)));
}

}  // namespace ib::formats
