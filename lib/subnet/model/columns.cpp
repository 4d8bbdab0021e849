// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Values that were not read are not known, and null in JSON, never zero.
#include "subnet/model/columns.hpp"

#include <fmt/format.h>

#include <iterator>
#include <type_traits>
#include <utility>

#include "iba-gen/smp.hpp"
#include "report/sink.hpp"
#include "subnet/diff/counterparts.hpp"
#include "subnet/model/rate.hpp"

namespace ib::subnet {
namespace {

using report::Cell;
using report::cell;
using report::Coded;
using report::Column;
using report::gauge;
using report::state;

Cell unknown() { return std::monostate{}; }
Cell guid_cell(Guid guid) { return guid == Guid{} ? unknown() : Cell(guid); }

const Node& node_of(const NodeLine& line) { return line.fabric->subnet.node(line.node); }
bool is_switch(const NodeLine& line) { return node_of(line).kind() == NodeKind::sw; }
const Port& port_of(const PortLine& line) { return line.fabric->subnet.port(line.port); }

Cell node_guid(const NodeLine& line) { return node_of(line).guid(); }
Cell node_type(const NodeLine& line) { return report::coded_cell(true, node_of(line).info.node_type); }
Cell node_description(const NodeLine& line) { return node_of(line).has_description ? Cell(node_of(line).description()) : unknown(); }
Cell node_name(const NodeLine& line) {
  const auto name = line.fabric->names.find(node_of(line).guid());
  return name ? Cell(*name) : unknown();
}

Cell route(const NodeLine& line) {
  if (!line.fabric->route_to_start) return report::Numbers();
  std::vector<std::optional<double>> ports(line.fabric->route_to_start->begin(), line.fabric->route_to_start->end());
  std::ranges::copy(route_ports(line.fabric->subnet, line.node), std::back_inserter(ports));
  return report::Numbers(std::move(ports));
}

Cell port_num_cell(const PortLine& line) { return std::uint64_t{port_of(line).number}; }
/// The addresses of the end port to which the port belongs.
Cell port_guid(const PortLine& line) { return guid_cell(line.fabric->subnet.end_port_guid(line.port)); }
Cell lid(const PortLine& line) { return report::lid_cell(line.fabric->subnet.lid(line.port)); }
Cell lmc(const PortLine& line) {
  const Subnet& subnet = line.fabric->subnet;
  return subnet.port(subnet.end_port_of(line.port)).has_info ? std::uint64_t{subnet.lmc(line.port)} : unknown();
}
/// The address of a switch. Each port of another node has its own.
template <Cell (*get)(const PortLine& line)>
Cell of_switch(const NodeLine& line) {
  return is_switch(line) ? get({line.fabric, node_of(line).first_port}) : unknown();
}

/// Whether the PortInfo was read from the port itself.
bool has_own_info(const PortLine& line) { return port_of(line).has_info && !line.fabric->subnet.node(port_of(line).node).is_listed; }

LinkRate active(const PortLine& line) { return port_of(line).peer != none ? active_rate(line.fabric->subnet, line.port) : LinkRate{}; }
LinkRate best(const PortLine& line) { return best_rate(line.fabric->subnet, line.port); }
template <LinkRate (*rate)(const PortLine& line)>
Cell link_width(const PortLine& line) {
  const unsigned lanes = rate(line).lanes;
  return lanes == 0 ? Coded{} : Coded{lanes, fmt::format("{}x", lanes)};
}
template <LinkRate (*rate)(const PortLine& line)>
Cell link_speed(const PortLine& line) {
  const Speed of = rate(line).speed;
  return of == Speed::unknown ? Coded{} : Coded{lane_mbps(of), std::string(name(of))};
}

template <class Line, Cell (*get)(const Line& line)>
Cell of_peer(const PortLine& line) {
  const PortIndex peer = port_of(line).peer;
  if (peer == none) return unknown();
  if constexpr (std::is_same_v<Line, NodeLine>) return get({line.fabric, line.fabric->subnet.port(peer).node});
  if constexpr (std::is_same_v<Line, PortLine>) return get({line.fabric, peer});
}

Cell peer_type(const PortLine& line) { return port_of(line).peer == none ? Coded{} : of_peer<NodeLine, node_type>(line); }

constexpr std::size_t name_column_count = 4;

constexpr std::string_view per_lane = "Mb/s of a lane";

std::vector<Column<PortLine>> list_columns() {
  auto columns = report::columns_of_part<PortLine>(node_columns(), [](const PortLine& line) {
    return NodeLine{line.fabric, port_of(line).node};
  });
  for (Column<PortLine>& column : columns) {
    for (const std::string_view of_node : {"nodes.port_guid", "nodes.lid", "nodes.lmc"}) {
      if (of_node.substr(of_node.find('.') + 1) == column.key) column.key = of_node;
    }
    column.usual = column.key == "node_description";
  }
  columns.insert(columns.end(), port_columns().begin(), port_columns().end());
  return columns;
}

}  // namespace

std::span<const Column<NodeLine>> name_columns() { return node_columns().first(name_column_count); }
std::span<const Column<NodeLine>> node_columns() {
  static const std::vector<Column<NodeLine>> columns{
      {{.key = "node_guid", .heading = "GUID", .usual = true}, node_guid},
      {{.key = "node_type", .heading = "TYPE", .usual = true, .coded = true}, node_type},
      {{.key = "node_description", .heading = "NODE", .usual = true}, node_description},
      {{.key = "node_name", .heading = "NAME"}, node_name},
      {{.key = "num_ports", .heading = "PORTS", .usual = true}, [](const NodeLine& line) { return node_of(line).info.num_ports; }},
      {{.key = "vendor_id", .heading = "VENDOR"}, [](const NodeLine& line) { return node_of(line).info.vendor_id; }},
      {{.key = "device_id", .heading = "DEVICE", .usual = true}, [](const NodeLine& line) { return node_of(line).info.device_id; }},
      {{.key = "revision", .heading = "REVISION"}, [](const NodeLine& line) { return node_of(line).info.revision; }},
      {{.key = "system_image_guid", .heading = "SYSTEM"}, [](const NodeLine& line) { return node_of(line).info.system_image_guid; }},
      {{.key = "duplicate_guid", .heading = "DUPLICATE"},
       [](const NodeLine& line) { return !has_own_guid(line.fabric->subnet, line.node); }},
      {{.key = "route", .heading = "ROUTE"}, route},
      {{.key = "port_guid", .heading = "PORT GUID"}, of_switch<port_guid>},
      {{.key = "lid", .heading = "LID", .usual = true}, of_switch<lid>},
      {{.key = "lmc", .heading = "LMC"}, of_switch<lmc>},
      {{.key = "enhanced_port0", .heading = "ENHANCED PORT 0"},
       [](const NodeLine& line) {
         return is_switch(line) && node_of(line).has_switch_info ? node_of(line).switch_info().enhanced_port0 != 0 : unknown();
       }},
  };
  return columns;
}
std::span<const Column<PortLine>> port_columns() {
  static const std::vector<Column<PortLine>> columns{
      {{.key = "port_num", .heading = "PORT", .usual = true}, port_num_cell},
      {{.key = "port_guid", .heading = "PORT GUID"}, port_guid},
      {{.key = "lid", .heading = "LID", .usual = true}, lid},
      {{.key = "lmc", .heading = "LMC"}, lmc},
      {{.key = "state", .heading = "STATE", .measure = state(), .usual = true, .coded = true},
       [](const PortLine& line) { return report::coded_cell(has_own_info(line), port_of(line).state()); }},
      {{.key = "phys_state", .heading = "PHYSICAL", .measure = state(), .coded = true},
       [](const PortLine& line) { return report::coded_cell(has_own_info(line), port_of(line).physical_state()); }},
      {{.key = "width", .heading = "WIDTH", .measure = gauge("lanes"), .usual = true, .coded = true}, link_width<active>},
      {{.key = "speed", .heading = "SPEED", .measure = gauge(per_lane), .usual = true, .coded = true}, link_speed<active>},
      {{.key = "rate_mbps", .heading = "RATE", .measure = gauge("Mb/s")},
       [](const PortLine& line) { return active(line).known() ? active(line).mbps() : unknown(); }},
      {{.key = "best_width", .heading = "BEST", .measure = gauge("lanes"), .coded = true}, link_width<best>},
      {{.key = "best_speed", .heading = "BEST", .measure = gauge(per_lane), .coded = true}, link_speed<best>},
      {{.key = "hoq_life", .heading = "HOQ"},
       [](const PortLine& line) { return has_own_info(line) ? std::uint64_t{port_of(line).info().hoq_life} : unknown(); }},
      {{.key = "vl_stall_count", .heading = "VL STALL"},
       [](const PortLine& line) { return has_own_info(line) ? std::uint64_t{port_of(line).info().vl_stall_count} : unknown(); }},
      {{.key = "peer.node_guid", .heading = "PEER GUID", .is_needed = true}, of_peer<NodeLine, node_guid>},
      {{.key = "peer.node_type", .heading = "PEER TYPE", .coded = true}, peer_type},
      {{.key = "peer.node_description", .heading = "PEER", .usual = true}, of_peer<NodeLine, node_description>},
      {{.key = "peer.node_name", .heading = "PEER NAME"}, of_peer<NodeLine, node_name>},
      {{.key = "peer.port_num", .heading = "PORT", .usual = true}, of_peer<PortLine, port_num_cell>},
      {{.key = "peer.lid", .heading = "PEER LID"}, of_peer<PortLine, lid>},
  };
  return columns;
}
std::span<const Column<PortLine>> listed_port_columns() {
  static const std::vector<Column<PortLine>> columns = list_columns();
  return columns;
}

}  // namespace ib::subnet
