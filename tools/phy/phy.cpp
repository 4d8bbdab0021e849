// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// phy: the physical layer of each port of each link: bit error ratios, FEC, the module, and why a port is down.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <string_view>

#include "phy/port_row.hpp"
#include "report/columns.hpp"
#include "snapshot/stored_fabric.hpp"
#include "subnet/diff/counterparts.hpp"
#include "subnet/model/names.hpp"
#include "subnet/model/rate.hpp"
#include "tools/phy/fetch.hpp"
#include "tools/shared/interval.hpp"

namespace ib::tools {
namespace {

using report::Cell;
using report::cell;
using report::Coded;
using report::Column;
using report::ColumnInfo;
using report::counter;
using report::gauge;
using report::text_cell;

/// A row of the table: a port, or one plane of it, and what was read of it.
struct PhyLine {
  const Fabric* fabric;
  const phy::PortRow* row;
  bool by_plane{};              ///< the port and its planes are rows of their own
  const phy::Window* window{};  ///< null: there is none
  const Fabric* before{};       ///< where `former_peer` is
  PortIndex former_peer = subnet::none;
};

/// What a table of ports is for: it decides which columns there are, and which a text shows unless others are chosen.
struct PhyView {
  bool down{}, planes{}, windows{}, baseline{}, lanes{}, histogram{};
};

struct LaneLine : PhyLine {
  std::size_t lane;
};
struct BinLine : PhyLine {
  const phy::HistogramBin* bin;
  std::uint64_t greatest;  ///< the greatest count of the port's bins
};

/// The lanes in use of these ports.
std::vector<LaneLine> lanes_of(const std::vector<PhyLine>& ports) {
  std::vector<LaneLine> lanes;
  for (const PhyLine& port : ports) {
    for (std::size_t lane = 0; lane < std::min<std::size_t>(port.row->active_lanes, phy::lanes); ++lane) lanes.push_back({port, lane});
  }
  return lanes;
}

/// The bins of those whose histogram was read.
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

const subnet::Port& port_of(const PhyLine& line) { return line.fabric->subnet.port(line.row->port); }

struct PhyPort {
  const Fabric* fabric;
  PortIndex port;  ///< none: there is none
};
PhyPort this_port(const PhyLine& line) { return {line.fabric, line.row->port}; }
PhyPort peer_port(const PhyLine& line) { return {line.fabric, port_of(line).peer}; }
PhyPort former_port(const PhyLine& line) { return {line.before, line.former_peer}; }

template <PhyPort (*which)(const PhyLine&)>
Cell guid_at(const PhyLine& line) {
  const PhyPort of = which(line);
  return of.port == subnet::none ? Cell() : node_guid_cell(*of.fabric, of.fabric->subnet.port(of.port).node);
}
template <PhyPort (*which)(const PhyLine&)>
Cell name_at(const PhyLine& line) {
  const PhyPort of = which(line);
  return of.port == subnet::none ? Cell() : node_name_cell(*of.fabric, of.fabric->subnet.port(of.port).node);
}
template <PhyPort (*which)(const PhyLine&)>
Cell number_at(const PhyLine& line) {
  const PhyPort of = which(line);
  return of.port == subnet::none ? Cell() : std::uint64_t{of.fabric->subnet.port(of.port).number};
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

std::vector<Column<PhyLine>> columns_of_ports() {
  return {
      {{"node_guid", "GUID"}, guid_at<this_port>},
      {{"node_description", "NODE"}, name_at<this_port>},
      {{"lid", "LID"}, [](const PhyLine& l) { return report::lid_cell(l.fabric->subnet.lid(l.row->port)); }},
      {{"port_num", "PORT"}, number_at<this_port>},
      {{"port_label", "LABEL"}, [](const PhyLine& l) { return port_label_cell(*l.fabric, l.row->port); }},
      {{"plane", "PLANE"}, plane},
      {{"peer.node_guid", "PEER GUID"}, guid_at<peer_port>},
      {{"peer.node_description", "PEER"}, name_at<peer_port>},
      {{"peer.port_num", "PORT"}, number_at<peer_port>},
      {{"state", "STATE", report::state(), false, true},
       [](const PhyLine& l) { return report::coded_cell(port_of(l).has_info, port_of(l).state()); }},
      {{"phys_state", "PHYSICAL", report::state(), false, true},
       [](const PhyLine& l) { return report::coded_cell(port_of(l).has_info, port_of(l).physical_state()); }},
      {{"speed", "SPEED", gauge("Mb/s of a lane"), false, true}, speed},
      {{"width", "WIDTH", gauge("lanes"), false, true}, width},
  };
}

template <auto value>
Cell in_window(const PhyLine& line) {
  return line.window != nullptr ? cell(line.window->*value) : Cell();
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
      {{"former_peer.node_guid", "WAS GUID"}, guid_at<former_port>},
      {{"former_peer.node_description", "WAS LINKED TO"}, name_at<former_port>},
      {{"former_peer.port_num", "PORT"}, number_at<former_port>},
  };
}

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
constexpr std::size_t columns_of_port = 4;
template <class Line>
std::vector<Column<Line>> with_columns_of_port(std::vector<Column<Line>> columns) {
  std::vector<Column<Line>> all{
      {{"node_guid", "GUID"}, guid_at<this_port>},
      {{"node_description", "NODE", {}, true}, name_at<this_port>},
      {{"port_num", "PORT", {}, true}, number_at<this_port>},
      {{"plane", "PLANE"}, plane},
  };
  std::ranges::move(columns, std::back_inserter(all));
  return all;
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

std::span<const Column<LaneLine>> lane_columns() {
  static const auto columns = with_columns_of_port<LaneLine>({
      {{"lane", "LANE", {}, true}, [](const LaneLine& l) { return Cell(std::uint64_t{l.lane}); }},
      {{"raw_ber", "RAW BER", gauge(), true}, [](const LaneLine& l) { return cell(phy::lane_ber(*l.row, l.lane)); }},
      {{"raw_errors", "RAW ERRORS", counter(), true},
       [](const LaneLine& l) { return counter_cell(l, phy::Part::statistics, l.row->raw_errors.at(l.lane)); }},
      {{"rx_dbm", "RX DBM", gauge("dBm"), true}, [](const LaneLine& l) { return of_lane(l, rx_power_dbm(*l.row)); }},
      {{"tx_dbm", "TX DBM", gauge("dBm"), true}, [](const LaneLine& l) { return of_lane(l, tx_power_dbm(*l.row)); }},
      {{"bias_ma", "BIAS MA", gauge("mA"), true}, [](const LaneLine& l) { return of_lane(l, bias_milliamperes(*l.row)); }},
  });
  return columns;
}

std::span<const Column<BinLine>> bin_columns() {
  static const auto columns = with_columns_of_port<BinLine>({
      {{"low_errors", "FROM", {}, true}, [](const BinLine& l) { return Cell(std::uint64_t{l.bin->low}); }},
      {{"high_errors", "TO", {}, true}, [](const BinLine& l) { return Cell(std::uint64_t{l.bin->high}); }},
      {{"count", "BLOCKS", counter(), true}, [](const BinLine& l) { return Cell(l.bin->count); }},
      {{"bar", "", {}, true, false, true}, bar},
  });
  return columns;
}

/// Parts of a port as a list in JSON, with the columns of `columns`.
template <class Line>
Cell parts_cell(std::string words, std::vector<Line> parts, std::span<const Column<Line>> columns) {
  return report::Nested{std::move(words), [parts = std::move(parts), columns](report::Sink& sink, std::string_view key) {
                          sink.objects(key, parts, [&](const Line& part) { report::write_members<Line>(sink, columns, part); });
                        }};
}

Cell lanes_cell(const PhyLine& line) {
  constexpr std::size_t shown = 3;  // the number, and the raw errors
  return parts_cell<LaneLine>(std::to_string(line.row->active_lanes), lanes_of({line}), lane_columns().subspan(columns_of_port, shown));
}

/// Null where the bins were not read.
Cell histogram_cell(const PhyLine& line) {
  if (!line.row->has(phy::Part::histogram)) return std::monostate{};
  return parts_cell<BinLine>(std::to_string(line.row->histogram->size()), bins_of({line}), bin_columns().subspan(columns_of_port));
}

std::vector<Column<PhyLine>> phy_columns(const PhyView& view) {
  std::vector<Column<PhyLine>> columns = columns_of_ports();
  const auto append = [&columns](std::vector<Column<PhyLine>> more) { std::ranges::move(more, std::back_inserter(columns)); };
  append(report::columns_of_part<PhyLine>(phy::row_columns(), [](const PhyLine& line) -> const phy::PortRow& { return *line.row; }));
  if (view.baseline) append(columns_of_former_peer());
  if (view.windows) append(columns_of_windows());
  if (view.lanes) columns.push_back({{"lanes", "LANES"}, lanes_cell});
  if (view.histogram) columns.push_back({{"fec_histogram", "BINS"}, histogram_cell});
  const std::vector<std::string_view> usual = usual_columns(view);
  for (Column<PhyLine>& column : columns) column.usual = std::ranges::find(usual, column.key) != usual.end();
  return columns;
}

/// How bad a link is, to be compared: bits that FEC could not correct count before those that it could.
std::pair<double, double> badness(const PhyLine& line) {
  return {phy::effective_ber(*line.row).value_or(-1), phy::raw_ber(*line.row).value_or(-1)};
}

/// As above, of what was counted between two readings.
std::pair<double, double> badness_in_window(const PhyLine& line) {
  if (line.window == nullptr) return {-1, -1};
  return {line.window->uncorrectable_blocks_per_second.value_or(-1), line.window->raw_ber.value_or(-1)};
}

/// Sorts the ports, the worst first, and leaves each port together with its planes, which stand behind it.
void sort_worst_first(std::vector<PhyLine>& lines, std::pair<double, double> (*how_bad)(const PhyLine&)) {
  std::map<PortIndex, std::pair<double, double>> of_port;
  for (const PhyLine& line : lines) {
    const auto [place, is_new] = of_port.emplace(line.row->port, how_bad(line));
    if (!is_new) place->second = std::max(place->second, how_bad(line));
  }
  const auto by_port = [&](const PhyLine& line) { return of_port.at(line.row->port); };
  std::ranges::stable_sort(lines, std::greater<>(), by_port);
}

class Phy final : public PhyCommand {
 public:
  void options(OptionSet& set, CommonOptions& common) override {
    set.notes(
        "TARGETs are nodes or patterns of their names, whose ports are all shown, or ports as TARGET@PORT; without them the ports of all "
        "links are.");
    set.flag("--down", view_.down, "Show the ports that are not up although a module is plugged in, and why.");
    set.text("--baseline", baseline_, "FILE", "With --down: also the ports that were linked in this file of a fabric.");
    set.known_fabric(baseline_);
    set.flag("--lanes", view_.lanes, "Show errors, optical power and bias current of each lane.");
    set.flag("--histogram", view_.histogram, "Show how many blocks had how many symbols with errors, before FEC corrected them.");
    set.flag("--planes", view_.planes, "Show each plane of a port of several planes too, behind the port.");
    set.text("--raw", raw_, "FILE",
             "Keep the requests for registers and their answers in this file. Names, GUIDs and serial numbers in it are made up.");
    add_interval(set, interval_);
    set.one_of({"--raw", "--interval"});
    set.one_of({"--down", "--lanes", "--histogram", "--interval"});
    PhyView all;
    all.windows = all.baseline = all.lanes = all.histogram = true;
    add_options(set, common, keys_of(phy_columns(all)));
  }

  std::string_view table_rows() const override {
    return interval_.repeats() ? "readings.ports" : view_.lanes ? "port_lanes" : view_.histogram ? "port_bins" : "ports";
  }

 protected:
  void prepare(const Host& host) override {
    check_interval(interval_);
    if (baseline_ && !view_.down) throw UsageError("--baseline is for --down");
    view_.baseline = baseline_.has_value();
    view_.windows = interval_.repeats();
    reading_.histogram = view_.histogram;
    reads_planes_ = view_.planes;
    if (shows_parts()) shown_.refuse_for_json(host.options().format, view_.lanes ? "lanes" : "bins", "ports too");
    columns_ = phy_columns(view_);
    if (view_.lanes && !is_document(host.options().format)) {
      table<LaneLine>(lane_columns());
    } else if (view_.histogram && !is_document(host.options().format)) {
      table<BinLine>(bin_columns());
    } else {
      table<PhyLine>(columns_);
    }
    if (baseline_) before_.subnet = snapshot::open_fabric(*baseline_)->take_fabric(nullptr).subnet;
  }
  bool is_wanted(const subnet::Subnet& subnet, PortIndex at) const override {
    const subnet::Port& port = subnet.port(at);
    if (view_.down) return port.has_info && !port.is_link_up();
    return targets_.empty() ? port.peer != subnet::none : port.has_info;
  }

  async::Task<> read(Session& session, Emit& emit) override {
    if (!interval_.repeats()) {
      co_await PhyCommand::read(session, emit);
      co_return;
    }
    std::optional<phy::Reading> last;
    const auto once = [&](Round round) { return read_again(session, emit, last, std::move(round)); };
    co_await repeat(session.stack(), emit, interval_, once);
  }

  void show(Host& host, Emit& emit, const phy::Reading& found) override {
    if (baseline_) find_former_peers();
    std::vector<PhyLine> lines;
    for (const phy::PortRow& row : found.ports) {
      const auto former = former_.find(row.port);
      const bool was_linked = former != former_.end();
      if (!(view_.down ? was_linked || row.is_unexpectedly_down() : row.is_known())) continue;
      lines.push_back({.fabric = &fabric_, .row = &row, .by_plane = view_.planes, .before = &before_});
      if (was_linked) lines.back().former_peer = former->second;
    }
    if (!view_.down) sort_worst_first(lines, badness);
    if (view_.lanes) {
      show_parts<LaneLine>(host, emit, "port_lanes", lane_columns(), lanes_of(lines), lines);
    } else if (view_.histogram) {
      show_parts<BinLine>(host, emit, "port_bins", bin_columns(), bins_of(lines), lines);
    } else {
      emit_table<PhyLine>(emit, "ports", columns_, std::move(lines));
    }
  }

 private:
  bool shows_parts() const { return view_.lanes || view_.histogram; }

  template <class Line>
  void show_parts(const Host& host, Emit& emit, std::string_view member, std::span<const Column<Line>> columns, std::vector<Line> parts,
                  const std::vector<PhyLine>& ports) const {
    if (!is_document(host.options().format)) return emit_table<Line>(emit, member, columns, std::move(parts));
    emit(DocumentReport<PhyLine, Line>(fabric_, {"ports", report::Table<PhyLine>(columns_), ports},
                                       {member, report::Table<Line>(columns), std::move(parts)}));
  }

  async::Task<> read_again(Session& session, Emit& emit, std::optional<phy::Reading>& last, Round round) {
    phy::Reading now = co_await read_ports(session);
    std::vector<phy::Window> windows(now.ports.size());
    std::vector<PhyLine> lines;
    for (std::size_t at = 0; at < now.ports.size(); ++at) {
      if (!now.ports[at].is_known()) continue;
      PhyLine& line = lines.emplace_back();
      line = {.fabric = &fabric_, .row = &now.ports[at], .by_plane = view_.planes};
      if (!last || !round.seconds) continue;
      windows[at] = phy::window_between(last->ports.at(at), now.ports[at], *round.seconds);
      line.window = &windows[at];
    }
    sort_worst_first(lines, badness_in_window);
    TableReport<PhyLine> shown(fabric_, "ports", table<PhyLine>(columns_), std::move(lines));
    shown.round = std::move(round);
    emit(shown);
    emit.flush();  // at once
    last = std::move(now);
  }

  void find_former_peers() {
    const subnet::Counterparts counterparts(fabric_.subnet, before_.subnet);
    for (PortIndex port = 0; port < fabric_.subnet.ports().size(); ++port) {
      const PortIndex then = counterparts.port_then(port);
      if (then != subnet::none && before_.subnet.port(then).peer != subnet::none) former_[port] = before_.subnet.port(then).peer;
    }
  }

  PhyView view_;
  Interval interval_;
  std::optional<std::string> baseline_;
  Fabric before_;                          ///< in the baseline
  std::map<PortIndex, PortIndex> former_;  ///< by port: its peer in `before_`
  std::vector<Column<PhyLine>> columns_;
};

}  // namespace

constinit const CommandInfo rooms::phy{
    .name = "phy",
    .group = HelpGroup::counters,
    .summary = "Print bit error ratios, FEC and modules of links, and why ports are down.",
    .make = make_command<Phy>,
};

}  // namespace ib::tools
