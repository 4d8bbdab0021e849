// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Names come from the wire. They are escaped here, in one place for all kinds of lines.
#include "formats/topology_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

#include "base/escape.hpp"
#include "iba/text.hpp"

namespace ib::formats {

using namespace subnet;

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

/// The name of a node in a text of infiniband-diags: "S-0002c90200000001", in quotes.
std::string node_id(const Node& node) { return fmt::format("\"{}-{:016x}\"", type_letter(node), node.guid().value); }

}  // namespace

std::string rate_text(const LinkRate& rate) {
  const std::string_view speed = subnet::name(rate.speed);
  return (rate.lanes == 0 ? "?" : std::to_string(rate.lanes)) + 'x' + (speed.empty() ? "?" : std::string(speed));
}

std::string TopologyText::name(NodeIndex at) const { return escaped(name_of(subnet_.node(at), names_)); }

/// " base port 0 lid 2 lmc 0" of what is printed as a switch, else nothing. An enhanced port 0 has features of a CA port (SwitchInfo, IBA
/// 14.2.5.4).
std::string TopologyWriter::port0(NodeIndex at, bool is_switch) const {
  if (!is_switch) return {};
  const Node& node = subnet_.node(at);
  const bool is_enhanced = (node.has_switch_info || node.is_listed) && node.switch_info().enhanced_port0 != 0;
  return fmt::format(" {} port 0 lid {} lmc {}", is_enhanced ? "enhanced" : "base", subnet_.lid(node.first_port).value,
                     subnet_.lmc(node.first_port));
}

void TopologyWriter::num_ports(std::string& out, NodeIndex at) const { print(out, "numports = {}\n", subnet_.node(at).info.num_ports); }

void TopologyWriter::node(std::string& out, NodeIndex at) const {
  const Node& node = subnet_.node(at);
  head(out, at);
  for (unsigned number = 1; number < node.slots; ++number) {
    if (subnet_.port(node.first_port + number).peer != none) link(out, node.first_port + number);
  }
}

void TopologyWriter::topology(std::string& out, std::span<const NodeIndex> nodes, const std::function<void()>& drain) const {
  const std::string_view end = lists_all_ ? "\n" : "";
  const auto block = [&](NodeIndex at) {
    out += '\n';
    node(out, at);
    drain();
  };
  const auto section = [&](std::string_view title, std::span<const NodeIndex> boards, std::optional<NodeKind> kind) {
    print(out, "\n# {}", title);
    for (const NodeIndex at : boards) {
      if (at != none && (!kind || subnet_.node(at).kind() == *kind)) block(at);
    }
    out += end;
  };
  header(out);
  if (grouping != nullptr) {
    for (const Chassis& box : grouping->chassis) {
      if (box.number == 0) continue;
      chassis(out, box);
      section("Spine Nodes", box.spines, std::nullopt);
      section("Line Nodes", box.lines, std::nullopt);
      std::vector<NodeIndex> others = box.others;
      if (lists_all_) others.insert(others.begin(), box.unlisted.begin(), box.unlisted.end());
      section("Chassis Switches", others, NodeKind::sw);
      section("Chassis CAs", others, NodeKind::ca);
    }
    out += "\nNon-Chassis Nodes\n";
  }
  for (const NodeIndex at : nodes) {
    if (grouping == nullptr || !grouping->grouped(at)) block(at);
  }
  out += end;
}

void TopologyText::header(std::string& out) const {
  std::array<char, 64> date{};
  std::tm local{};
  localtime_r(&time, &local);
  std::strftime(date.data(), date.size(), "%a %b %d %H:%M:%S %Y", &local);
  print(out, "#\n# Topology file: generated on {}\n#\n", date.data());
  if (subnet_.start != none) {
    const Port& start = subnet_.port(subnet_.start);
    print(out, "# Initiated from node {} port {}\n", to_text(subnet_.node(start.node).guid()), to_text(start.guid));
  }
  if (max_hops) print(out, "# Reported max hops discovered: {}\n", *max_hops);
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
        type_letter(node), to_text(node.guid()), name(at), port0(at, node.kind() == NodeKind::sw));
}

void TopologyWriter::codes(std::string& out, const Port& port, bool has_speed) const {
  if (!full) return;
  const smp::PortInfo info = port.info();
  print(out, " s={} w={} v={}", has_speed ? info.link_speed_active : 0U, info.link_width_active, static_cast<unsigned>(info.vl_cap));
}

std::string TopologyWriter::extension(PortIndex at) const {
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
  codes(out, port, true);
  out += '\n';
}

void TopologyText::listed(std::string& out, NodeIndex at) const {
  const Node& node = subnet_.node(at);
  print(out, "{:<8}: {} ports {} devid 0x{:x} vendid 0x{:x} \"{}\"\n", type_name(node), to_text(node.guid()), node.info.num_ports,
        node.info.device_id, node.info.vendor_id, name(at));
}

void TopologyText::summary(std::string& out, NodeIndex at) const {
  const Node& node = subnet_.node(at);
  print(out, "{:<8}: {} ports {} \"{}\"{}\n", type_name(node), to_text(node.guid()), node.info.num_ports, name(at),
        port0(at, node.kind() == NodeKind::sw));
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

void TopologyText::chassis(std::string& out, const Chassis& box) const {
  print(out, "\nChassis {}{}\n", box.number, box.guid == Guid{} ? std::string() : fmt::format(" (guid {})", to_text(box.guid)));
}

// The functions of DiagsTopology follow the order of the text of infiniband-diags. Tabs and blanks are exactly as there.

std::string libibnetdisc_route(std::span<const std::uint8_t> ports) {
  std::string text = "DR path slid 0; dlid 0; 0";
  for (const unsigned port : ports) text += ',' + std::to_string(port);
  return text;
}

std::string DiagsTopology::clean(NodeIndex at) const { return printable(subnet_.node(at).description()); }

/// The text for width and speed of the port `at`. There is no speed if the port whose CapabilityMask says which speeds are valid is not
/// known: port 0 of what is printed as a switch, which may be a router board.
std::string DiagsTopology::rate(PortIndex at, PortIndex end_port, std::string_view between) const {
  const LinkRate now = active_rate(subnet_, at);
  const bool has_speed = now.speed != Speed::unknown && subnet_.port(end_port).has_info;
  const std::string width = now.lanes == 0 ? "??" : fmt::format("{}x", now.lanes);
  return fmt::format("{}{}{}", width, between, has_speed ? subnet::name(now.speed) : "???");
}

void DiagsTopology::header(std::string& out) const {
  std::array<char, 32> date{};
  print(out, "#\n# Topology file: generated on {}#\n", ctime_r(&time, date.data()));
  if (sweep != nullptr) print(out, "# Reported max hops discovered: {}\n# Total MADs used: {}\n", sweep->hops, sweep->mads);
  if (subnet_.start == none) return;
  const Node& node = subnet_.node(subnet_.port(subnet_.start).node);
  print(out, "# Initiated from node {:016x} port {:016x}\n", node.guid().value, node.info.port_guid.value);
}

/// The names of the hosts of a Xsigo box.
std::vector<std::string> DiagsTopology::hosts(const Chassis& box) const {
  std::vector<std::string> names;
  for (const NodeIndex at : box.others) {
    if (is_xsigo(box.guid) && is_xsigo_host(subnet_.node(at).guid())) names.push_back(clean(at));
  }
  return names;
}

void DiagsTopology::ids(std::string& out, NodeIndex at) const {
  const Node& node = subnet_.node(at);
  const std::uint64_t image = node.info.system_image_guid.value;
  print(out, "vendid=0x{:x}\ndevid=0x{:x}\n", node.info.vendor_id, node.info.device_id);
  if (image != 0) print(out, "sysimgguid=0x{:x}", image);
  const bool grouped = grouping != nullptr && grouping->grouped(at);
  if (grouped) {
    const Chassis& box = grouping->chassis[grouping->slots[at].chassis];
    print(out, "\t\t# Chassis {}", box.number);
    if (const auto names = hosts(box); !names.empty() && !names.back().empty()) print(out, " ({})", names.back());
    const PortIndex first = subnet_.port_of(at, 1);
    if (is_xsigo_target(node.guid()) && first != none && subnet_.port(first).peer != none) {
      print(out, " slot {}", subnet_.port(subnet_.port(first).peer).number);
    }
  }
  if (image != 0 || grouped) out += '\n';
}

/// Every board in a slot is printed as a switch. An adapter has no port 0, so that it is printed without LID and speed.
bool DiagsTopology::as_switch(NodeIndex at) const {
  if (subnet_.node(at).kind() == NodeKind::sw) return true;
  if (grouping == nullptr || !grouping->grouped(at)) return false;
  const Chassis& box = grouping->chassis[grouping->slots[at].chassis];
  return std::ranges::find(box.spines, at) != box.spines.end() || std::ranges::find(box.lines, at) != box.lines.end();
}

void DiagsTopology::head(std::string& out, NodeIndex at) const {
  const Node& node = subnet_.node(at);
  const bool is_switch = as_switch(at);
  ids(out, at);
  if (is_switch) {
    print(out, "switchguid=0x{:x}({:x})", node.guid().value, node.info.port_guid.value);
  } else {
    print(out, "{}guid=0x{:x}", node.kind() == NodeKind::router ? "rt" : "ca", node.guid().value);
  }
  if (is_switch && grouping != nullptr) {
    out += "\t# ";
    const Slot& place = grouping->slots[at];
    if (place.chassis != none && !place.model.empty()) print(out, "{} ", printable(place.model));
    out += grouping->slot_text(node, at);
  }
  out += '\n';
  detail(out, at);
  if (!is_switch && grouping != nullptr && is_xsigo_host(node.guid())) out += " (scp)";
  out += '\n';
}

void DiagsTopology::detail(std::string& out, NodeIndex at) const {
  const Node& node = subnet_.node(at);
  const bool is_switch = as_switch(at);
  const std::string_view type = is_switch ? "Switch" : node.kind() == NodeKind::router ? "Rt" : "Ca";
  print(out, "{}\t{} {}\t\t# \"{}\"", type, node.info.num_ports, node_id(node), is_switch ? name(at) : clean(at));
  out += port0(at, is_switch);
}

void DiagsTopology::link(std::string& out, PortIndex at) const {
  const Port& port = subnet_.port(at);
  const bool is_switch = as_switch(port.node);
  const Port& peer = subnet_.port(port.peer);
  const PortIndex end = is_switch ? subnet_.node(port.node).first_port : at;
  const Node& remote = subnet_.node(peer.node);
  print(out, "[{}]{}", port.number, is_switch ? extension(at) : fmt::format("({:x}) ", port.guid.value));
  print(out, "\t{}[{}]{}", node_id(remote), peer.number, extension(port.peer));
  if (remote.kind() != NodeKind::sw) print(out, "{}({:x}) ", is_switch ? "" : " ", peer.guid.value);
  out += "\t\t# ";
  if (!is_switch) print(out, "lid {} lmc {} ", subnet_.lid(at).value, subnet_.lmc(at));
  print(out, "\"{}\" lid {} {}", name(peer.node), subnet_.lid(port.peer).value, rate(at, end, ""));
  codes(out, port, !is_switch || subnet_.port(end).has_info);
  const Guid remote_guid = subnet_.port_guid(port.peer);
  if (is_switch && is_xsigo_target(remote_guid)) {
    print(out, " slot {}", port.number);
  } else if (is_switch && is_xsigo_host(remote_guid)) {
    out += " (scp)";
  }
  out += '\n';
}

void DiagsTopology::chassis(std::string& out, const Chassis& box) const {
  print(out, "\nChassis {}", box.number);
  if (box.guid.value != 0) print(out, " (guid 0x{:x})", box.guid.value);
  out += '\n';
  for (const std::string& host : hosts(box)) print(out, "Hostname: {}\n", host);
}

void DiagsTopology::listed(std::string& out, NodeIndex at) const {
  const Node& node = subnet_.node(at);
  const std::string type = node.kind() == NodeKind::other ? "???" : type_name(node);
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

void DiagsTopology::step(std::string& out, const LegacyStep& step) const {
  const Port& port = subnet_.port(step.port);
  const Node& node = subnet_.node(port.node);
  const unsigned lid = step.port_read ? subnet_.lid(step.port).value : 0U;
  const unsigned last = lid + (step.port_read ? (1U << subnet_.lmc(step.port)) - 1 : 0U);
  const std::string_view type = to_text(node.info.node_type);
  print(out, "{} -> {} {} {{{:016x}}} portnum {} lid {}-{} \"{}\"\n", libibnetdisc_route(step.route), step.is_new ? "new" : "known",
        type.empty() ? "?" : type, node.guid().value, node.kind() == NodeKind::sw ? 0U : port.number, lid, last,
        step.described ? clean(port.node) : "");
}

}  // namespace ib::formats
