// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "tools/shared/diags_fabric.hpp"

#include <fmt/format.h>

#include <array>
#include <iterator>

#include "iba/libibmad_text.hpp"
#include "subnet/model/rate.hpp"
#include "tools/shared/libibnetdisc.hpp"

namespace ib::tools {
namespace {

using subnet::LinkRate;
using subnet::Node;
using subnet::NodeIndex;
using subnet::NodeKind;
using subnet::none;
using subnet::Port;
using subnet::PortIndex;
using subnet::Speed;

template <typename... T>
void print(std::string& out, fmt::format_string<T...> format, T&&... args) {
  fmt::format_to(std::back_inserter(out), format, std::forward<T>(args)...);
}

std::string node_id(const Node& node) {
  const char letter = node.kind() == NodeKind::sw ? 'S' : node.kind() == NodeKind::ca ? 'H' : node.kind() == NodeKind::router ? 'R' : '?';
  return fmt::format("\"{}-{:016x}\"", letter, node.guid().value);
}

/// "14.0625 Gbps"
std::string speed_text(Speed speed) {
  const std::string gbps = fmt::format("{}", subnet::lane_mbps(speed) / 1000);
  return gbps + (gbps.find('.') == std::string::npos ? ".0 Gbps" : " Gbps");
}

std::string speed_that_could_be(const LinkRate& now, const LinkRate& best) {
  if (now.speed >= best.speed) return "";
  if (best.speed != Speed::fdr10) return "Could be " + speed_text(best.speed);
  // PortInfo has the same value for QDR and FDR10.
  return now.speed == Speed::qdr ? "Could be FDR10 (Found link at QDR but expected speed is FDR10)" : "Could be FDR10";
}

}  // namespace

std::string diags_link_text(const subnet::Subnet& subnet, subnet::PortIndex at, bool known) {
  const subnet::Port& port = subnet.port(at);
  const smp::PortInfo info = port.info();
  const std::string state = fmt::format("{:>6}/{:>8})", libibmad_text(LibibmadText::portstate, static_cast<unsigned>(port.state()), 4),
                                        libibmad_text(LibibmadText::physportstate, static_cast<unsigned>(port.physical_state()), 4));
  if (port.state() == smp::PortState::down) return "(              " + state;
  const Speed now = known ? subnet::active_rate(subnet, at).speed : Speed::unknown;
  const std::string speed = now == Speed::fdr10  ? "10.0 Gbps (FDR10)"
                            : now > Speed::fdr10 ? speed_text(now)
                                                 : libibmad_text(LibibmadText::linkspeed, known ? info.link_speed_active : 0U, 4);
  return fmt::format("({:>3} {:>18} {}", libibmad_text(LibibmadText::linkwidth, known ? info.link_width_active : 0U, 8), speed, state);
}

std::string diags_could_be(const subnet::Subnet& subnet, subnet::PortIndex at) {
  const LinkRate now = subnet::active_rate(subnet, at), best = subnet::best_rate(subnet, at);
  return (now.lanes < best.lanes ? fmt::format("Could be {}X ", best.lanes) : " ") + speed_that_could_be(now, best);
}

// The functions follow the order of the text of infiniband-diags. Tabs and blanks are exactly as there.

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

void DiagsTopology::header(std::string& out) const {
  std::array<char, 32> date{};
  print(out, "#\n# Topology file: generated on {}#\n", ctime_r(&time, date.data()));
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

void DiagsTopology::head(std::string& out, NodeIndex at, bool as_switch, std::string_view host, std::string_view prefix,
                         std::string_view detail_prefix) const {
  const Node& node = subnet_.node(at);
  ids(out, at, host, prefix);
  if (as_switch) {
    print(out, "{}switchguid=0x{:x}({:x})", prefix, node.guid().value, node.info.port_guid.value);
  } else {
    print(out, "{}{}guid=0x{:x}", prefix, node.kind() == NodeKind::router ? "rt" : "ca", node.guid().value);
  }
  if (as_switch && grouping != nullptr) {
    out += "\t# ";
    const subnet::Slot& place = grouping->slots[at];
    if (place.chassis != none && !place.model.empty()) print(out, "{} ", printable(place.model));
    out += grouping->slot_text(node, at);
  }
  out += '\n';
  detail(out, at, as_switch, detail_prefix);
  if (!as_switch && grouping != nullptr && subnet::is_xsigo_host(node.guid())) out += " (scp)";
  out += '\n';
}

void DiagsTopology::detail(std::string& out, NodeIndex at, bool as_switch, std::string_view prefix) const {
  const Node& node = subnet_.node(at);
  const std::string_view type = as_switch ? "Switch" : node.kind() == NodeKind::router ? "Rt" : "Ca";
  print(out, "{}{}\t{} {}\t\t# \"{}\"", prefix, type, node.info.num_ports, node_id(node), as_switch ? name(at) : clean(at));
  if (!as_switch) return;
  const bool enhanced = node.has_switch_info && node.switch_info().enhanced_port0 != 0;
  print(out, " {} port 0 lid {} lmc {}", enhanced ? "enhanced" : "base", subnet_.lid(node.first_port).value, subnet_.lmc(node.first_port));
}

void DiagsTopology::block(std::string& out, NodeIndex at, bool as_switch, std::string_view host, std::string_view prefix) const {
  const Node& node = subnet_.node(at);
  head(out, at, as_switch, host, prefix, prefix);
  for (unsigned number = 1; number < node.slots; ++number) {
    if (subnet_.port(node.first_port + number).peer != none) port(out, node.first_port + number, as_switch, prefix);
  }
}

void DiagsTopology::port(std::string& out, PortIndex at, bool as_switch, std::string_view prefix) const {
  const Port& port = subnet_.port(at);
  const Port& peer = subnet_.port(port.peer);
  const PortIndex end = as_switch ? subnet_.node(port.node).first_port : at;
  const Node& remote = subnet_.node(peer.node);
  print(out, "{}[{}]{}", prefix, port.number, as_switch ? external(at) : fmt::format("({:x}) ", port.guid.value));
  print(out, "\t{}[{}]{}", node_id(remote), peer.number, external(port.peer));
  if (remote.kind() != NodeKind::sw) print(out, "{}({:x}) ", as_switch ? "" : " ", peer.guid.value);
  out += "\t\t# ";
  if (!as_switch) print(out, "lid {} lmc {} ", subnet_.lid(at).value, subnet_.lmc(at));
  print(out, "\"{}\" lid {} {}", name(peer.node), subnet_.lid(port.peer).value, rate(at, end, ""));
  if (full) {
    const smp::PortInfo info = port.info();
    const unsigned speed = !as_switch || subnet_.port(end).has_info ? info.link_speed_active : 0U;
    print(out, " s={} w={} v={}", speed, info.link_width_active, static_cast<unsigned>(info.vl_cap));
  }
  const Guid remote_guid = subnet_.port_guid(port.peer);
  if (as_switch && subnet::is_xsigo_target(remote_guid)) {
    print(out, " slot {}", port.number);
  } else if (as_switch && subnet::is_xsigo_host(remote_guid)) {
    out += " (scp)";
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
  const auto boards = [&](std::string_view title, const auto& nodes) {
    print(out, "\n# {}", title);
    for (const NodeIndex at : nodes) {
      if (at != none) block(out, at, true, host, {});
    }
  };
  boards("Spine Nodes", box.spines);
  boards("Line Nodes", box.lines);
  for (const NodeKind kind : {NodeKind::sw, NodeKind::ca}) {
    out += kind == NodeKind::sw ? "\n# Chassis Switches" : "\n# Chassis CAs";
    for (const NodeIndex at : box.others) {
      if (subnet_.node(at).kind() == kind) block(out, at, host);
    }
  }
}

void DiagsTopology::topology(std::string& out, std::span<const NodeIndex> nodes, const std::function<void()>& drain) const {
  header(out);
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
