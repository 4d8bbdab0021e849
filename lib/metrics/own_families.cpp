// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Our own families, which are added to either exporter's: states of all ports, with a link or without; whether nodes answer; subnet
// managers; when the fabric was swept and read. infiniband_switch_port_state, …_switch_up and …_hca_up are names that others use already.
// The physical layer: bit error ratios, FEC, modules, and temperatures and fans of switches. What switches have by the names of treydock's
// collector for ibswinfo has these. A port that the last reading of registers did not read has no sample.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "metrics/families.hpp"

namespace ib::metrics {
namespace {

void write_state(const ItemWriter& to) {
  const std::string_view name = to.fabric().name(to.device().node);
  to.fabric().each_port(to.device(), [&](PortIndex port) {
    const PortStates::State state = to.view.states->of(port);
    const unsigned number = port - to.device().port;
    if (state.is_known()) to.device_sample().label("switch", name).label("port", number).value(state.is_link_up());
  });
}

template <std::uint8_t PortStates::State::*part>
void write_state_id(const ItemWriter& to) {
  to.fabric().each_port(to.device(), [&](PortIndex port) {
    const PortStates::State state = to.view.states->of(port);
    if (state.is_known()) to.port_sample(port).value(state.*part);
  });
}

/// Whether a device answered. One that is gone did not. One of which no counters were wanted, since it has no link, is silent about that.
void write_up(const ItemWriter& to) {
  using Outcome = DeviceReading::Outcome;
  const DeviceReading* read = to.gone != nullptr ? nullptr : to.reading();
  if (to.gone == nullptr && (read == nullptr || read->outcome == Outcome::unwanted)) return;
  const std::string_view name = to.gone != nullptr ? to.gone->name : to.fabric().name(to.device().node);
  const bool is_up = read != nullptr && (read->outcome == Outcome::read || read->outcome == Outcome::partly);
  to.device_sample().label(to.is_switch() ? "switch" : "hca", name).value(is_up);
}

/// Writes a value of the last reading, or of its sweep.
template <auto of_reading>
void write_of_reading(const ItemWriter& to) {
  if (to.view.reading) to.out.sample().value(of_reading(*to.view.reading));
}

template <std::uint64_t ExporterFacts::*part>
void write_count(const ItemWriter& to) {
  to.out.sample().value(to.view.exporter.*part);
}

void write_twins(const ItemWriter& to) {
  if (!to.view.reading) return;
  std::vector<Guid> twins = to.fabric().twins;
  twins.erase(std::ranges::unique(twins).begin(), twins.end());
  for (const Guid guid : twins) to.out.sample().label("guid", guid).value(1);
}

template <auto value_of>
void write_manager(const ItemWriter& to) {
  if (!to.view.reading || !to.view.managers) return;
  const SweptFabric& fabric = to.fabric();
  for (const auto& manager : to.view.managers->rows) {
    if (!manager.value) continue;
    to.out.sample()
        .label("guid", device_guid(fabric.subnet, manager.port))
        .label("node", fabric.name(fabric.subnet.port(manager.port).node))
        .value(value_of(*manager.value));
  }
}

/// How many findings each check has of each level. A check that was not done has no sample.
void write_findings(const ItemWriter& to) {
  if (to.view.shown_findings() == nullptr) return;
  for (const auto& [check, counts] : to.view.findings->checks) {
    for (std::size_t level = 0; level < counts.size(); ++level)
      to.out.sample().label("check", check).label("level", Findings::levels.at(level)).value(counts.at(level));
  }
}

void write_finding(const ItemWriter& to) {
  const auto& [check, confidence, level, end, other_end] = *to.finding;
  Sample sample = to.out.sample();
  sample.label("check", check).label("level", Findings::levels.at(level)).label("confidence", confidence);
  const auto write = [&](const std::optional<Findings::End>& of, std::string_view guid, std::string_view port, std::string_view node) {
    if (!of) return;
    sample.label(guid, of->guid);
    if (of->port) sample.label(port, *of->port);
    sample.label(node, of->name);
  };
  write(end, "guid", "port", "node");
  write(other_end, "uplink_guid", "uplink_port", "uplink");
  sample.value(1);
}

/// The share of time in which a port waited.
void write_wait(const ItemWriter& to) {
  if (!to.view.waits) return;
  to.each_linked_row([&](const counters::CounterRow& row, PortIndex peer) {
    const float share = (*to.view.waits)[static_cast<std::size_t>(&row - to.view.reading->rows.data())];
    if (!std::isnan(share) && to.has_swept_rate(row.port, peer)) to.port_sample(row.port).value(static_cast<double>(share));
  });
}

/// What is ours of the counters of one kind of devices.
void add_port_families(std::vector<Family>& to, const Exported& exported, Items items) {
  const FamilyGroup of_port = group_of(items, "port_", select_errors, true);
  to.emplace_back(of_port,
                  FamilyColumn{"transmit_wait_ratio", report::gauge("ratio"),
                               "Share of the time between the last two readings in which the port had data and sent none.", write_wait});
  if (!exported.details) return;
  for (std::size_t at = 0; at < counters::columns.size(); ++at) {
    const bool is_ours = counters::columns[at].source == counters::Source::discard_details && exported.names == Names::treydock;
    if (is_ours) to.emplace_back(group_of(items, {}, select_errors), counters::columns[at].field, at, write_port_counter);
  }
  constexpr std::pair<std::string_view, std::string_view> fec_keys[] = {{"fec_corrected_blocks", "port_fec_correctable_block_ctr"},
                                                                        {"fec_uncorrectable_blocks", "port_fec_uncorrectable_block_ctr"},
                                                                        {"fec_corrected_symbols", "port_fec_corrected_symbol_ctr"}};
  for (const auto& [key, field] : fec_keys) to.emplace_back(of_port, key, counters::column_of(field), write_port_counter);
}

constexpr FamilyColumn state_columns[] = {
    {"state", report::gauge(), "1 where the link is up, 0 where it is not.", write_state},
    {"state_id", report::gauge(), "PortState: 1 Down, 2 Initialize, 3 Armed, 4 Active.", write_state_id<&PortStates::State::logical>},
    {"physical_state_id", report::gauge(),
     "PortPhysicalState: 1 Sleep, 2 Polling, 3 Disabled, 4 PortConfigurationTraining, 5 LinkUp, 6 LinkErrorRecovery, 7 Phy Test.",
     write_state_id<&PortStates::State::physical>},
};
constexpr FamilyColumn fabric_columns[] = {
    {"sm_state_id", report::gauge(), "SMState of a subnet manager: 0 NotActive, 1 Discovering, 2 Standby, 3 Master.",
     write_manager<[](const smp::SMInfo& info) { return static_cast<unsigned>(info.sm_state); }>},
    {"sm_priority", report::gauge(), "Priority of a subnet manager.",
     write_manager<[](const smp::SMInfo& info) { return static_cast<unsigned>(info.priority); }>},
    {"duplicate_guid", report::gauge(), "GUIDs that more than one device claims; only the first one has samples.", write_twins},
    {"health_findings", report::gauge(), "Findings of the checks of health between the last two readings.", write_findings},
};
constexpr FamilyColumn own_exporter_columns[] = {
    {"reading_timestamp_seconds", report::gauge("seconds"), "Unix time at which the last reading ended.",
     write_of_reading<[](const Reading& reading) { return seconds(reading.time); }>},
    {"reading_duration_seconds", report::gauge("seconds"), "Time that the last reading took.", write_reading_duration},
    {"sweep_timestamp_seconds", report::gauge("seconds"), "Unix time at which the last sweep ended.",
     write_of_reading<[](const Reading& reading) { return seconds(reading.fabric->time); }>},
    {"sweep_duration_seconds", report::gauge("seconds"), "Time that the last sweep took.",
     write_of_reading<[](const Reading& reading) { return seconds(reading.fabric->took); }>},
    {"sweep_failures", report::gauge(), "What the last sweep could not read.",  // also nodes that did not answer it
     write_of_reading<[](const Reading& reading) { return reading.fabric->failures.size(); }>},
    {"sweeps", report::counter(), "Sweeps of the fabric.", write_count<&ExporterFacts::sweeps>},
    {"failed_rounds", report::counter(), "Sweeps and readings that failed altogether.", write_count<&ExporterFacts::failed_rounds>},
    {"mads_sent", report::counter(), "MADs sent.", write_count<&ExporterFacts::mads_sent>},
    {"build_info", report::gauge(), "The version of this program.",
     [](const ItemWriter& writer) { writer.out.sample().label("version", writer.view.exporter.version).value(1); }},
};

using phy::PortRow;

/// Calls `use` with each external port of a device whose registers were read, and its row.
template <class Use>
void each_port_row(const ItemWriter& to, Use use) {
  if (!to.view.phy) return;
  to.fabric().each_port(to.device(), [&](PortIndex port) {
    if (const PortRow* row = to.view.phy->table.find(port); row != nullptr) use(port, *row);
  });
}

/// A value of a port, or only of one with a link.
template <auto value_of, bool needs_link = false>
void write_of_port(const ItemWriter& to) {
  each_port_row(to, [&](PortIndex port, const PortRow& row) {
    if (needs_link && to.linked_peer(port) == subnet::none) return;
    if (const auto value = value_of(row)) to.port_sample(port).value(*value);
  });
}

/// A value of each lane; with `is_milli` it is in thousandths of the unit that is written.
template <auto values_of, bool is_milli = false>
void write_of_lanes(const ItemWriter& to) {
  constexpr double milli = 1000;
  each_port_row(to, [&](PortIndex port, const PortRow& row) {
    const auto values = values_of(row);
    for (std::size_t lane = 0; lane < values.size(); ++lane) {
      if (!values[lane]) continue;
      to.port_sample(port).label("lane", static_cast<unsigned>(lane)).value(is_milli ? *values[lane] / milli : *values[lane]);
    }
  });
}

void write_histogram(const ItemWriter& to) {
  each_port_row(to, [&](PortIndex port, const PortRow& row) {
    if (!row.has(phy::Part::histogram) || !row.histogram) return;
    unsigned number = 0;
    for (const phy::HistogramBin& bin : *row.histogram) {
      const std::string range = bin.low == bin.high ? std::to_string(bin.low) : fmt::format("{}-{}", bin.low, bin.high);
      to.port_sample(port).label("bin", number++).label("symbols", range).value(bin.count);
    }
  });
}

void write_module_info(const ItemWriter& to) {
  each_port_row(to, [&](PortIndex port, const PortRow& row) {
    if (!row.has_module()) return;
    to.port_sample(port)
        .label("vendor", phy::padded_text(row.module.vendor))
        .label("part_number", phy::padded_text(row.module.part_number))
        .label("serial_number", phy::padded_text(row.module.serial_number))
        .label("firmware_version", phy::module_firmware(row))
        .value(1);
  });
}

/// A counter of physical errors.
template <auto PortRow::*part>
std::optional<std::uint64_t> physical(const PortRow& row) {
  return row.has(phy::Part::physical) ? std::optional<std::uint64_t>(row.*part) : std::nullopt;
}

constexpr FamilyColumn port_columns[] = {
    {"raw_ber", report::gauge(), "Bit error ratio before FEC since its counters were cleared.", write_of_port<phy::raw_ber, true>},
    {"effective_ber", report::gauge(), "Bit error ratio after FEC.", write_of_port<phy::effective_ber, true>},
    {"symbol_ber", report::gauge(), "Symbol error ratio after FEC and retransmission.", write_of_port<phy::symbol_ber, true>},
    {"ber_seconds", report::gauge("seconds"), "Time since the counters of the bit error ratios were cleared.",
     write_of_port<phy::seconds_since_clear, true>},
    {"rs_fec_corrected_blocks", report::counter(), "Blocks that FEC corrected, by registers.",
     write_of_port<physical<&PortRow::corrected_blocks>, true>},
    {"rs_fec_uncorrectable_blocks", report::counter(), "Blocks that FEC could not correct, by registers.",
     write_of_port<physical<&PortRow::uncorrectable_blocks>, true>},
    {"rs_fec_blocks", report::counter(), "Blocks by how many of their symbols had errors.", write_histogram},
    {"module_temperature_celsius", report::gauge("celsius"), "Temperature of the module.", write_of_port<phy::module_temperature>},
    {"module_rx_power_dbm", report::gauge("dbm"), "Received optical power of a lane in dBm.", write_of_lanes<phy::rx_power_dbm>},
    {"module_tx_power_dbm", report::gauge("dbm"), "Sent optical power of a lane in dBm.", write_of_lanes<phy::tx_power_dbm>},
    {"module_bias_amperes", report::gauge("amperes"), "Bias current of the laser of a lane.",
     write_of_lanes<[](const PortRow& row) { return phy::bias_milliamperes(row); }, true>},
    {"module_info", report::gauge(), "The module or cable in the cage of the port.", write_module_info},
};

/// The sensors, the fans and the board of a switch; empty if they were not read.
const phy::EnvironmentRow& environment_of(const ItemWriter& to) {
  static const phy::EnvironmentRow unread;
  const phy::EnvironmentRow* row = to.view.phy ? to.view.phy->table.environment(to.device().node) : nullptr;
  return row != nullptr ? *row : unread;
}

/// The temperature of the ASIC.
void write_temperature(const ItemWriter& to) {
  for (const phy::Sensor& sensor : environment_of(to).sensors) {
    if (sensor.index == 0 && sensor.celsius) to.device_sample().value(*sensor.celsius);
  }
}

void write_sensors(const ItemWriter& to) {
  for (const phy::Sensor& sensor : environment_of(to).sensors) {
    if (sensor.celsius) to.device_sample().label("sensor", unsigned{sensor.index}).label("name", sensor.name).value(*sensor.celsius);
  }
}

void write_fans(const ItemWriter& to) {
  for (const phy::Fan& fan : environment_of(to).fans) {
    if (fan.rpm) to.device_sample().label("fan", unsigned{fan.index}).value(*fan.rpm);
  }
}

/// The fans taken together: not well if one is below its limit, and nothing if that is not known of any.
void write_fan_status(const ItemWriter& to) {
  bool is_known = false, is_slow = false;
  for (const phy::Fan& fan : environment_of(to).fans) {
    is_known = is_known || fan.is_below_limit;
    is_slow = is_slow || fan.is_below_limit.value_or(false);
  }
  if (is_known) to.device_sample().label("status", is_slow ? "ERROR" : "OK").value(1);
}

const phy::Firmware* firmware_of(const ItemWriter& to) { return to.view.phy ? to.view.phy->table.firmware(to.device().node) : nullptr; }

void write_hardware(const ItemWriter& to) {
  const phy::Firmware* firmware = firmware_of(to);
  if (firmware == nullptr) return;
  const phy::EnvironmentRow& board = environment_of(to);
  to.device_sample()
      .label("firmware_version", firmware->version)
      .label("psid", firmware->psid)
      .label("part_number", board.part_number)
      .label("serial_number", board.serial_number)
      .label("switch", to.fabric().name(to.device().node))
      .value(1);
}

void write_uptime(const ItemWriter& to) {
  if (const phy::Firmware* firmware = firmware_of(to)) to.device_sample().value(firmware->uptime_seconds);
}

template <auto of_phy>
void write_of_phy(const ItemWriter& to) {
  if (to.view.phy && to.view.reading) to.out.sample().value(of_phy(*to.view.phy));
}

constexpr FamilyColumn switch_columns[] = {
    {"hardware_info", report::gauge(), "Firmware and board of the switch.", write_hardware},
    {"uptime_seconds", report::gauge("seconds"), "Time since the firmware started.", write_uptime},
    {"temperature_celsius", report::gauge("celsius"), "Temperature of the ASIC.", write_temperature},
    {"sensor_temperature_celsius", report::gauge("celsius"), "Temperature of a sensor.", write_sensors},
    {"fan_status_info", report::gauge(), "Whether all fans are above their limit: OK or ERROR.", write_fan_status},
    {"fan_rpm", report::gauge("rpm"), "Turns of a fan in a minute.", write_fans},
};
constexpr FamilyColumn reading_columns[] = {
    {"phy_timestamp_seconds", report::gauge("seconds"), "Unix time at which the last reading of registers ended.",
     write_of_phy<[](const PhyReading& phy) { return seconds(phy.time); }>},
    {"phy_duration_seconds", report::gauge("seconds"), "Time that the last reading of registers took.",
     write_of_phy<[](const PhyReading& phy) { return seconds(phy.took); }>},
};

}  // namespace

void add_own_families(std::vector<Family>& to, const Exported& exported) {
  add_families(to, {"infiniband_switch_port_", Items::switches, select_switch}, state_columns);
  const auto add_up = [&to](Items items, std::string_view meaning) {
    FamilyGroup group = group_of(items);
    group.has_gone = true;
    to.emplace_back(std::move(group), FamilyColumn{"up", report::gauge(), meaning, write_up});
  };
  add_up(Items::switches, "1 if the counters of the switch were read in the last reading.");
  if (exported.hcas) add_up(Items::hcas, "1 if the counters of the port were read in the last reading.");
  add_port_families(to, exported, Items::switches);
  if (exported.hcas) add_port_families(to, exported, Items::hcas);
  add_families(to, {"infiniband_", Items::exporter}, fabric_columns);
  to.emplace_back(FamilyGroup{"infiniband_", Items::findings},
                  FamilyColumn{"health_finding_info", report::gauge(), "A finding: its check, and both ends of its cable.", write_finding});
  add_families(to, {"infiniband_exporter_", Items::exporter}, own_exporter_columns);
}

void add_phy_families(std::vector<Family>& to, const Exported& exported) {
  if (!exported.phy) return;
  add_families(to, group_of(Items::switches, "port_", select_errors, true), port_columns);
  if (exported.hcas) add_families(to, group_of(Items::hcas, "port_", select_errors, true), port_columns);
  add_families(to, group_of(Items::switches, {}, 0, true), switch_columns);
  add_families(to, {"infiniband_exporter_", Items::exporter}, reading_columns);
}

}  // namespace ib::metrics
