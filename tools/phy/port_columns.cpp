// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "tools/phy/port_columns.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <string_view>
#include <vector>

#include "phy/columns.hpp"
#include "subnet/model/rate.hpp"
#include "tools/phy/fetch.hpp"

namespace ib::tools {
namespace {

using report::cell;
using report::Cell;
using report::Coded;
using report::Column;
using report::ColumnInfo;
using report::counter;
using report::gauge;
using report::text_cell;
using subnet::PortIndex;

const subnet::Port& port_of(const PhyLine& line) { return line.fabric->subnet.port(line.row->port); }

template <class Get>
Cell at_peer(const PhyLine& line, Get get) {
  const PortIndex peer = port_of(line).peer;
  return peer == subnet::none ? Cell(std::monostate{}) : get(*line.fabric, peer);
}

template <class Enum>
Cell coded(bool is_known, Enum value) {
  return is_known ? Coded{static_cast<double>(value), std::string(to_text(value))} : Coded{};
}

Cell counter_cell(const PhyLine& line, phy::Part part, std::uint64_t value) {
  return line.row->has(part) ? Cell(value) : Cell(std::monostate{});
}

Cell speed(const PhyLine& line) {
  const subnet::Speed active = subnet::active_rate(line.fabric->subnet, line.row->port).speed;
  if (!port_of(line).is_link_up() || active == subnet::Speed::unknown) return Coded{};
  return Coded{subnet::lane_mbps(active), std::string(subnet::name(active))};
}

Cell width(const PhyLine& line) {
  const unsigned active = subnet::active_rate(line.fabric->subnet, line.row->port).lanes;
  if (!port_of(line).is_link_up() || active == 0) return Coded{};
  return Coded{static_cast<double>(active), fmt::format("{}x", active)};
}

Cell plane(const PhyLine& line) { return line.by_plane ? Cell(std::uint64_t{line.row->plane}) : Cell(std::monostate{}); }

const phy::PortRow& row_of(const PhyLine& line) { return *line.row; }

std::vector<Column<PhyLine>> columns_of_ports() {
  return {
      {{"node_guid", "GUID"}, [](const PhyLine& l) { return node_guid_cell(*l.fabric, port_of(l).node); }},
      {{"node_description", "NODE"}, [](const PhyLine& l) { return node_name_cell(*l.fabric, port_of(l).node); }},
      {{"lid", "LID"},
       [](const PhyLine& l) {
         const Lid lid = l.fabric->subnet.lid(l.row->port);
         return lid == Lid{} ? Cell(std::monostate{}) : Cell(std::uint64_t{lid.value});
       }},
      {{"port_num", "PORT"}, [](const PhyLine& l) { return Cell(std::uint64_t{port_of(l).number}); }},
      {{"port_label", "LABEL"}, [](const PhyLine& l) { return port_label_cell(*l.fabric, l.row->port); }},
      {{"plane", "PLANE"}, plane},
      {{"peer.node_guid", "PEER GUID"},
       [](const PhyLine& l) {
         return at_peer(l, [](const Fabric& f, PortIndex at) { return node_guid_cell(f, f.subnet.port(at).node); });
       }},
      {{"peer.node_description", "PEER"},
       [](const PhyLine& l) {
         return at_peer(l, [](const Fabric& f, PortIndex at) { return node_name_cell(f, f.subnet.port(at).node); });
       }},
      {{"peer.port_num", "PORT"},
       [](const PhyLine& l) {
         return at_peer(l, [](const Fabric& f, PortIndex at) { return Cell(std::uint64_t{f.subnet.port(at).number}); });
       }},
      {{"state", "STATE", report::state(), false, true}, [](const PhyLine& l) { return coded(port_of(l).has_info, port_of(l).state()); }},
      {{"phys_state", "PHYSICAL", report::state(), false, true},
       [](const PhyLine& l) { return coded(port_of(l).has_info, port_of(l).physical_state()); }},
      {{"speed", "SPEED", gauge("Mb/s of a lane"), false, true}, speed},
      {{"width", "WIDTH", gauge("lanes"), false, true}, width},
  };
}

template <std::optional<double> phy::Window::*value>
Cell in_window(const PhyLine& line) {
  return line.window != nullptr ? cell(line.window->*value) : Cell(std::monostate{});
}
template <std::optional<std::uint64_t> phy::Window::*value>
Cell in_window(const PhyLine& line) {
  return line.window != nullptr ? cell(line.window->*value) : Cell(std::monostate{});
}

std::vector<Column<PhyLine>> columns_of_windows() {
  using phy::Window;
  return {
      {{"window.window_seconds", "WINDOW S", gauge("s")}, in_window<&Window::seconds>},
      {{"window.raw_ber", "RAW BER", gauge()}, in_window<&Window::raw_ber>},
      {{"window.raw_errors_per_second", "RAW ERRORS/S", gauge()}, in_window<&Window::raw_errors_per_second>},
      {{"window.corrected_blocks_per_second", "CORRECTED/S", gauge()}, in_window<&Window::corrected_blocks_per_second>},
      {{"window.uncorrectable_blocks_per_second", "UNCORRECTABLE/S", gauge()}, in_window<&Window::uncorrectable_blocks_per_second>},
      {{"window.link_downs", "DOWNS", gauge()}, in_window<&Window::link_downs>},
      {{"window.link_recoveries", "RECOVERIES", gauge()}, in_window<&Window::link_recoveries>},
  };
}

std::vector<Column<PhyLine>> columns_of_former_peer() {
  return {
      {{"former_peer.node_guid", "WAS GUID"},
       [](const PhyLine& l) { return l.former != nullptr ? Cell(l.former->node_guid) : Cell(std::monostate{}); }},
      {{"former_peer.node_description", "WAS LINKED TO"},
       [](const PhyLine& l) { return l.former != nullptr ? text_cell(l.former->description) : Cell(std::monostate{}); }},
      {{"former_peer.port_num", "PORT"},
       [](const PhyLine& l) { return l.former != nullptr ? Cell(std::uint64_t{l.former->port_num}) : Cell(std::monostate{}); }},
  };
}

Cell lanes_cell(const PhyLine& line) {
  return report::Nested{std::to_string(line.row->active_lanes), [&line](report::Sink& sink, std::string_view key) {
                          sink.objects(key, lanes_of({line}), [&](const LaneLine& of) {
                            sink.value("lane", of.lane);
                            report::write_cell(sink, "raw_ber", cell(phy::lane_ber(*line.row, of.lane)), gauge());
                            report::write_cell(sink, "raw_errors",
                                               counter_cell(line, phy::Part::statistics, line.row->raw_errors.at(of.lane)), counter());
                          });
                        }};
}

/// The bins of a port as a list in JSON; null where they were not read.
Cell histogram_cell(const PhyLine& line) {
  if (!line.row->has(phy::Part::histogram)) return std::monostate{};
  return report::Nested{std::to_string(line.row->histogram->size()), [&line](report::Sink& sink, std::string_view key) {
                          sink.objects(key, *line.row->histogram, [&](const phy::HistogramBin& bin) {
                            sink.value("low_errors", bin.low);
                            sink.value("high_errors", bin.high);
                            sink.value("count", bin.count, counter());
                          });
                        }};
}

/// The columns that a text shows, at most eight.
std::vector<std::string_view> usual_columns(const PhyView& view) {
  if (view.down) {
    std::vector<std::string_view> usual{"node_description",    "port_num",       "trouble.code",        "trouble.number",
                                        "trouble.device_text", "trouble.remedy", "module.serial_number"};
    if (view.baseline) usual.emplace_back("former_peer.node_description");
    return usual;
  }
  if (view.windows)
    return {"node_description",
            "port_num",
            "peer.node_description",
            "peer.port_num",
            "window.link_downs",
            "window.raw_ber",
            "window.corrected_blocks_per_second",
            "window.uncorrectable_blocks_per_second"};
  if (view.planes)
    return {"node_description", "port_num", "plane", "peer.node_description", "phys_state", "fec_mode", "raw_ber", "effective_ber"};
  return {"node_description", "port_num", "peer.node_description", "peer.port_num", "speed", "fec_mode", "raw_ber", "effective_ber"};
}

/// The columns of the port for rows that are a part of it.
template <class Line>
std::vector<Column<Line>> columns_of_port() {
  return {
      {{"node_guid", "GUID"}, [](const Line& l) { return node_guid_cell(*l.fabric, port_of(l).node); }},
      {{"node_description", "NODE", {}, true}, [](const Line& l) { return node_name_cell(*l.fabric, port_of(l).node); }},
      {{"port_num", "PORT", {}, true}, [](const Line& l) { return Cell(std::uint64_t{port_of(l).number}); }},
      {{"plane", "PLANE"}, [](const Line& l) { return plane(l); }},
  };
}

Cell of_lane(const LaneLine& line, const std::vector<std::optional<double>>& values) {
  return line.lane < values.size() ? cell(values[line.lane]) : Cell(std::monostate{});
}

/// As many # as the logarithm of the count: a bin with one block has one, the greatest of the port has most.
Cell bar(const BinLine& line) {
  constexpr double longest = 30;
  if (line.bin->count == 0) return std::string();
  const double part = std::log2(static_cast<double>(line.bin->count) + 1) / std::log2(static_cast<double>(line.greatest) + 1);
  return std::string(static_cast<std::size_t>(std::max(1.0, std::round(part * longest))), '#');
}

}  // namespace

std::vector<Column<PhyLine>> phy_columns(const PhyView& view) {
  std::vector<Column<PhyLine>> columns = columns_of_ports();
  const auto append = [&columns](std::vector<Column<PhyLine>> more) { std::ranges::move(more, std::back_inserter(columns)); };
  append(phy::columns_of<PhyLine, row_of, 0>(std::make_index_sequence<phy::link_columns + phy::module_columns>()));
  if (view.baseline) append(columns_of_former_peer());
  if (view.windows) append(columns_of_windows());
  if (view.lanes) columns.push_back({{"lanes", "LANES"}, lanes_cell});
  if (view.histogram) columns.push_back({{"fec_histogram", "BINS"}, histogram_cell});
  const std::vector<std::string_view> usual = usual_columns(view);
  for (Column<PhyLine>& column : columns) column.usual = std::ranges::find(usual, column.key) != usual.end();
  return columns;
}

std::vector<Column<LaneLine>> lane_columns() {
  std::vector<Column<LaneLine>> columns = columns_of_port<LaneLine>();
  columns.push_back({{"lane", "LANE", {}, true}, [](const LaneLine& l) { return Cell(std::uint64_t{l.lane}); }});
  columns.push_back({{"raw_ber", "RAW BER", gauge(), true}, [](const LaneLine& l) { return cell(phy::lane_ber(*l.row, l.lane)); }});
  columns.push_back({{"raw_errors", "RAW ERRORS", counter(), true},
                     [](const LaneLine& l) { return counter_cell(l, phy::Part::statistics, l.row->raw_errors.at(l.lane)); }});
  columns.push_back({{"rx_dbm", "RX DBM", gauge("dBm"), true}, [](const LaneLine& l) { return of_lane(l, rx_power_dbm(*l.row)); }});
  columns.push_back({{"tx_dbm", "TX DBM", gauge("dBm"), true}, [](const LaneLine& l) { return of_lane(l, tx_power_dbm(*l.row)); }});
  columns.push_back({{"bias_ma", "BIAS MA", gauge("mA"), true}, [](const LaneLine& l) { return of_lane(l, bias_milliamperes(*l.row)); }});
  return columns;
}

std::vector<Column<BinLine>> bin_columns() {
  std::vector<Column<BinLine>> columns = columns_of_port<BinLine>();
  columns.push_back({{"low_errors", "FROM", {}, true}, [](const BinLine& l) { return Cell(std::uint64_t{l.bin->low}); }});
  columns.push_back({{"high_errors", "TO", {}, true}, [](const BinLine& l) { return Cell(std::uint64_t{l.bin->high}); }});
  columns.push_back({{"count", "BLOCKS", counter(), true}, [](const BinLine& l) { return Cell(l.bin->count); }});
  columns.push_back({{"bar", "", {}, true, false, true}, bar});
  return columns;
}

std::vector<LaneLine> lanes_of(const std::vector<PhyLine>& ports) {
  std::vector<LaneLine> lanes;
  for (const PhyLine& port : ports) {
    for (std::size_t lane = 0; lane < std::min<std::size_t>(port.row->active_lanes, phy::lanes); ++lane) lanes.push_back({port, lane});
  }
  return lanes;
}

std::vector<BinLine> bins_of(const std::vector<PhyLine>& ports) {
  std::vector<BinLine> bins;
  for (const PhyLine& port : ports) {
    if (!port.row->has(phy::Part::histogram)) continue;
    const std::vector<phy::HistogramBin>& all = *port.row->histogram;
    std::uint64_t greatest = 0;
    for (const phy::HistogramBin& bin : all) greatest = std::max(greatest, bin.count);
    for (const phy::HistogramBin& bin : all) bins.push_back({port, &bin, greatest});
  }
  return bins;
}

}  // namespace ib::tools
