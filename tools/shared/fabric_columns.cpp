// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Values that were not read are not known, never zero.
#include "tools/shared/fabric_columns.hpp"

#include <fmt/format.h>

#include <array>
#include <string>
#include <utility>

#include "iba-gen/smp.hpp"
#include "subnet/diff/counterparts.hpp"
#include "subnet/model/rate.hpp"

namespace ib::tools {
namespace {

using report::Cell;
using report::cell;
using report::Coded;
using report::Column;
using report::gauge;
using report::state;
using enum report::JsonType;
using subnet::NodeIndex;
using subnet::PortIndex;

Cell unknown() { return std::monostate{}; }
Cell guid_cell(Guid guid) { return guid == Guid{} ? unknown() : Cell(guid); }
Cell lid_cell(Lid lid) { return lid == Lid{} ? unknown() : Cell(std::uint64_t{lid.value}); }
template <class Code>
Cell code_cell(Code code, std::string_view word) {
  return Coded{static_cast<double>(code), std::string(word)};
}

const subnet::Node& node_of(const NodeLine& line) { return line.fabric->subnet.node(line.node); }
bool is_switch(const NodeLine& line) { return node_of(line).kind() == subnet::NodeKind::sw; }
const subnet::Port& port_of(const PortLine& line) { return line.fabric->subnet.port(line.port); }

Cell node_guid(const NodeLine& line) { return node_of(line).guid(); }
Cell node_type(const NodeLine& line) { return code_cell(node_of(line).info.node_type, smp::to_text(node_of(line).info.node_type)); }
Cell node_description(const NodeLine& line) { return node_of(line).has_description ? Cell(node_of(line).description()) : unknown(); }
Cell node_name(const NodeLine& line) {
  const auto name = line.fabric->names.find(node_of(line).guid());
  return name ? Cell(*name) : unknown();
}

Cell route(const NodeLine& line) {
  if (!line.fabric->route_to_start) return report::Numbers();
  std::vector<std::optional<double>> ports;
  for (const std::uint8_t port : *line.fabric->route_to_start) ports.emplace_back(port);
  std::array<std::uint8_t, 64> way{};
  const unsigned hops = subnet::route_to(line.fabric->subnet, line.node, way);
  for (unsigned hop = 1; hop <= hops; ++hop) ports.emplace_back(way.at(hop));
  return report::Numbers(std::move(ports));
}

/// The addresses of an end port, which owns `at`.
Cell port_guid(const Fabric& fabric, PortIndex at) { return guid_cell(fabric.subnet.end_port_guid(at)); }
Cell lid(const Fabric& fabric, PortIndex at) { return lid_cell(fabric.subnet.lid(at)); }
Cell lmc(const Fabric& fabric, PortIndex at) {
  const bool is_read = fabric.subnet.port(fabric.subnet.end_port_of(at)).has_info;
  return is_read ? Cell(std::uint64_t{fabric.subnet.lmc(at)}) : unknown();
}
/// The address of a switch. Each port of another node has its own.
template <Cell (*get)(const Fabric& fabric, PortIndex at)>
Cell of_switch(const NodeLine& line) {
  return is_switch(line) ? get(*line.fabric, node_of(line).first_port) : unknown();
}
template <Cell (*get)(const Fabric& fabric, PortIndex at)>
Cell of_port(const PortLine& line) {
  return get(*line.fabric, line.port);
}

/// Whether the PortInfo was read from the port itself.
bool has_own_info(const PortLine& line) { return port_of(line).has_info && !line.fabric->subnet.node(port_of(line).node).is_listed; }
/// What it then says.
template <class Get>
Cell of_info(const PortLine& line, Get get) {
  return has_own_info(line) ? get(port_of(line).info()) : unknown();
}
Cell port_state(const PortLine& line) {
  const smp::PortState state = port_of(line).state();
  return has_own_info(line) ? Cell(code_cell(state, smp::to_text(state))) : Coded{};
}
Cell physical_state(const PortLine& line) {
  const smp::PortPhysicalState state = port_of(line).physical_state();
  return has_own_info(line) ? Cell(code_cell(state, smp::to_text(state))) : Coded{};
}

subnet::LinkRate active(const PortLine& line) {
  return port_of(line).peer != subnet::none ? subnet::active_rate(line.fabric->subnet, line.port) : subnet::LinkRate{};
}
subnet::LinkRate best(const PortLine& line) { return subnet::best_rate(line.fabric->subnet, line.port); }
template <subnet::LinkRate (*rate)(const PortLine& line)>
Cell link_width(const PortLine& line) {
  const unsigned lanes = rate(line).lanes;
  return lanes == 0 ? Cell(Coded{}) : code_cell(lanes, fmt::format("{}x", lanes));
}
template <subnet::LinkRate (*rate)(const PortLine& line)>
Cell link_speed(const PortLine& line) {
  const subnet::Speed of = rate(line).speed;
  return of == subnet::Speed::unknown ? Cell(Coded{}) : code_cell(subnet::lane_mbps(of), subnet::name(of));
}

template <Cell (*get)(const NodeLine& line)>
Cell of_peer_node(const PortLine& line) {
  const PortIndex peer = port_of(line).peer;
  return peer == subnet::none ? unknown() : get({line.fabric, line.fabric->subnet.port(peer).node});
}
Cell peer_type(const PortLine& line) { return port_of(line).peer == subnet::none ? Cell(Coded{}) : of_peer_node<node_type>(line); }

constexpr std::size_t name_column_count = 4;
constexpr std::array<Column<NodeLine>, 15> all_node_columns{{
    {{.key = "node_guid", .heading = "GUID", .usual = true, .meaning = "NodeInfo.NodeGUID.", .type = guid}, node_guid},
    {{.key = "node_type", .heading = "TYPE", .usual = true, .coded = true, .meaning = "NodeInfo.NodeType.", .type = integer}, node_type},
    {{.key = "node_description", .heading = "NODE", .usual = true, .meaning = "What a node reports about itself.", .type = text},
     node_description},
    {{.key = "node_name", .heading = "NAME", .meaning = "Name that the site's map has for a node.", .type = text}, node_name},
    {{.key = "num_ports", .heading = "PORTS", .usual = true, .meaning = "NodeInfo.NumPorts.", .type = integer},
     [](const NodeLine& line) { return Cell(std::uint64_t{node_of(line).info.num_ports}); }},
    {{.key = "vendor_id", .heading = "VENDOR", .meaning = "NodeInfo.VendorID.", .type = integer},
     [](const NodeLine& line) { return Cell(std::uint64_t{node_of(line).info.vendor_id}); }},
    {{.key = "device_id", .heading = "DEVICE", .usual = true, .meaning = "NodeInfo.DeviceID.", .type = integer},
     [](const NodeLine& line) { return Cell(std::uint64_t{node_of(line).info.device_id}); }},
    {{.key = "revision", .heading = "REVISION", .meaning = "NodeInfo.Revision.", .type = integer},
     [](const NodeLine& line) { return Cell(std::uint64_t{node_of(line).info.revision}); }},
    {{.key = "system_image_guid", .heading = "SYSTEM", .meaning = "NodeInfo.SystemImageGUID.", .type = guid},
     [](const NodeLine& line) { return Cell(node_of(line).info.system_image_guid); }},
    {{.key = "duplicate_guid", .heading = "DUPLICATE", .meaning = "Another node claims the same node GUID.", .type = boolean},
     [](const NodeLine& line) { return Cell(!subnet::has_own_guid(line.fabric->subnet, line.node)); }},
    {{.key = "route",
      .heading = "ROUTE",
      .meaning = "Output ports of a directed route, from the first hop on; of a node null where its route from this host is not known.",
      .type = integer,
      .is_list = true},
     route},
    {{.key = "port_guid", .heading = "PORT GUID", .meaning = "NodeInfo.PortGUID of the end port.", .type = guid}, of_switch<port_guid>},
    {{.key = "lid", .heading = "LID", .usual = true, .meaning = "Base LID of the end port.", .type = integer}, of_switch<lid>},
    {{.key = "lmc", .heading = "LMC", .meaning = "LMC of the end port.", .type = integer}, of_switch<lmc>},
    {{.key = "enhanced_port0", .heading = "ENHANCED PORT 0", .meaning = "SwitchInfo.EnhancedPort0.", .type = boolean},
     [](const NodeLine& line) {
       return is_switch(line) && node_of(line).has_switch_info ? Cell(node_of(line).switch_info().enhanced_port0 != 0) : unknown();
     }},
}};

constexpr std::string_view per_lane = "Mb/s of a lane";
// lid and its like have their meaning with a node.
constexpr std::array<Column<PortLine>, 19> all_port_columns{{
    {{.key = "port_num", .heading = "PORT", .usual = true, .meaning = "Number of a port on its node.", .type = integer},
     [](const PortLine& line) { return Cell(std::uint64_t{port_of(line).number}); }},
    {{.key = "port_guid", .heading = "PORT GUID"}, of_port<port_guid>},
    {{.key = "lid", .heading = "LID", .usual = true}, of_port<lid>},
    {{.key = "lmc", .heading = "LMC"}, of_port<lmc>},
    {{.key = "state",
      .heading = "STATE",
      .measure = state(),
      .usual = true,
      .coded = true,
      .meaning = "PortInfo.PortState.",
      .type = integer},
     port_state},
    {{.key = "phys_state",
      .heading = "PHYSICAL",
      .measure = state(),
      .coded = true,
      .meaning = "PortInfo.PortPhysicalState.",
      .type = integer},
     physical_state},
    {{.key = "width",
      .heading = "WIDTH",
      .measure = gauge("lanes"),
      .usual = true,
      .coded = true,
      .meaning = "Width of the link: lanes.",
      .type = integer},
     link_width<active>},
    {{.key = "speed",
      .heading = "SPEED",
      .measure = gauge(per_lane),
      .usual = true,
      .coded = true,
      .meaning = "Speed of the link: Mb/s of a lane.",
      .type = number},
     link_speed<active>},
    {{.key = "rate_mbps", .heading = "RATE", .measure = gauge("Mb/s"), .meaning = "Signalling rate of the link in Mb/s.", .type = number},
     [](const PortLine& line) {
       const subnet::LinkRate rate = active(line);
       return rate.known() ? Cell(rate.mbps()) : unknown();
     }},
    {{.key = "best_width",
      .heading = "BEST",
      .measure = gauge("lanes"),
      .coded = true,
      .meaning = "The greatest width that both ends of the link support: lanes.",
      .type = integer},
     link_width<best>},
    {{.key = "best_speed",
      .heading = "BEST",
      .measure = gauge(per_lane),
      .coded = true,
      .meaning = "The highest speed that both ends of the link support: Mb/s of a lane.",
      .type = number},
     link_speed<best>},
    {{.key = "hoq_life", .heading = "HOQ", .meaning = "PortInfo.HOQLife.", .type = integer},
     [](const PortLine& line) { return of_info(line, [](const smp::PortInfo& info) { return Cell(std::uint64_t{info.hoq_life}); }); }},
    {{.key = "vl_stall_count", .heading = "VL STALL", .meaning = "PortInfo.VLStallCount.", .type = integer},
     [](const PortLine& line) {
       return of_info(line, [](const smp::PortInfo& info) { return Cell(std::uint64_t{info.vl_stall_count}); });
     }},
    {{.key = "peer.node_guid", .heading = "PEER GUID", .is_needed = true}, of_peer_node<node_guid>},
    {{.key = "peer.node_type", .heading = "PEER TYPE", .coded = true}, peer_type},
    {{.key = "peer.node_description", .heading = "PEER", .usual = true}, of_peer_node<node_description>},
    {{.key = "peer.node_name", .heading = "PEER NAME"}, of_peer_node<node_name>},
    {{.key = "peer.port_num", .heading = "PORT", .usual = true},
     [](const PortLine& line) {
       const PortIndex peer = port_of(line).peer;
       return peer == subnet::none ? unknown() : Cell(std::uint64_t{line.fabric->subnet.port(peer).number});
     }},
    {{.key = "peer.lid", .heading = "PEER LID"},
     [](const PortLine& line) { return port_of(line).peer == subnet::none ? unknown() : lid(*line.fabric, port_of(line).peer); }},
}};

template <std::size_t at>
Cell of_node(const PortLine& line) {
  return all_node_columns[at].get({line.fabric, port_of(line).node});
}

constexpr std::string_view key_in_list(std::string_view key) {
  for (const std::string_view taken : {"nodes.port_guid", "nodes.lid", "nodes.lmc"})
    if (taken.substr(taken.find('.') + 1) == key) return taken;
  return key;
}

template <std::size_t... at>
constexpr auto list_columns(std::index_sequence<at...> /*of all_node_columns*/) {
  std::array<Column<PortLine>, sizeof...(at) + all_port_columns.size()> all{Column<PortLine>{all_node_columns[at], of_node<at>}...};
  for (std::size_t column = 0; column < sizeof...(at); ++column) {
    all[column].key = key_in_list(all[column].key);
    all[column].usual = all[column].key == "node_description";
  }
  for (std::size_t column = 0; column < all_port_columns.size(); ++column) all[sizeof...(at) + column] = all_port_columns[column];
  return all;
}
constexpr auto all_listed_columns = list_columns(std::make_index_sequence<all_node_columns.size()>());
static_assert(all_listed_columns.size() == listed_port_column_count);

}  // namespace

std::span<const Column<NodeLine>> name_columns() { return node_columns().first(name_column_count); }
std::span<const Column<NodeLine>> node_columns() { return all_node_columns; }
std::span<const Column<PortLine>> port_columns() { return all_port_columns; }
std::span<const Column<PortLine>> listed_port_columns() { return all_listed_columns; }

}  // namespace ib::tools
