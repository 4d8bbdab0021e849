// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// environment: temperatures and fans of switches.
#include <fmt/format.h>

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
using report::text_cell;
using subnet::PortIndex;

/// A sensor or a fan of a node.
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
  return line.sensor != nullptr ? cell(line.sensor->*value) : text_cell(" ");
}

Cell rpm(const EnvironmentLine& line) { return line.fan != nullptr ? cell(line.fan->rpm) : text_cell(" "); }

/// "hot" where a sensor is at its limit, "slow" where a fan is below its own.
Cell remark(const EnvironmentLine& line) {
  const phy::Sensor* sensor = line.sensor;
  if (sensor != nullptr && sensor->celsius && sensor->limit && *sensor->celsius >= *sensor->limit) return std::string("hot");
  return line.fan != nullptr && line.fan->is_below_limit.value_or(false) ? Cell(std::string("slow")) : text_cell(" ");
}

constexpr std::array<Column<EnvironmentLine>, 7> environment_columns{{
    {{"node_description", "NODE", {}, true}, [](const EnvironmentLine& l) { return node_name_cell(*l.fabric, l.node); }},
    {{"sensor", "SENSOR", {}, true}, name},
    {{"temperature_celsius", "C", {}, true}, celsius<&phy::Sensor::celsius>},
    {{"max_celsius", "MOST C", {}, true}, celsius<&phy::Sensor::greatest>},
    {{"limit_celsius", "LIMIT C", {}, true}, celsius<&phy::Sensor::limit>},
    {{"rpm", "RPM", {}, true}, rpm},
    {{"remark", "REMARK", {}, true}, remark},
}};

struct EnvironmentReport final : FabricReport {
  EnvironmentReport(const Fabric& of, const std::vector<phy::EnvironmentRow>& read) : FabricReport(of), rows(read) {}

  void visit(report::Sink& sink) const override {
    sink.objects("nodes", rows, [&](const phy::EnvironmentRow& row) {
      visit_names(sink, row.node);
      sink.objects("temperatures", row.sensors, [&](const phy::Sensor& sensor) {
        sink.value("sensor", sensor_name(sensor));
        sink.value("temperature_celsius", sensor.celsius);
        sink.value("max_celsius", sensor.greatest);
        sink.value("limit_celsius", sensor.limit);
      });
      sink.objects("fans", row.fans, [&](const phy::Fan& fan) {
        sink.value("fan", fan.index);
        sink.value("rpm", fan.rpm);
        sink.value("is_below_limit", fan.is_below_limit);
      });
    });
    visit_failures(sink);
  }
  void text(TextOut& out) const override {
    std::vector<EnvironmentLine> lines;
    for (const phy::EnvironmentRow& row : rows) {
      for (const phy::Sensor& sensor : row.sensors) lines.push_back({&fabric, row.node, &sensor, nullptr});
      for (const phy::Fan& fan : row.fans) lines.push_back({&fabric, row.node, nullptr, &fan});
    }
    out.write(report::Table<EnvironmentLine>(environment_columns).text(lines));
  }

  const std::vector<phy::EnvironmentRow>& rows;
};

class Environment final : public Command {
 public:
  void options(OptionSet& set, CommonOptions& common) override {
    add_phy_options(set, wanted_);
    set.notes("TARGET is one node; without it all switches are read.");
    add_common(set, common, group_target | group_sl);
  }

  std::string_view table_rows() const override { return "nodes.temperatures"; }

  async::Task<> run(Session& session, Emit& emit) override {
    wanted_.registers = phy::Wanted::environment;
    wanted_.wants = [all = wanted_.target.given()](const subnet::Subnet& subnet, PortIndex port) {
      return subnet.port(port).has_info && (all || subnet.node(subnet.port(port).node).kind() == subnet::NodeKind::sw);
    };
    Fabric fabric;
    const phy::Reading found = co_await fetch_phy(session, wanted_, fabric);
    emit(EnvironmentReport(fabric, found.environments));
  }

 private:
  PhyWanted wanted_;
};

}  // namespace

constinit const CommandInfo rooms::environment{
    .name = "environment",
    .group = HelpGroup::counters,
    .summary = "Print temperatures and fans of switches.",
    .make = make_command<Environment>,
    .needs_fabric = true,
};

}  // namespace ib::tools
