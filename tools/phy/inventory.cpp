// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Inventories. firmware: which firmware runs on which type of device, by one Get a device. modules: transceivers and cables; both ends of a
// cable have one serial number and are one row.
// environment: temperatures and fans of switches. A table has a row for each sensor and each fan, JSON an object for each node too.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "phy/inventory.hpp"
#include "subnet/model/names.hpp"
#include "tools/phy/fetch.hpp"

namespace ib::tools {
namespace {

using report::cell;
using report::Cell;
using report::Column;
using report::gauge;
using report::Sink;
using report::text_cell;

struct EnvironmentLine {
  const Fabric* fabric;
  NodeIndex node;
  const phy::Sensor* sensor;  ///< null: a fan
  const phy::Fan* fan;
};

std::string sensor_name(const phy::Sensor& sensor) { return sensor.name.empty() ? fmt::format("sensor {}", sensor.index) : sensor.name; }

Cell name(const EnvironmentLine& line) {
  return text_cell(line.sensor != nullptr ? sensor_name(*line.sensor) : fmt::format("fan {}", line.fan->index));
}

template <auto value>
Cell of_sensor(const EnvironmentLine& line) {
  return line.sensor != nullptr ? cell(line.sensor->*value) : Cell();
}
template <auto value>
Cell of_fan(const EnvironmentLine& line) {
  return line.fan != nullptr ? cell(line.fan->*value) : Cell();
}

/// "hot" where a sensor is at its limit, "slow" where a fan is below its own.
Cell remark(const EnvironmentLine& line) {
  const phy::Sensor* sensor = line.sensor;
  if (sensor != nullptr && sensor->celsius && sensor->limit && *sensor->celsius >= *sensor->limit) return std::string("hot");
  return line.fan != nullptr && line.fan->is_below_limit.value_or(false) ? Cell(std::string("slow")) : Cell(std::string());
}

std::span<const Column<EnvironmentLine>> sensor_columns() {
  static const std::array<Column<EnvironmentLine>, 9> columns{{
      {{"node_guid", "GUID"}, [](const EnvironmentLine& l) { return node_guid_cell(*l.fabric, l.node); }},
      {{"node_description", "NODE", {}, true}, [](const EnvironmentLine& l) { return node_name_cell(*l.fabric, l.node); }},
      {{"sensor", "SENSOR", {}, true}, name},
      {{"temperature_celsius", "C", gauge("C"), true}, of_sensor<&phy::Sensor::celsius>},
      {{"max_celsius", "MOST C", gauge("C"), true}, of_sensor<&phy::Sensor::greatest>},
      {{"limit_celsius", "LIMIT C", gauge("C"), true}, of_sensor<&phy::Sensor::limit>},
      {{"rpm", "RPM", gauge("1/min"), true}, of_fan<&phy::Fan::rpm>},
      {{"is_below_limit", "BELOW LIMIT"}, of_fan<&phy::Fan::is_below_limit>},
      {{"remark", "REMARK", {}, true, false, true}, remark},
  }};
  return columns;
}

struct NodesReport final : FabricReport {
  NodesReport(const Fabric& of, const std::vector<phy::EnvironmentRow>& read, const std::vector<EnvironmentLine>& in_table)
      : FabricReport(of), rows(read), lines(in_table) {}

  void visit(Sink& sink) const override {
    constexpr std::size_t first = 2, of_sensors = 4, of_fans = 2;  // columns
    const auto members = [&](std::size_t from, std::size_t count, const EnvironmentLine& line) {
      report::write_members(sink, sensor_columns().subspan(from, count), line);
    };
    sink.objects("nodes", rows, [&](const phy::EnvironmentRow& row) {
      visit_names(sink, row.node);
      sink.objects("temperatures", row.sensors, [&](const phy::Sensor& sensor) {
        members(first, of_sensors, {&fabric, row.node, &sensor, nullptr});
      });
      sink.objects("fans", row.fans, [&](const phy::Fan& fan) {
        sink.value("fan", fan.index);
        members(first + of_sensors, of_fans, {&fabric, row.node, nullptr, &fan});
      });
    });
    report::Table<EnvironmentLine>(sensor_columns()).visit(sink, "sensors", lines);
    visit_failures(sink);
  }

  const std::vector<phy::EnvironmentRow>& rows;
  const std::vector<EnvironmentLine>& lines;
};

class Environment final : public PhyCommand {
 public:
  void options(OptionSet& set, CommonOptions& common) override {
    set.notes("TARGETs are nodes, or patterns of their names; without them all switches are read.");
    add_options(set, common, keys_of(sensor_columns()));
  }

  std::string_view table_rows() const override { return "sensors"; }

 protected:
  void prepare(const Host& host) override {
    table<EnvironmentLine>(sensor_columns());
    shown_.refuse_for_json(host.options().format, "sensors and fans", "nodes");
    reading_.wanted = phy::ReadingScope::environment;
  }
  bool is_wanted(const subnet::Subnet& subnet, PortIndex port) const override {
    const bool is_switch = subnet.node(subnet.port(port).node).kind() == subnet::NodeKind::sw;
    return subnet.port(port).has_info && (is_switch || !targets_.empty());
  }

  void show(Host& host, Emit& emit, const phy::Reading& found) override {
    std::vector<EnvironmentLine> lines;
    for (const phy::EnvironmentRow& row : found.environments) {
      for (const phy::Sensor& sensor : row.sensors) lines.push_back({&fabric_, row.node, &sensor, nullptr});
      for (const phy::Fan& fan : row.fans) lines.push_back({&fabric_, row.node, nullptr, &fan});
    }
    if (is_document(host.options().format)) return emit(NodesReport(fabric_, found.environments, lines));
    emit_table<EnvironmentLine>(emit, "sensors", sensor_columns(), std::move(lines));
  }
};

struct DeviceLine {
  const Fabric* fabric;
  const phy::DeviceRow* row;
};

std::span<const Column<DeviceLine>> device_columns() {
  static const std::array<Column<DeviceLine>, 6> columns{{
      {{"node_guid", "GUID", {}, true}, [](const DeviceLine& l) { return node_guid_cell(*l.fabric, l.row->node); }},
      {{"node_description", "NODE", {}, true}, [](const DeviceLine& l) { return node_name_cell(*l.fabric, l.row->node); }},
      {{"device_id", "DEVICE", {}, true},
       [](const DeviceLine& l) { return Cell(std::uint64_t{l.fabric->subnet.node(l.row->node).info.device_id}); }},
      {{"psid", "PSID", {}, true}, [](const DeviceLine& l) { return text_cell(l.row->firmware->psid); }},
      {{"firmware", "FIRMWARE", {}, true}, [](const DeviceLine& l) { return text_cell(l.row->firmware->version); }},
      {{"uptime_seconds", "UPTIME S", gauge("s"), true},
       [](const DeviceLine& l) { return Cell(std::uint64_t{l.row->firmware->uptime_seconds}); }},
  }};
  return columns;
}

struct FirmwareLine : phy::FirmwareCount {
  const Fabric* fabric;
};
std::vector<FirmwareLine> firmware_lines(const Fabric& fabric, std::vector<phy::FirmwareCount> counts) {
  std::vector<FirmwareLine> lines;
  for (phy::FirmwareCount& count : counts) lines.push_back({std::move(count), &fabric});
  return lines;
}

template <class Line>
std::array<Column<Line>, 2> odd_columns() {
  return {{
      {{"is_odd", "ODD"}, [](const Line& l) { return Cell(l.is_odd); }},
      {{"odd", "ODD", {}, true, false, true}, [](const Line& l) { return Cell(std::string(l.is_odd ? "odd" : "")); }},
  }};
}

std::span<const Column<FirmwareLine>> version_columns() {
  static const std::array<Column<FirmwareLine>, 7> columns{{
      {{"device_id", "DEVICE", {}, true}, [](const FirmwareLine& l) { return Cell(std::uint64_t{l.device_id}); }},
      {{"psid", "PSID", {}, true}, [](const FirmwareLine& l) { return text_cell(l.part); }},
      {{"firmware", "FIRMWARE", {}, true}, [](const FirmwareLine& l) { return text_cell(l.firmware); }},
      {{"node_count", "NODES", gauge(), true}, [](const FirmwareLine& l) { return Cell(l.count); }},
      odd_columns<FirmwareLine>()[0],
      odd_columns<FirmwareLine>()[1],
      {{"first_node", "FIRST NODE", {}, true}, [](const FirmwareLine& l) { return node_name_cell(*l.fabric, l.first); }},
  }};
  return columns;
}

class FirmwareCommand final : public PhyCommand {
 public:
  void options(OptionSet& set, CommonOptions& common) override {
    set.notes("TARGETs are nodes, or patterns of their names; without them all nodes are read.");
    set.flag("--nodes", by_node_, "A row for each node instead of one for each type of device and version.");
    std::vector<std::string> keys = keys_of(version_columns());
    for (const std::string& key : keys_of(device_columns())) {
      if (std::ranges::find(keys, key) == keys.end()) keys.push_back(key);
    }
    add_options(set, common, std::move(keys));
  }

  std::string_view table_rows() const override { return is_by_node() ? "nodes" : "versions"; }

 protected:
  void prepare(const Host& host) override {
    shown_.refuse_for_json(host.options().format, "nodes or versions", "both");
    is_by_node() ? void(table<DeviceLine>(device_columns())) : void(table<FirmwareLine>(version_columns()));
    reading_.wanted = phy::ReadingScope::nothing;
  }
  bool is_wanted(const subnet::Subnet& subnet, PortIndex port) const override {
    return subnet.port(port).has_info && subnet.lid(port) != Lid{};
  }

  void show(Host& host, Emit& emit, const phy::Reading& found) override {
    std::vector<DeviceLine> devices;
    for (const phy::DeviceRow& row : found.devices) {
      if (row.firmware) devices.push_back({&fabric_, &row});
    }
    std::vector<FirmwareLine> versions = firmware_lines(fabric_, phy::count_firmware(fabric_.subnet, found.devices));
    if (is_document(host.options().format)) {
      emit(DocumentReport<DeviceLine, FirmwareLine>(fabric_, {"nodes", report::Table<DeviceLine>(device_columns()), std::move(devices)},
                                                    {"versions", report::Table<FirmwareLine>(version_columns()), std::move(versions)}));
    } else if (is_by_node()) {
      emit_table<DeviceLine>(emit, "nodes", device_columns(), std::move(devices));
    } else {
      emit_table<FirmwareLine>(emit, "versions", version_columns(), std::move(versions));
    }
  }

 private:
  bool is_by_node() const { return by_node_ || !targets_.empty(); }

  bool by_node_{};
};

struct ModuleLine : phy::InventoryModule {
  const Fabric* fabric;
};

const phy::PortRow& first_end(const ModuleLine& line) { return *line.ends.front(); }

void visit_end(Sink& sink, const Fabric& fabric, const phy::PortRow& row) {
  const subnet::Port& port = fabric.subnet.port(row.port);
  report::write_cell(sink, "node_guid", node_guid_cell(fabric, port.node), {});
  report::write_cell(sink, "node_description", node_name_cell(fabric, port.node), {});
  sink.value("port_num", port.number);
  report::write_cell(sink, "port_label", port_label_cell(fabric, row.port), {});
}

Cell ends_cell(const ModuleLine& line) {
  std::string words;
  for (const phy::PortRow* row : line.ends) {
    const subnet::Port& port = line.fabric->subnet.port(row->port);
    const std::string_view name = subnet::name_of(line.fabric->subnet.node(port.node), &line.fabric->names);
    words += fmt::format("{}{} {}", words.empty() ? "" : ", ", name.empty() ? "-" : name, port.number);
  }
  return report::Nested{std::move(words), [&line](Sink& sink, std::string_view key) {
                          sink.objects(key, line.ends, [&](const phy::PortRow* row) { visit_end(sink, *line.fabric, *row); });
                        }};
}

std::string_view without_object(std::string_view key) { return key.substr(key.find('.') + 1); }

std::vector<Column<ModuleLine>> make_inventory_columns() {
  constexpr std::array<std::string_view, 6> usual{"identifier",    "vendor",          "part_number",
                                                  "serial_number", "module_firmware", "length_meters"};
  std::vector<Column<ModuleLine>> columns = report::columns_of_part<ModuleLine>(phy::row_columns().last(phy::module_columns), first_end);
  for (Column<ModuleLine>& column : columns) {
    column.key = without_object(column.key);
    column.usual = std::ranges::find(usual, column.key) != usual.end();
  }
  std::ranges::move(odd_columns<ModuleLine>(), std::back_inserter(columns));
  columns.push_back({{"ends", "ENDS", {}, true}, ends_cell});
  return columns;
}

std::span<const Column<ModuleLine>> inventory_columns() {
  static const std::vector<Column<ModuleLine>> columns = make_inventory_columns();
  return columns;
}

std::span<const Column<FirmwareLine>> part_columns() {
  static const std::array<Column<FirmwareLine>, 6> columns{{
      {{"vendor", "VENDOR", {}, true}, [](const FirmwareLine& l) { return text_cell(l.vendor); }},
      {{"part_number", "PART", {}, true}, [](const FirmwareLine& l) { return text_cell(l.part); }},
      {{"module_firmware", "FIRMWARE", {}, true}, [](const FirmwareLine& l) { return text_cell(l.firmware); }},
      {{"module_count", "MODULES", gauge(), true}, [](const FirmwareLine& l) { return Cell(l.count); }},
      odd_columns<FirmwareLine>()[0],
      odd_columns<FirmwareLine>()[1],
  }};
  return columns;
}

class Modules final : public PhyCommand {
 public:
  void options(OptionSet& set, CommonOptions& common) override {
    set.notes(
        "TARGETs are nodes, patterns of their names, or ports as TARGET@PORT, whose modules are shown; without them all modules "
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
    by_part_ ? void(table<FirmwareLine>(part_columns())) : void(table<ModuleLine>(inventory_columns()));
    reading_.parts = phy::parts_of(phy::Part::operation, phy::Part::module);  // the former has the number of lanes
  }
  bool is_wanted(const subnet::Subnet& subnet, PortIndex port) const override { return subnet.port(port).has_info; }

  void show(Host& host, Emit& emit, const phy::Reading& found) override {
    std::vector<phy::InventoryModule> modules = phy::modules_in(found.ports);
    std::vector<FirmwareLine> parts = firmware_lines(fabric_, phy::count_parts(modules));
    std::vector<ModuleLine> lines;
    for (phy::InventoryModule& module : modules) lines.push_back({std::move(module), &fabric_});
    if (is_document(host.options().format)) {
      report::Table<ModuleLine> shown = by_part_ ? report::Table<ModuleLine>(inventory_columns()) : table(inventory_columns());
      emit(DocumentReport<ModuleLine, FirmwareLine>(fabric_, {"modules", std::move(shown), std::move(lines)},
                                                    {"module_parts", report::Table<FirmwareLine>(part_columns()), std::move(parts)}));
    } else if (by_part_) {
      emit_table<FirmwareLine>(emit, "module_parts", part_columns(), std::move(parts));
    } else {
      emit_table(emit, "modules", inventory_columns(), std::move(lines));
    }
  }

 private:
  bool by_part_{};
};

}  // namespace

constinit const CommandInfo rooms::environment{
    .name = "environment",
    .group = HelpGroup::counters,
    .summary = "Print temperatures and fans of switches.",
    .make = make_command<Environment>,
};

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
