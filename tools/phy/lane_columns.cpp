// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The tables of lanes (--lanes) and of the FEC histogram (--histogram).
#include <algorithm>
#include <cmath>

#include "tools/phy/fetch.hpp"
#include "tools/phy/port_columns.hpp"

namespace ib::tools {
namespace {

using report::cell;
using report::Cell;
using report::Column;
using report::counter;
using report::gauge;

template <class Line>
std::vector<Column<Line>> columns_of_port() {
  return {
      {{"node_guid", "GUID"},
       [](const Line& l) { return node_guid_cell(*l.port.fabric, l.port.fabric->subnet.port(l.port.row->port).node); }},
      {{"node_description", "NODE", {}, true},
       [](const Line& l) { return node_name_cell(*l.port.fabric, l.port.fabric->subnet.port(l.port.row->port).node); }},
      {{"port_num", "PORT", {}, true},
       [](const Line& l) { return Cell(std::uint64_t{l.port.fabric->subnet.port(l.port.row->port).number}); }},
      {{"plane", "PLANE"}, [](const Line& l) { return l.port.by_plane ? Cell(std::uint64_t{l.port.row->plane}) : Cell(std::monostate{}); }},
  };
}

/// The value of a lane in a list by lane.
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

std::vector<Column<LaneLine>> lane_columns() {
  std::vector<Column<LaneLine>> columns = columns_of_port<LaneLine>();
  columns.push_back({{"lane", "LANE", {}, true}, [](const LaneLine& l) { return Cell(std::uint64_t{l.lane}); }});
  columns.push_back({{"raw_ber", "RAW BER", gauge(), true}, [](const LaneLine& l) { return cell(phy::lane_ber(*l.port.row, l.lane)); }});
  columns.push_back({{"raw_errors", "RAW ERRORS", counter(), true}, [](const LaneLine& l) {
                       const bool is_read = l.port.row->has(phy::Part::statistics);
                       return is_read ? Cell(l.port.row->raw_errors.at(l.lane)) : Cell(std::monostate{});
                     }});
  columns.push_back({{"rx_dbm", "RX DBM", gauge("dBm"), true}, [](const LaneLine& l) { return of_lane(l, rx_power_dbm(*l.port.row)); }});
  columns.push_back({{"tx_dbm", "TX DBM", gauge("dBm"), true}, [](const LaneLine& l) { return of_lane(l, tx_power_dbm(*l.port.row)); }});
  columns.push_back(
      {{"bias_ma", "BIAS MA", gauge("mA"), true}, [](const LaneLine& l) { return of_lane(l, bias_milliamperes(*l.port.row)); }});
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
