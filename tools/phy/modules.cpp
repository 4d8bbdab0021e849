// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// modules: the inventory of transceivers and cables. Both ends of a cable have one serial number and are one row.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "base/escape.hpp"
#include "tools/frame/commands.hpp"
#include "tools/phy/fetch.hpp"
#include "tools/phy/port_columns.hpp"

namespace ib::tools {
namespace {

using report::Cell;
using report::Column;
using report::text_cell;
using subnet::PortIndex;

/// A module or cable, and the ports in whose cages its ends are.
struct ModuleLine {
  const Fabric* fabric;
  std::vector<const phy::PortRow*> ends;

  const phy::PortRow& first() const { return *ends.front(); }
};

/// "spine01 3, leaf02 17".
Cell ends_cell(const ModuleLine& line) {
  std::string text;
  for (const phy::PortRow* row : line.ends) {
    const subnet::Port& port = line.fabric->subnet.port(row->port);
    const Cell name = node_name_cell(*line.fabric, port.node);
    const auto* known = std::get_if<std::string>(&name);
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", known != nullptr ? *known : "-", port.number);
  }
  return text_cell(text);
}

Cell module_text(std::span<const std::uint8_t> text) { return text_cell(phy::padded_text(text)); }

std::vector<Column<ModuleLine>> make_columns() {
  const auto identifier = [](const ModuleLine& l) {
    return Cell(report::Coded{static_cast<double>(l.first().module.identifier), std::string(to_text(l.first().module.identifier))});
  };
  return {
      {{"identifier", "MODULE", {}, true, true}, identifier},
      {{"vendor", "VENDOR", {}, true}, [](const ModuleLine& l) { return module_text(l.first().module.vendor); }},
      {{"part_number", "PART", {}, true}, [](const ModuleLine& l) { return module_text(l.first().module.part_number); }},
      {{"hardware_revision", "REVISION", {}, true}, [](const ModuleLine& l) { return module_text(l.first().module.revision); }},
      {{"serial_number", "SERIAL", {}, true}, [](const ModuleLine& l) { return module_text(l.first().module.serial_number); }},
      {{"module_firmware", "FIRMWARE", {}, true}, [](const ModuleLine& l) { return text_cell(phy::module_firmware(l.first())); }},
      {{"length_meters", "METERS", {}, true},
       [](const ModuleLine& l) { return report::cell(phy::cable_meters(l.first().module.length, l.first().module.identifier)); }},
  };
}

std::span<const Column<ModuleLine>> module_columns() {
  static const std::vector<Column<ModuleLine>> columns = make_columns();
  return columns;
}
/// The text has the ends too, which JSON has as a list.
std::span<const Column<ModuleLine>> text_columns() {
  static const std::vector<Column<ModuleLine>> columns = [] {
    std::vector<Column<ModuleLine>> all = make_columns();
    all.push_back({{"ends", "ENDS", {}, true}, ends_cell});
    return all;
  }();
  return columns;
}

struct ModulesReport final : FabricReport {
  ModulesReport(const Fabric& of, const TableOptions& options, std::vector<ModuleLine> rows)
      : FabricReport(of), lines(std::move(rows)), table(module_columns()), text_table(text_columns()) {
    options.apply(text_table);
    text_table.sort(lines);
  }

  void visit(report::Sink& sink) const override {
    table.visit(sink, "modules", lines,
                [&](const ModuleLine& line) { sink.objects("ends", line.ends, [&](const auto* row) { end(sink, *row); }); });
    visit_failures(sink);
  }
  void text(TextOut& out) const override { out.write(text_table.text(lines)); }

  std::vector<ModuleLine> lines;
  report::Table<ModuleLine> table, text_table;

 private:
  void end(report::Sink& sink, const phy::PortRow& row) const {
    const subnet::Port& port = fabric.subnet.port(row.port);
    visit_names(sink, port.node);
    sink.value("port_num", port.number);
    report::write_cell(sink, "port_label", port_label_cell(fabric, row.port), {});
  }
};

/// One row for each serial number of a vendor. A module without one is a row of its own.
std::vector<ModuleLine> by_serial_number(const Fabric& fabric, const std::vector<phy::PortRow>& ports) {
  std::vector<ModuleLine> lines;
  std::map<std::tuple<std::string, std::string>, std::size_t> known;
  for (const phy::PortRow& row : ports) {
    if (!row.has_module()) continue;
    const std::string serial = phy::padded_text(row.module.serial_number);
    const auto [place, is_new] = known.emplace(std::tuple(phy::padded_text(row.module.vendor), serial), lines.size());
    if (is_new || serial.empty()) {
      lines.push_back({&fabric, {&row}});
    } else {
      lines[place->second].ends.push_back(&row);
    }
  }
  return lines;
}

class Modules final : public Command {
 public:
  void options(OptionSet& set, CommonOptions& common) override {
    add_phy_options(set, wanted_);
    set.notes("TARGET is one node whose modules are shown; without it those of all nodes are.");
    add_table_options(set, shown_, keys_of(text_columns()));
    add_common(set, common, group_target | group_sl);
  }

  std::string_view table_rows() const override { return "modules"; }

  async::Task<> run(Session& session, Emit& emit) override {
    report::Table<ModuleLine> checked(text_columns());
    shown_.apply(checked);
    wanted_.wants = [](const subnet::Subnet& subnet, PortIndex port) { return subnet.port(port).has_info; };
    Fabric fabric;
    const phy::Reading found = co_await fetch_phy(session, wanted_, fabric);
    emit(ModulesReport(fabric, shown_, by_serial_number(fabric, found.ports)));
  }

 private:
  PhyWanted wanted_;
  TableOptions shown_;
};

}  // namespace

constinit const CommandInfo rooms::modules{
    .name = "modules",
    .group = HelpGroup::topology,
    .summary = "List the transceivers and cables of the fabric, and the ports they are in.",
    .make = make_command<Modules>,
    .needs_fabric = true,
};

}  // namespace ib::tools
