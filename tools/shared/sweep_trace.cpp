// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "tools/shared/sweep_trace.hpp"

#include <fmt/format.h>

#include <cstdlib>
#include <functional>
#include <optional>
#include <ranges>
#include <span>
#include <utility>

#include "base/escape.hpp"
#include "iba/libibmad_text.hpp"
#include "subnet/order.hpp"
#include "tools/shared/libibnetdisc.hpp"

namespace ib::tools {
namespace {

using What = subnet::LegacyEvent::What;

/// The number of the source line of libibnetdisc in a line of text.
unsigned source_line(What what) {
  switch (what) {
    case What::ask_node:
      return 612;
    case What::found_node:
      return 558;
    case What::link:
      return 505;
    case What::ask_port:
      return 456;
    case What::ask_mlnx_port:
      return 327;
    case What::read_port:
      return 184;
  }
  return 0;
}

using Ports = std::span<const std::uint8_t>;

/// How lines call the end of a route from the node where the sweep begins.
using RouteName = std::function<std::string(Ports)>;

/// Of a sweep that begins at the end of `start`. `goes_back`: there is an end node, and the first port of each route is the one by which
/// `start` came there.
RouteName names_from(const path::IbDrPath& start, bool goes_back) {
  return [start, goes_back](Ports ports) {
    path::IbDrPath route = start;
    if (goes_back && !ports.empty()) {
      route.retreat();
      ports = ports.subspan(1);
    }
    for (const std::uint8_t port : ports) {
      if (route.hops < path::max_hops) route.route[++route.hops] = port;
    }
    return diags_name(route);
  };
}

class TraceWriter {
 public:
  TraceWriter(const subnet::Subnet& subnet, TextOut& out, RouteName name) : subnet_(subnet), out_(out), name_(std::move(name)) {}

  void add(const subnet::LegacyEvent& event) {
    const std::string route = name_(event.route);
    out_.print("./libibnetdisc/ibnetdisc.c:{}; {}\n", source_line(event.what), text(event, route));
  }

 private:
  std::string text(const subnet::LegacyEvent& event, const std::string& route) const {
    switch (event.what) {
      case What::ask_node:
        return "Query Node Info; " + route;
      case What::found_node:
        return fmt::format("Found {} node GUID {:#x} ({})", event.is_new ? "new" : "old", guid(event.port), route);
      case What::link:
        return fmt::format("linking: {} and {}", end(event.port), end(event.from));
      case What::ask_port:
        return fmt::format("Query Port Info; {} ({:#x}):{}", route, guid(event.port), subnet_.port(event.port).number);
      case What::ask_mlnx_port:
        return fmt::format("Query MLNX Extended Port Info; {} ({:#x}):{}", route, guid(event.port), subnet_.port(event.port).number);
      case What::read_port:
        return port_text(event.port, route);
    }
    return {};
  }

  std::uint64_t guid(subnet::PortIndex at) const { return subnet_.node(subnet_.port(at).node).guid().value; }

  std::string end(subnet::PortIndex at) const {
    const subnet::Port& port = subnet_.port(at);
    return fmt::format("{:#x} 0x{:012x}->0x{:012x}:{}", guid(at), port.node + 1U, at + 1U, port.number);
  }

  std::string port_text(subnet::PortIndex at, const std::string& route) const {
    constexpr unsigned fdr10_bit = 1, width_bits = 8, speed_bits = 4;
    const subnet::Port& port = subnet_.port(at);
    const smp::PortInfo info = port.info();
    // libibnetdisc uses one buffer for two speeds, so that one speed is printed twice.
    const std::string speed = libibmad_text(LibibmadText::linkspeed, info.link_speed_active, speed_bits);
    return fmt::format("portid {} portnum {}: base lid {} state {} physstate {} {} {} {} {}", route, port.number,
                       subnet_.port(subnet_.end_port_of(at)).info().lid.value, static_cast<unsigned>(port.state()),
                       static_cast<unsigned>(port.physical_state()),
                       libibmad_text(LibibmadText::linkwidth, info.link_width_active, width_bits), speed,
                       (port.fdr10 & fdr10_bit) != 0 ? "FDR10" : "", speed);
  }

  const subnet::Subnet& subnet_;
  TextOut& out_;
  RouteName name_;
};

/// Takes the text before the first of `ends` from `rest`, and the end. Nothing if there is none.
std::optional<std::string_view> take(std::string_view& rest, std::string_view ends) {
  const std::size_t end = rest.find_first_of(ends);
  if (end == std::string_view::npos) return std::nullopt;
  const std::string_view part = rest.substr(0, end);
  rest.remove_prefix(end);
  return part;
}

/// Prints why a description does not name the slot of a chassis in the form "MF0;SYSTEM:TYPE/SLOT[:BOARD]/U1".
void trace_slot(std::string_view description, TextOut& out) {
  constexpr std::string_view start = "MF0;";
  const auto unsupported = [&out](unsigned line, std::string_view what, std::string_view why) {
    out.print("./libibnetdisc/chassis.c:{}; fill_mellanox_chassis_record: Unsupported node description format:{} {}\n", line, what, why);
  };
  if (!description.starts_with(start)) return unsupported(635, description, "");
  std::string_view rest = description.substr(start.size());
  const auto system = take(rest, ":");
  if (!system) return unsupported(643, description, "- (get system_name failed) ");
  const std::string_view named = description.substr(0, start.size() + system->size());
  rest.remove_prefix(1);
  if (!take(rest, "/")) return unsupported(652, named, "- (get system_type failed) ");
  rest.remove_prefix(1);
  const auto slot = take(rest, "/:");
  if (!slot) return unsupported(661, named, "- (get system_slot_name failed) ");
  if (rest.starts_with(':') && !take(rest, "/")) return unsupported(669, named, "- (get board type failed) ");
  rest.remove_prefix(1);
  if (!rest.starts_with('U')) return unsupported(677, named, "- (get node index) ");
  const int chip = static_cast<std::uint8_t>(std::atoi(std::string(rest.substr(1)).c_str()));
  if (chip != 1) out.print("./libibnetdisc/chassis.c:684; Unexpected Chip number:{} \n", chip);
  if (!slot->starts_with('L') && !slot->starts_with('S'))
    out.print("./libibnetdisc/chassis.c:694; fill_mellanox_chassis_record: Unsupported system_slot_name:{} \n", *slot);
}

/// Prints the lines of libibnetdisc on Mellanox switches while it looks for chassis, the last found switch first.
void trace_chassis(const subnet::Subnet& subnet, const subnet::LegacySweep& sweep, TextOut& out) {
  constexpr std::uint32_t mellanox = 0x2c9;
  constexpr std::uint16_t infiniscale_4 = 0xbd36;
  for (const subnet::NodeIndex at : sweep.found | std::views::reverse) {
    const subnet::Node& node = subnet.node(at);
    if (node.kind() != subnet::NodeKind::sw || node.info.vendor_id != mellanox) continue;
    const std::string description = printable_words(node.description());
    out.print("./libibnetdisc/chassis.c:621; fill_mellanox_chassis_record: node_desc:{} \n", description);
    if (node.info.device_id == infiniscale_4) trace_slot(description, out);
  }
}

/// Writes the lines of one sweep.
subnet::LegacySweep trace(const Fabric& fabric, TextOut& out, const RouteName& name, subnet::LegacyScan scan) {
  out.print("./libibnetdisc/ibnetdisc.c:821; from {}\n", name({}));
  TraceWriter lines(fabric.subnet, out, name);
  scan.on_event = [&lines, &out](const subnet::LegacyEvent& event) {
    lines.add(event);
    out.write({});
  };
  subnet::LegacySweep sweep = subnet::legacy_sweep(fabric.subnet, scan);
  trace_chassis(fabric.subnet, sweep, out);
  return sweep;
}

}  // namespace

subnet::LegacySweep trace_sweep(const Fabric& fabric, TextOut& out, subnet::LegacyScan scan) {
  return trace(fabric, out, libibnetdisc_route, std::move(scan));
}

subnet::LegacySweep trace_sweep(const Fabric& fabric, TextOut& out, const path::IbDrPath& start, subnet::LegacyScan scan) {
  const subnet::PortIndex first = scan.start != subnet::none ? scan.start : fabric.subnet.start;
  const bool is_switch = fabric.subnet.node(fabric.subnet.port(first).node).kind() == subnet::NodeKind::sw;
  const RouteName name = names_from(start, !is_switch && scan.start_hops > 1);
  return trace(fabric, out, name, std::move(scan));
}

void trace_silence(TextOut& out, const path::IbDrPath& start) {
  const std::string name = diags_name(start);
  out.print("./libibnetdisc/ibnetdisc.c:821; from {0}\n./libibnetdisc/ibnetdisc.c:612; Query Node Info; {0}\n", name);
}

void libibnetdisc_found_again(Session& session, const smp::NodeInfo& end, unsigned hops) {
  if (end.node_type == smp::NodeType::switch_ || hops < 2) return;
  const sys::EndPort& here = session.end_port();
  const bool is_way_in = hops == 2 && end.node_guid == here.device->node_guid && end.local_port_num == here.number;
  if (is_way_in) return;
  print_on_stderr(session.world(),
                  fmt::format("./libibnetdisc/ibnetdisc.c:667; Duplicate Port: Port with guid 0x{0:016x} already exists in ports DB\n"
                              "./libibnetdisc/ibnetdisc.c:379; Error Occurred when trying to insert new port guid 0x{0:016x} to DB\n",
                              end.port_guid.value));
}

}  // namespace ib::tools
