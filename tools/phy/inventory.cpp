// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Inventories. firmware: which firmware runs on which type of device, by one Get a device. modules: transceivers and cables; both ends of a
// cable have one serial number and are one row.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <tuple>

#include "phy/columns.hpp"
#include "tools/frame/commands.hpp"
#include "tools/phy/fetch.hpp"

namespace ib::tools {
namespace {

using report::Cell;
using report::Column;
using report::gauge;
using report::Sink;
using report::text_cell;
using subnet::PortIndex;

struct DeviceLine {
  const Fabric* fabric;
  const phy::DeviceRow* row;
};

std::vector<Column<DeviceLine>> make_device_columns() {
  return {
      {{"node_guid", "GUID", {}, true}, [](const DeviceLine& l) { return node_guid_cell(*l.fabric, l.row->node); }},
      {{"node_description", "NODE", {}, true}, [](const DeviceLine& l) { return node_name_cell(*l.fabric, l.row->node); }},
      {{"device_id", "DEVICE", {}, true},
       [](const DeviceLine& l) { return Cell(std::uint64_t{l.fabric->subnet.node(l.row->node).info.device_id}); }},
      {{"psid", "PSID", {}, true}, [](const DeviceLine& l) { return text_cell(l.row->firmware->psid); }},
      {{"firmware", "FIRMWARE", {}, true}, [](const DeviceLine& l) { return text_cell(l.row->firmware->version); }},
      {{"uptime_seconds", "UPTIME S", gauge("s"), true},
       [](const DeviceLine& l) { return Cell(std::uint64_t{l.row->firmware->uptime_seconds}); }},
  };
}

std::span<const Column<DeviceLine>> device_columns() {
  static const std::vector<Column<DeviceLine>> columns = make_device_columns();
  return columns;
}

/// The devices of one type, PSID and firmware.
struct VersionLine {
  std::uint16_t device_id{};
  std::string psid, firmware, first;  ///< `first`: a node with it
  std::uint64_t nodes{};
  bool is_odd{};  ///< more devices of this type and PSID run another version
};

constexpr std::array<Column<VersionLine>, 7> version_columns{{
    {{"device_id", "DEVICE", {}, true}, [](const VersionLine& l) { return Cell(std::uint64_t{l.device_id}); }},
    {{"psid", "PSID", {}, true}, [](const VersionLine& l) { return text_cell(l.psid); }},
    {{"firmware", "FIRMWARE", {}, true}, [](const VersionLine& l) { return text_cell(l.firmware); }},
    {{"node_count", "NODES", gauge(), true}, [](const VersionLine& l) { return Cell(l.nodes); }},
    {{"is_odd", "ODD"}, [](const VersionLine& l) { return Cell(l.is_odd); }},
    {{"odd", "ODD", {}, true, false, true}, [](const VersionLine& l) { return Cell(std::string(l.is_odd ? "odd" : "")); }},
    {{"first_node", "FIRST NODE", {}, true}, [](const VersionLine& l) { return text_cell(l.first); }},
}};

std::vector<VersionLine> versions_of(const std::vector<DeviceLine>& devices) {
  std::map<std::tuple<std::uint16_t, std::string, std::string>, VersionLine> by_version;
  std::map<std::tuple<std::uint16_t, std::string>, std::uint64_t> most;
  for (const DeviceLine& device : devices) {
    const subnet::Node& node = device.fabric->subnet.node(device.row->node);
    const phy::Firmware& firmware = *device.row->firmware;
    VersionLine& line = by_version[{node.info.device_id, firmware.psid, firmware.version}];
    if (++line.nodes == 1) {
      const Cell name = node_name_cell(*device.fabric, device.row->node);
      const auto* known = std::get_if<std::string>(&name);
      line.device_id = node.info.device_id;
      line.psid = firmware.psid;
      line.firmware = firmware.version;
      line.first = known != nullptr ? *known : "";
    }
    std::uint64_t& greatest = most[{node.info.device_id, firmware.psid}];
    greatest = std::max(greatest, line.nodes);
  }
  std::vector<VersionLine> lines;
  for (auto& [key, line] : by_version) {
    line.is_odd = line.nodes < most[{line.device_id, line.psid}];
    lines.push_back(std::move(line));
  }
  return lines;
}

class FirmwareCommand final : public PhyCommand {
 public:
  void options(OptionSet& set, CommonOptions& common) override {
    set.notes("TARGETs are nodes, or patterns of their names; without them all nodes are read.");
    set.flag("--nodes", by_node_, "A row for each node instead of one for each type of device and version.");
    std::vector<std::string> keys = keys_of(version_columns);
    for (const std::string& key : keys_of(device_columns())) {
      if (std::ranges::find(keys, key) == keys.end()) keys.push_back(key);
    }
    add_options(set, common, std::move(keys));
  }

  std::string_view table_rows() const override { return is_by_node() ? "nodes" : "versions"; }

 protected:
  void prepare(const Host& host) override {
    shown_.refuse_for_json(host.options().format, "nodes or versions", "both");
    is_by_node() ? check_table(device_columns()) : check_table<VersionLine>(version_columns);
    wanted_.registers = phy::ReadingScope::nothing;
    wanted_.wants = [](const subnet::Subnet& subnet, PortIndex port) { return subnet.port(port).has_info && subnet.lid(port) != Lid{}; };
  }

  void show(Host& host, Emit& emit, const Fabric& fabric, const phy::Reading& found) override {
    std::vector<DeviceLine> devices;
    for (const phy::DeviceRow& row : found.devices) {
      if (row.firmware) devices.push_back({&fabric, &row});
    }
    std::vector<VersionLine> versions = versions_of(devices);
    if (is_document(host.options().format)) {
      emit(DocumentReport<DeviceLine, VersionLine>(fabric, {"nodes", report::Table<DeviceLine>(device_columns()), std::move(devices)},
                                                   {"versions", report::Table<VersionLine>(version_columns), std::move(versions)}));
    } else if (is_by_node()) {
      emit_table(host, emit, fabric, "nodes", device_columns(), std::move(devices));
    } else {
      emit_table<VersionLine>(host, emit, fabric, "versions", version_columns, std::move(versions));
    }
  }

 private:
  bool is_by_node() const { return by_node_ || !wanted_.targets.empty(); }

  bool by_node_{};
};

/// A module or cable, and the ports in whose cages its ends are.
struct ModuleLine {
  const Fabric* fabric{};
  std::vector<const phy::PortRow*> ends;
  bool is_odd{};  ///< more modules of this part run another firmware
};

const phy::PortRow& first_end(const ModuleLine& line) { return *line.ends.front(); }

void visit_end(Sink& sink, const Fabric& fabric, const phy::PortRow& row) {
  const subnet::Port& port = fabric.subnet.port(row.port);
  report::write_cell(sink, "node_guid", node_guid_cell(fabric, port.node), {});
  report::write_cell(sink, "node_description", node_name_cell(fabric, port.node), {});
  sink.value("port_num", port.number);
  report::write_cell(sink, "port_label", port_label_cell(fabric, row.port), {});
}

/// "spine01 3, leaf02 17" in a text.
Cell ends_cell(const ModuleLine& line) {
  std::string words;
  for (const phy::PortRow* row : line.ends) {
    const subnet::Port& port = line.fabric->subnet.port(row->port);
    const Cell name = node_name_cell(*line.fabric, port.node);
    const auto* known = std::get_if<std::string>(&name);
    words += fmt::format("{}{} {}", words.empty() ? "" : ", ", known != nullptr ? *known : "-", port.number);
  }
  return report::Nested{std::move(words), [&line](Sink& sink, std::string_view key) {
                          sink.objects(key, line.ends, [&](const phy::PortRow* row) { visit_end(sink, *line.fabric, *row); });
                        }};
}

std::string_view without_object(std::string_view key) { return key.substr(key.find('.') + 1); }

std::vector<Column<ModuleLine>> make_inventory_columns() {
  constexpr std::array<std::string_view, 6> usual{"identifier",    "vendor",          "part_number",
                                                  "serial_number", "module_firmware", "length_meters"};
  std::vector<Column<ModuleLine>> columns =
      phy::columns_of<ModuleLine, first_end, phy::link_columns>(std::make_index_sequence<phy::module_columns>());
  for (Column<ModuleLine>& column : columns) {
    column.key = without_object(column.key);
    column.usual = std::ranges::find(usual, column.key) != usual.end();
  }
  columns.push_back({{"is_odd", "ODD"}, [](const ModuleLine& l) { return Cell(l.is_odd); }});
  columns.push_back({{"odd", "ODD", {}, true, false, true}, [](const ModuleLine& l) { return Cell(std::string(l.is_odd ? "odd" : "")); }});
  columns.push_back({{"ends", "ENDS", {}, true}, ends_cell});
  return columns;
}

std::span<const Column<ModuleLine>> inventory_columns() {
  static const std::vector<Column<ModuleLine>> columns = make_inventory_columns();
  return columns;
}

struct PartLine {
  std::string vendor, part_number, firmware;
  std::uint64_t modules{};
  bool is_odd{};
};

constexpr std::array<Column<PartLine>, 6> part_columns{{
    {{"vendor", "VENDOR", {}, true}, [](const PartLine& l) { return text_cell(l.vendor); }},
    {{"part_number", "PART", {}, true}, [](const PartLine& l) { return text_cell(l.part_number); }},
    {{"module_firmware", "FIRMWARE", {}, true}, [](const PartLine& l) { return text_cell(l.firmware); }},
    {{"module_count", "MODULES", gauge(), true}, [](const PartLine& l) { return Cell(l.modules); }},
    {{"is_odd", "ODD"}, [](const PartLine& l) { return Cell(l.is_odd); }},
    {{"odd", "ODD", {}, true, false, true}, [](const PartLine& l) { return Cell(std::string(l.is_odd ? "odd" : "")); }},
}};

/// One row for each serial number of a vendor. A module without one is a row of its own.
std::vector<ModuleLine> by_serial_number(const Fabric& fabric, const std::vector<phy::PortRow>& ports) {
  std::vector<ModuleLine> lines;
  std::map<std::tuple<std::string, std::string>, std::size_t> known;
  for (const phy::PortRow& row : ports) {
    if (!row.has_module()) continue;
    const std::string serial = phy::padded_text(row.module.serial_number);
    const auto [place, is_new] = known.emplace(std::tuple(phy::padded_text(row.module.vendor), serial), lines.size());
    if (is_new || serial.empty()) {
      lines.push_back({.fabric = &fabric, .ends = {&row}});
    } else {
      lines[place->second].ends.push_back(&row);
    }
  }
  return lines;
}

/// Counts the modules by part and firmware, and marks those whose firmware is not that of most modules of the part.
std::vector<PartLine> count_parts(std::vector<ModuleLine>& lines) {
  std::map<std::tuple<std::string, std::string, std::string>, PartLine> parts;
  std::map<std::tuple<std::string, std::string>, std::uint64_t> most;
  std::vector<PartLine*> part_of;
  for (const ModuleLine& line : lines) {
    const phy::Module& module = first_end(line).module;
    const std::string vendor = phy::padded_text(module.vendor), number = phy::padded_text(module.part_number);
    const std::string firmware = phy::module_firmware(first_end(line));
    PartLine& part = parts[{vendor, number, firmware}];
    part = {.vendor = vendor, .part_number = number, .firmware = firmware, .modules = part.modules + 1};
    part_of.push_back(&part);
    std::uint64_t& greatest = most[{vendor, number}];
    if (!firmware.empty()) greatest = std::max(greatest, part.modules);
  }
  std::vector<PartLine> counted;
  for (auto& [key, part] : parts) part.is_odd = !part.firmware.empty() && part.modules < most[{part.vendor, part.part_number}];
  for (std::size_t at = 0; at < lines.size(); ++at) lines[at].is_odd = part_of[at]->is_odd;
  for (auto& [key, part] : parts) counted.push_back(std::move(part));
  return counted;
}

class Modules final : public PhyCommand {
 public:
  void options(OptionSet& set, CommonOptions& common) override {
    set.notes(
        "TARGETs are nodes, patterns of their names, or ports as TARGET@PORT, whose modules are shown; without them those of all nodes "
        "are.");
    set.flag("--parts", by_part_, "A row for each part number and firmware, with the number of modules.");
    std::vector<std::string> keys = keys_of(inventory_columns());
    keys.emplace_back("module_count");
    add_options(set, common, std::move(keys));
  }

  std::string_view table_rows() const override { return by_part_ ? "module_parts" : "modules"; }

 protected:
  void prepare(const Host& host) override {
    if (by_part_) shown_.refuse_for_json(host.options().format, "parts", "modules and parts");
    by_part_ ? check_table<PartLine>(part_columns) : check_table(inventory_columns());
    wanted_.parts = phy::parts_of(phy::Part::operation, phy::Part::module);  // the former has the number of lanes
    wanted_.wants = [](const subnet::Subnet& subnet, PortIndex port) { return subnet.port(port).has_info; };
  }

  void show(Host& host, Emit& emit, const Fabric& fabric, const phy::Reading& found) override {
    std::vector<ModuleLine> lines = by_serial_number(fabric, found.ports);
    std::vector<PartLine> parts = count_parts(lines);
    if (is_document(host.options().format)) {
      report::Table<ModuleLine> shown = by_part_ ? report::Table<ModuleLine>(inventory_columns()) : table(inventory_columns());
      emit(DocumentReport<ModuleLine, PartLine>(fabric, {"modules", std::move(shown), std::move(lines)},
                                                {"module_parts", report::Table<PartLine>(part_columns), std::move(parts)}));
    } else if (by_part_) {
      emit_table<PartLine>(host, emit, fabric, "module_parts", part_columns, std::move(parts));
    } else {
      emit_table(host, emit, fabric, "modules", inventory_columns(), std::move(lines));
    }
  }

 private:
  bool by_part_{};
};

}  // namespace

constinit const CommandInfo rooms::firmware{
    .name = "firmware",
    .group = HelpGroup::topology,
    .summary = "Print the firmware versions of devices by type and PSID, with odd ones marked.",
    .make = make_command<FirmwareCommand>,
};

constinit const CommandInfo rooms::modules{
    .name = "modules",
    .group = HelpGroup::topology,
    .summary = "List the transceivers and cables of the fabric, and the ports they are in.",
    .make = make_command<Modules>,
};

}  // namespace ib::tools
