// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// phy: the physical layer of each port of each link: bit error ratios, FEC, the module, and why a port is down.
#include <algorithm>
#include <map>

#include "snapshot/stored_fabric.hpp"
#include "subnet/diff/counterparts.hpp"
#include "subnet/model/names.hpp"
#include "tools/frame/commands.hpp"
#include "tools/phy/fetch.hpp"
#include "tools/phy/port_columns.hpp"
#include "tools/shared/interval.hpp"

namespace ib::tools {
namespace {

using report::Column;
using subnet::PortIndex;

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

/// Whether a port should be up: a module is in its cage, or the device says that something other than a missing cable is wrong.
bool is_unexpectedly_down(const phy::PortRow& row) {
  if (row.has_module()) return true;
  const auto code = static_cast<reg::LinkTrouble>(row.trouble);
  const bool is_empty = code == reg::LinkTrouble::none || code == reg::LinkTrouble::unknown || code == reg::LinkTrouble::cable_unplugged;
  return row.has(phy::Part::troubleshooting) && !is_empty;
}

phy::ReceivedBits bits_of(const phy::Reading& reading, std::size_t row) {
  return row < reading.received_bits.size() ? phy::ReceivedBits(reading.received_bits[row]) : std::nullopt;
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
    set.text("--raw", wanted_.raw, "FILE",
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
    wanted_.histogram = view_.histogram;
    wanted_.planes = view_.planes;
    wanted_.received_bits = view_.windows;
    if (shows_parts()) shown_.refuse_for_json(host.options().format, view_.lanes ? "lanes" : "bins", "ports too");
    columns_ = phy_columns(view_);
    lane_columns_ = lane_columns();
    bin_columns_ = bin_columns();
    if (view_.lanes && !is_document(host.options().format)) {
      check_table<LaneLine>(lane_columns_);
    } else if (view_.histogram && !is_document(host.options().format)) {
      check_table<BinLine>(bin_columns_);
    } else {
      check_table<PhyLine>(columns_);
    }
    if (baseline_) before_ = snapshot::open_fabric(*baseline_)->take_fabric(nullptr).subnet;
    wanted_.wants = view_.down ? is_down : !wanted_.targets.empty() ? is_there : is_linked;
  }

  async::Task<> read(Stack& stack, Emit& emit, PhyFabric& fabric) override {
    if (!interval_.repeats()) {
      co_await PhyCommand::read(stack, emit, fabric);
      co_return;
    }
    std::optional<phy::Reading> last;
    const auto once = [&](Round round) { return read_again(stack.host(), emit, fabric, last, std::move(round)); };
    if (emit.json()) emit.sink().begin_array("readings");
    co_await repeat(stack, interval_, once);
    if (emit.json()) emit.sink().end_array();
  }

  void show(Host& host, Emit& emit, const Fabric& fabric, const phy::Reading& found) override {
    if (baseline_) find_former_peers(fabric.subnet);
    std::vector<PhyLine> lines;
    for (const phy::PortRow& row : found.ports) {
      const auto former = former_.find(row.port);
      const bool was_linked = former != former_.end();
      if (view_.down ? was_linked || is_unexpectedly_down(row) : row.is_known())
        lines.push_back({.fabric = &fabric, .row = &row, .by_plane = view_.planes, .former = was_linked ? &former->second : nullptr});
    }
    if (!view_.down) sort_worst_first(lines, badness);
    if (view_.lanes) {
      show_parts<LaneLine>(host, emit, fabric, "port_lanes", lane_columns_, lanes_of(lines), lines);
    } else if (view_.histogram) {
      show_parts<BinLine>(host, emit, fabric, "port_bins", bin_columns_, bins_of(lines), lines);
    } else {
      emit_table<PhyLine>(host, emit, fabric, "ports", columns_, std::move(lines));
    }
  }

 private:
  bool shows_parts() const { return view_.lanes || view_.histogram; }

  /// Emits a table of parts of ports; JSON has the ports too.
  template <class Line>
  void show_parts(const Host& host, Emit& emit, const Fabric& fabric, std::string_view member, std::span<const Column<Line>> columns,
                  std::vector<Line> parts, const std::vector<PhyLine>& ports) const {
    if (!is_document(host.options().format)) return emit_table<Line>(host, emit, fabric, member, columns, std::move(parts));
    emit(DocumentReport<PhyLine, Line>(fabric, {"ports", report::Table<PhyLine>(columns_), ports},
                                       {member, report::Table<Line>(columns), std::move(parts)}));
  }

  /// Reads once more, and emits what was counted since `last`, which is replaced.
  async::Task<> read_again(Host& host, Emit& emit, PhyFabric& fabric, std::optional<phy::Reading>& last, Round round) {
    phy::Reading now = co_await fabric.read();
    std::vector<phy::Window> windows(now.ports.size());
    std::vector<PhyLine> lines;
    for (std::size_t at = 0; at < now.ports.size(); ++at) {
      if (!now.ports[at].is_known()) continue;
      PhyLine& line = lines.emplace_back();
      line = {.fabric = &fabric.fabric(), .row = &now.ports[at], .by_plane = view_.planes};
      if (!last || !round.seconds) continue;
      windows[at] = phy::window_between(last->ports.at(at), bits_of(*last, at), now.ports[at], bits_of(now, at), *round.seconds);
      line.window = &windows[at];
    }
    sort_worst_first(lines, badness_in_window);
    TableReport<PhyLine> shown(fabric.fabric(), "ports", table<PhyLine>(columns_), std::move(lines), host.world().out);
    shown.round = std::move(round);
    emit(shown);
    emit.flush();  // at once
    last = std::move(now);
  }

  /// The ports that are linked in the baseline, and to what.
  void find_former_peers(const subnet::Subnet& now) {
    const subnet::Counterparts counterparts(now, before_);
    for (PortIndex port = 0; port < now.ports().size(); ++port) {
      const PortIndex then = counterparts.port_then(port);
      if (then == subnet::none || before_.port(then).peer == subnet::none) continue;
      const subnet::Port& peer = before_.port(before_.port(then).peer);
      const subnet::Node& node = before_.node(peer.node);
      former_[port] = {.node_guid = node.guid(), .description = std::string(subnet::name_of(node, nullptr)), .port_num = peer.number};
    }
  }

  static bool is_linked(const subnet::Subnet& subnet, PortIndex port) { return subnet.port(port).peer != subnet::none; }
  static bool is_there(const subnet::Subnet& subnet, PortIndex port) { return subnet.port(port).has_info; }
  static bool is_down(const subnet::Subnet& subnet, PortIndex port) {
    return subnet.port(port).has_info && !subnet.port(port).is_link_up();
  }

  PhyView view_;
  Interval interval_;
  std::optional<std::string> baseline_;
  subnet::Subnet before_;
  std::map<PortIndex, FormerPeer> former_;
  std::vector<Column<PhyLine>> columns_;
  std::vector<Column<LaneLine>> lane_columns_;
  std::vector<Column<BinLine>> bin_columns_;
};

}  // namespace

constinit const CommandInfo rooms::phy{
    .name = "phy",
    .group = HelpGroup::counters,
    .summary = "Print bit error ratios, FEC and modules of links, and why ports are down.",
    .make = make_command<Phy>,
};

}  // namespace ib::tools
