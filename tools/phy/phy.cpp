// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// phy: the physical layer of each port of each link: bit error ratios, FEC, the module, and why a port is down.
#include <algorithm>

#include "tools/frame/commands.hpp"
#include "tools/phy/fetch.hpp"
#include "tools/phy/port_columns.hpp"

namespace ib::tools {
namespace {

using subnet::PortIndex;

struct PhyReport final : FabricReport {
  PhyReport(const Fabric& of, report::Table<PhyLine> columns, std::vector<PhyLine> rows)
      : FabricReport(of), table(std::move(columns)), lines(std::move(rows)) {}

  void visit(report::Sink& sink) const override {
    table.visit(sink, "ports", lines);
    visit_failures(sink);
  }
  void text(TextOut& out) const override { out.write(table.text(lines)); }

  report::Table<PhyLine> table;
  std::vector<PhyLine> lines;
};

/// How bad a link is, to be compared: bits that FEC could not correct count before those that it could.
std::pair<double, double> badness(const PhyLine& line) {
  return {phy::effective_ber(*line.row).value_or(-1), phy::raw_ber(*line.row).value_or(-1)};
}

/// Whether a port should be up: a module is in its cage, or the device says that something other than a missing cable is wrong.
bool is_unexpectedly_down(const phy::PortRow& row) {
  if (row.has_module()) return true;
  const auto code = static_cast<reg::LinkTrouble>(row.trouble);
  const bool is_empty = code == reg::LinkTrouble::none || code == reg::LinkTrouble::unknown || code == reg::LinkTrouble::cable_unplugged;
  return row.has(phy::Part::troubleshooting) && !is_empty;
}

class Phy final : public Command {
 public:
  void options(OptionSet& set, CommonOptions& common) override {
    add_phy_options(set, wanted_);
    set.notes("TARGET is one node, whose ports are all shown; without it the ports of all links are.");
    set.flag("--down", down_, "Show the ports that are not up although a module is plugged in, and why.");
    add_table_options(set, shown_, keys_of(link_columns()));
    add_common(set, common, group_target | group_sl);
  }

  std::string_view table_rows() const override { return "ports"; }

  async::Task<> run(Session& session, Emit& emit) override {
    report::Table<PhyLine> table(down_ ? down_columns() : link_columns());
    shown_.apply(table);
    wanted_.wants = down_ ? is_down : wanted_.target.given() ? is_there : is_linked;
    Fabric fabric;
    const phy::Reading found = co_await fetch_phy(session, wanted_, fabric);
    std::vector<PhyLine> lines;
    for (const phy::PortRow& row : found.ports) {
      if (down_ ? is_unexpectedly_down(row) : row.is_known()) lines.push_back({&fabric, &row});
    }
    if (!down_) std::ranges::stable_sort(lines, std::greater<>(), badness);
    table.sort(lines);
    emit(PhyReport(fabric, std::move(table), std::move(lines)));
  }

 private:
  static bool is_linked(const subnet::Subnet& subnet, PortIndex port) { return subnet.port(port).peer != subnet::none; }
  static bool is_there(const subnet::Subnet& subnet, PortIndex port) { return subnet.port(port).has_info; }
  static bool is_down(const subnet::Subnet& subnet, PortIndex port) {
    return subnet.port(port).has_info && !subnet.port(port).is_link_up();
  }

  PhyWanted wanted_;
  TableOptions shown_;
  bool down_{};
};

}  // namespace

constinit const CommandInfo rooms::phy{
    .name = "phy",
    .group = HelpGroup::counters,
    .summary = "Print bit error ratios, FEC and modules of links, and why ports are down.",
    .make = make_command<Phy>,
    .needs_fabric = true,
};

}  // namespace ib::tools
