// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// environment: temperatures and fans of switches. A table has a row for each sensor and each fan, JSON an object for each node too.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <vector>

#include "tools/frame/commands.hpp"
#include "tools/phy/fetch.hpp"

namespace ib::tools {
namespace {

using report::cell;
using report::Cell;
using report::Column;
using report::gauge;
using report::Sink;
using report::text_cell;
using subnet::PortIndex;

struct EnvironmentLine {
  const Fabric* fabric;
  subnet::NodeIndex node;
  const phy::Sensor* sensor;  ///< null: a fan
  const phy::Fan* fan;
};

std::string sensor_name(const phy::Sensor& sensor) { return sensor.name.empty() ? fmt::format("sensor {}", sensor.index) : sensor.name; }

Cell name(const EnvironmentLine& line) {
  return text_cell(line.sensor != nullptr ? sensor_name(*line.sensor) : fmt::format("fan {}", line.fan->index));
}

template <std::optional<double> phy::Sensor::*value>
Cell celsius(const EnvironmentLine& line) {
  return line.sensor != nullptr ? cell(line.sensor->*value) : Cell(std::monostate{});
}

Cell rpm(const EnvironmentLine& line) { return line.fan != nullptr ? cell(line.fan->rpm) : Cell(std::monostate{}); }

Cell is_below_limit(const EnvironmentLine& line) { return line.fan != nullptr ? cell(line.fan->is_below_limit) : Cell(std::monostate{}); }

/// "hot" where a sensor is at its limit, "slow" where a fan is below its own.
Cell remark(const EnvironmentLine& line) {
  const phy::Sensor* sensor = line.sensor;
  if (sensor != nullptr && sensor->celsius && sensor->limit && *sensor->celsius >= *sensor->limit) return std::string("hot");
  return line.fan != nullptr && line.fan->is_below_limit.value_or(false) ? Cell(std::string("slow")) : Cell(std::string());
}

constexpr std::array<Column<EnvironmentLine>, 9> sensor_columns{{
    {{"node_guid", "GUID"}, [](const EnvironmentLine& l) { return node_guid_cell(*l.fabric, l.node); }},
    {{"node_description", "NODE", {}, true}, [](const EnvironmentLine& l) { return node_name_cell(*l.fabric, l.node); }},
    {{"sensor", "SENSOR", {}, true}, name},
    {{"temperature_celsius", "C", gauge("C"), true}, celsius<&phy::Sensor::celsius>},
    {{"max_celsius", "MOST C", gauge("C"), true}, celsius<&phy::Sensor::greatest>},
    {{"limit_celsius", "LIMIT C", gauge("C"), true}, celsius<&phy::Sensor::limit>},
    {{"rpm", "RPM", gauge("1/min"), true}, rpm},
    {{"is_below_limit", "BELOW LIMIT"}, is_below_limit},
    {{"remark", "REMARK", {}, true, false, true}, remark},
}};

void visit_sensor(Sink& sink, const phy::Sensor& sensor) {
  sink.value("sensor", sensor_name(sensor));
  report::write_cell(sink, "temperature_celsius", cell(sensor.celsius), gauge("C"));
  report::write_cell(sink, "max_celsius", cell(sensor.greatest), gauge("C"));
  report::write_cell(sink, "limit_celsius", cell(sensor.limit), gauge("C"));
}

void visit_fan(Sink& sink, const phy::Fan& fan) {
  sink.value("fan", fan.index);
  report::write_cell(sink, "rpm", cell(fan.rpm), gauge("1/min"));
  sink.value("is_below_limit", fan.is_below_limit);
}

/// JSON has the nodes, and the rows of the table.
struct NodesReport final : FabricReport {
  NodesReport(const Fabric& of, const std::vector<phy::EnvironmentRow>& read, const std::vector<EnvironmentLine>& in_table)
      : FabricReport(of), rows(read), lines(in_table) {}

  void visit(Sink& sink) const override {
    sink.objects("nodes", rows, [&](const phy::EnvironmentRow& row) {
      visit_names(sink, row.node);
      sink.objects("temperatures", row.sensors, [&](const phy::Sensor& sensor) { visit_sensor(sink, sensor); });
      sink.objects("fans", row.fans, [&](const phy::Fan& fan) { visit_fan(sink, fan); });
    });
    report::Table<EnvironmentLine>(sensor_columns).visit(sink, "sensors", lines);
    visit_failures(sink);
  }
  void text(TextOut& /*out*/) const override {}

  const std::vector<phy::EnvironmentRow>& rows;
  const std::vector<EnvironmentLine>& lines;
};

class Environment final : public PhyCommand {
 public:
  void options(OptionSet& set, CommonOptions& common) override {
    set.notes("TARGETs are nodes, or patterns of their names; without them all switches are read.");
    add_options(set, common, keys_of(sensor_columns));
  }

  std::string_view table_rows() const override { return "sensors"; }

 protected:
  void prepare(const Host& host) override {
    check_table<EnvironmentLine>(sensor_columns);
    shown_.refuse_for_json(host.options().format, "sensors and fans", "nodes");
    wanted_.registers = phy::ReadingScope::environment;
    wanted_.wants = [all = !wanted_.targets.empty()](const subnet::Subnet& subnet, PortIndex port) {
      return subnet.port(port).has_info && (all || subnet.node(subnet.port(port).node).kind() == subnet::NodeKind::sw);
    };
  }

  void show(Host& host, Emit& emit, const Fabric& fabric, const phy::Reading& found) override {
    std::vector<EnvironmentLine> lines;
    for (const phy::EnvironmentRow& row : found.environments) {
      for (const phy::Sensor& sensor : row.sensors) lines.push_back({&fabric, row.node, &sensor, nullptr});
      for (const phy::Fan& fan : row.fans) lines.push_back({&fabric, row.node, nullptr, &fan});
    }
    if (is_document(host.options().format)) return emit(NodesReport(fabric, found.environments, lines));
    emit_table<EnvironmentLine>(host, emit, fabric, "sensors", sensor_columns, std::move(lines));
  }
};

}  // namespace

constinit const CommandInfo rooms::environment{
    .name = "environment",
    .group = HelpGroup::counters,
    .summary = "Print temperatures and fans of switches.",
    .make = make_command<Environment>,
};

}  // namespace ib::tools
