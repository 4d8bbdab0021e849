// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The functions follow the order of the text of infiniband-diags. Tabs and blanks are exactly as there.
#include "tools/shared/diags_topology.hpp"

#include <fmt/format.h>

#include <array>
#include <iterator>

#include "base/escape.hpp"
#include "subnet/model/names.hpp"
#include "subnet/model/rate.hpp"
#include "tools/shared/diags_fabric.hpp"
#include "tools/shared/libibnetdisc.hpp"

namespace ib::tools {
namespace {

using subnet::Node;
using subnet::NodeIndex;
using subnet::NodeKind;
using subnet::none;
using subnet::Port;
using subnet::PortIndex;

template <typename... T>
void print(std::string& out, fmt::format_string<T...> format, T&&... args) {
  fmt::format_to(std::back_inserter(out), format, std::forward<T>(args)...);
}

std::string node_id(const Node& node) {
  const char letter = node.kind() == NodeKind::sw ? 'S' : node.kind() == NodeKind::ca ? 'H' : node.kind() == NodeKind::router ? 'R' : '?';
  return fmt::format("\"{}-{:016x}\"", letter, node.guid().value);
}

}  // namespace

std::string DiagsTopology::clean(NodeIndex at) const { return printable(subnet_.node(at).description()); }

std::string DiagsTopology::name(NodeIndex at) const { return diags_node_name(subnet_.node(at), names_); }

/// The text for width and speed of the port `at`. There is no speed if the port whose CapabilityMask says which speeds are valid is not
/// known: port 0 of what is printed as a switch, which may be a router board.
std::string DiagsTopology::rate(PortIndex at, PortIndex end_port, std::string_view between) const {
  const subnet::LinkRate now = subnet::active_rate(subnet_, at);
  const bool has_speed = now.speed != subnet::Speed::unknown && subnet_.port(end_port).has_info;
  const std::string width = now.lanes == 0 ? "??" : fmt::format("{}x", now.lanes);
  return fmt::format("{}{}{}", width, between, has_speed ? subnet::name(now.speed) : "???");
}

std::string DiagsTopology::external(PortIndex at) const {
  const unsigned number = grouping != nullptr ? grouping->external_port[at] : 0;
  return number == 0 ? std::string() : fmt::format("[ext {}]", number);
}

void DiagsTopology::header(std::string& out, std::time_t now) const {
  std::array<char, 32> date{};
  print(out, "#\n# Topology file: generated on {}#\n", ctime_r(&now, date.data()));
  if (sweep != nullptr) print(out, "# Reported max hops discovered: {}\n# Total MADs used: {}\n", sweep->hops, sweep->mads);
  if (subnet_.start == none) return;
  const Node& node = subnet_.node(subnet_.port(subnet_.start).node);
  print(out, "# Initiated from node {:016x} port {:016x}\n", node.guid().value, node.info.port_guid.value);
}

void DiagsTopology::ids(std::string& out, NodeIndex at, std::string_view host, std::string_view prefix) const {
  const Node& node = subnet_.node(at);
  const std::uint64_t image = node.info.system_image_guid.value;
  print(out, "\n{0}vendid=0x{1:x}\n{0}devid=0x{2:x}\n", prefix, node.info.vendor_id, node.info.device_id);
  if (image != 0) print(out, "{}sysimgguid=0x{:x}", prefix, image);
  const bool grouped = grouping != nullptr && grouping->grouped(at);
  if (grouped) {
    print(out, "\t\t# Chassis {}", grouping->chassis[grouping->slots[at].chassis].number);
    if (!host.empty()) print(out, " ({})", host);
    const PortIndex first = subnet_.port_of(at, 1);
    if (subnet::is_xsigo_target(node.guid()) && first != none && subnet_.port(first).peer != none) {
      print(out, " slot {}", subnet_.port(subnet_.port(first).peer).number);
    }
  }
  if (image != 0 || grouped) out += '\n';
}

void DiagsTopology::head(std::string& out, NodeIndex at, const Prefixes& prefixes, std::string_view host) const {
  const Node& node = subnet_.node(at);
  if (node.kind() == NodeKind::sw) return switch_head(out, at, prefixes, host);
  ids(out, at, host, prefixes.ids);
  print(out, "{}{}guid=0x{:x}\n", prefixes.ids, node.kind() == NodeKind::router ? "rt" : "ca", node.guid().value);
  detail(out, at, prefixes.detail);
  if (grouping != nullptr && subnet::is_xsigo_host(node.guid())) out += " (scp)";
  out += '\n';
}

void DiagsTopology::switch_head(std::string& out, NodeIndex at, const Prefixes& prefixes, std::string_view host) const {
  const Node& node = subnet_.node(at);
  ids(out, at, host, prefixes.ids);
  print(out, "{}switchguid=0x{:x}({:x})", prefixes.ids, node.guid().value, node.info.port_guid.value);
  if (grouping != nullptr) {
    out += "\t# ";
    const subnet::Slot& place = grouping->slots[at];
    if (place.chassis != none && !place.model.empty()) print(out, "{} ", printable(place.model));
    out += grouping->slot_text(node, at);
  }
  out += '\n';
  switch_detail(out, at, prefixes.detail);
  out += '\n';
}

void DiagsTopology::detail(std::string& out, NodeIndex at, std::string_view prefix) const {
  const Node& node = subnet_.node(at);
  if (node.kind() == NodeKind::sw) return switch_detail(out, at, prefix);
  print(out, "{}{}\t{} {}\t\t# \"{}\"", prefix, node.kind() == NodeKind::router ? "Rt" : "Ca", node.info.num_ports, node_id(node),
        clean(at));
}

void DiagsTopology::switch_detail(std::string& out, NodeIndex at, std::string_view prefix) const {
  const Node& node = subnet_.node(at);
  const bool enhanced = node.has_switch_info && node.switch_info().enhanced_port0 != 0;
  print(out, "{}Switch\t{} {}\t\t# \"{}\" {} port 0 lid {} lmc {}", prefix, node.info.num_ports, node_id(node), name(at),
        enhanced ? "enhanced" : "base", subnet_.lid(node.first_port).value, subnet_.lmc(node.first_port));
}

void DiagsTopology::block(std::string& out, NodeIndex at, std::string_view host, std::string_view prefix) const {
  const Node& node = subnet_.node(at);
  head(out, at, {prefix, prefix}, host);
  for (unsigned number = 1; number < node.slots; ++number) {
    if (subnet_.port(node.first_port + number).peer != none) port(out, node.first_port + number, prefix);
  }
}

/// Appends the block of a board in a slot. infiniband-diags prints every board as a switch. An adapter has no port 0, so that it is printed
/// without LID and speed.
void DiagsTopology::board(std::string& out, NodeIndex at, std::string_view host) const {
  const Node& node = subnet_.node(at);
  switch_head(out, at, {}, host);
  for (unsigned number = 1; number < node.slots; ++number) {
    const PortIndex at_number = node.first_port + number;
    if (subnet_.port(at_number).peer != none) switch_port(out, at_number);
  }
}

void DiagsTopology::port(std::string& out, PortIndex at, std::string_view prefix) const {
  const bool is_switch = subnet_.node(subnet_.port(at).node).kind() == NodeKind::sw;
  out += prefix;
  if (is_switch) {
    switch_port(out, at);
  } else {
    end_port(out, at);
  }
}

void DiagsTopology::switch_port(std::string& out, PortIndex at) const {
  const Port& port = subnet_.port(at);
  const Port& peer = subnet_.port(port.peer);
  const PortIndex port0 = subnet_.node(port.node).first_port;
  const Node& remote = subnet_.node(peer.node);
  print(out, "[{}]{}\t{}[{}]{}", port.number, external(at), node_id(remote), peer.number, external(port.peer));
  if (remote.kind() != NodeKind::sw) print(out, "({:x}) ", peer.guid.value);
  print(out, "\t\t# \"{}\" lid {} {}", name(peer.node), subnet_.lid(port.peer).value, rate(at, port0, ""));
  if (full) {
    const smp::PortInfo info = port.info();
    const unsigned speed = subnet_.port(port0).has_info ? info.link_speed_active : 0U;
    print(out, " s={} w={} v={}", speed, info.link_width_active, static_cast<unsigned>(info.vl_cap));
  }
  const Guid remote_guid = subnet_.port_guid(port.peer);
  if (subnet::is_xsigo_target(remote_guid)) {
    print(out, " slot {}", port.number);
  } else if (subnet::is_xsigo_host(remote_guid)) {
    out += " (scp)";
  }
  out += '\n';
}

void DiagsTopology::end_port(std::string& out, PortIndex at) const {
  const Port& port = subnet_.port(at);
  const Port& peer = subnet_.port(port.peer);
  const Node& remote = subnet_.node(peer.node);
  print(out, "[{}]({:x}) \t{}[{}]{}", port.number, port.guid.value, node_id(remote), peer.number, external(port.peer));
  if (remote.kind() != NodeKind::sw) print(out, " ({:x}) ", peer.guid.value);
  print(out, "\t\t# lid {} lmc {} \"{}\" lid {} {}", subnet_.lid(at).value, subnet_.lmc(at), name(peer.node), subnet_.lid(port.peer).value,
        rate(at, at, ""));
  if (full) {
    const smp::PortInfo info = port.info();
    print(out, " s={} w={} v={}", info.link_speed_active, info.link_width_active, static_cast<unsigned>(info.vl_cap));
  }
  out += '\n';
}

void DiagsTopology::chassis(std::string& out, const subnet::Chassis& box) const {
  print(out, "\nChassis {}", box.number);
  if (box.guid.value != 0) print(out, " (guid 0x{:x})", box.guid.value);
  out += '\n';
  std::string host;
  for (const NodeIndex at : box.others) {
    if (!subnet::is_xsigo(box.guid) || !subnet::is_xsigo_host(subnet_.node(at).guid())) continue;
    host = clean(at);
    print(out, "Hostname: {}\n", host);
  }
  out += "\n# Spine Nodes";
  for (const NodeIndex at : box.spines) {
    if (at != none) board(out, at, host);
  }
  out += "\n# Line Nodes";
  for (const NodeIndex at : box.lines) {
    if (at != none) board(out, at, host);
  }
  out += "\n# Chassis Switches";
  for (const NodeIndex at : box.others) {
    if (subnet_.node(at).kind() == NodeKind::sw) block(out, at, host);
  }
  out += "\n# Chassis CAs";
  for (const NodeIndex at : box.others) {
    if (subnet_.node(at).kind() == NodeKind::ca) block(out, at, host);
  }
}

void DiagsTopology::topology(std::string& out, std::span<const NodeIndex> nodes, const std::function<void()>& drain) const {
  header(out, time);
  if (grouping != nullptr) {
    for (const subnet::Chassis& box : grouping->chassis) {
      if (box.number != 0) chassis(out, box);
      drain();
    }
    out += "\nNon-Chassis Nodes\n";
  }
  for (const NodeKind kind : {NodeKind::sw, NodeKind::ca, NodeKind::router}) {
    for (const NodeIndex at : nodes) {
      if (subnet_.node(at).kind() != kind || (grouping != nullptr && grouping->grouped(at))) continue;
      block(out, at);
      drain();
    }
  }
}

void DiagsTopology::listed(std::string& out, NodeIndex at) const {
  const Node& node = subnet_.node(at);
  const std::string_view type = node.kind() == NodeKind::sw       ? "Switch"
                                : node.kind() == NodeKind::ca     ? "Ca"
                                : node.kind() == NodeKind::router ? "Router"
                                                                  : "???";
  print(out, "{}\t : 0x{:016x} ports {} devid 0x{:x} vendid 0x{:x} \"{}\"\n", type, node.guid().value, node.info.num_ports,
        node.info.device_id, node.info.vendor_id, name(at));
}

void DiagsTopology::ports(std::string& out, NodeIndex at) const {
  const Node& node = subnet_.node(at);
  for (unsigned number = node.info.num_ports; number > 0; --number) {
    const PortIndex index = node.first_port + number;
    const Port& port = subnet_.port(index);
    if (!port.is_known()) continue;
    print(out, "{:>2} {:5} {:2} 0x{:016x} {}", short_type(node), subnet_.lid(index).value, number, subnet_.port_guid(index).value,
          rate(index, subnet_.end_port_of(index), " "));
    if (port.peer == none) {
      print(out, "{:36}'{}'\n", "", name(at));
      continue;
    }
    const Port& peer = subnet_.port(port.peer);
    print(out, " - {:>2} {:5} {:2} 0x{:016x} ( '{}' - '{}' )\n", short_type(subnet_.node(peer.node)), subnet_.lid(port.peer).value,
          peer.number, subnet_.port_guid(port.peer).value, name(at), name(peer.node));
  }
}

void DiagsTopology::step(std::string& out, const subnet::LegacyStep& step) const {
  const Port& port = subnet_.port(step.port);
  const Node& node = subnet_.node(port.node);
  const unsigned lid = step.port_read ? subnet_.lid(step.port).value : 0U;
  const unsigned last = lid + (step.port_read ? (1U << subnet_.lmc(step.port)) - 1 : 0U);
  const std::string_view type = to_text(node.info.node_type);
  print(out, "{} -> {} {} {{{:016x}}} portnum {} lid {}-{} \"{}\"\n", libibnetdisc_route(step.route), step.is_new ? "new" : "known",
        type.empty() ? "?" : type, node.guid().value, node.kind() == NodeKind::sw ? 0U : port.number, lid, last,
        step.described ? clean(port.node) : "");
}

}  // namespace ib::tools
