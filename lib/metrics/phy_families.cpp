// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The physical layer: bit error ratios, FEC, modules, and temperatures and fans of switches. What switches have by the names of treydock's
// collector for ibswinfo has these. A port that the last reading of registers did not read has no sample.
#include <fmt/format.h>

#include <optional>

#include "metrics/families.hpp"

namespace ib::metrics {
namespace {

using phy::PortRow;

/// Calls `use` with each external port of a device whose registers were read, and its row.
template <class Use>
void each_port_row(const ItemWriter& to, Use use) {
  if (!to.view.phy) return;
  to.fabric().each_port(to.device(), [&](subnet::PortIndex port) {
    if (const PortRow* row = to.view.phy->table.find(port); row != nullptr) use(port, *row);
  });
}

/// A value of a port, or only of one with a link.
template <auto value_of, bool needs_link = false>
void write_of_port(const ItemWriter& to) {
  each_port_row(to, [&](subnet::PortIndex port, const PortRow& row) {
    if (needs_link && to.linked_peer(port) == subnet::none) return;
    if (const auto value = value_of(row)) to.port_sample(port).value(*value);
  });
}

/// A value of each lane; with `is_milli` it is in thousandths of the unit that is written.
template <auto values_of, bool is_milli = false>
void write_of_lanes(const ItemWriter& to) {
  constexpr double milli = 1000;
  each_port_row(to, [&](subnet::PortIndex port, const PortRow& row) {
    const auto values = values_of(row);
    for (std::size_t lane = 0; lane < values.size(); ++lane) {
      if (!values[lane]) continue;
      to.port_sample(port).label("lane", static_cast<unsigned>(lane)).value(is_milli ? *values[lane] / milli : *values[lane]);
    }
  });
}

void write_histogram(const ItemWriter& to) {
  each_port_row(to, [&](subnet::PortIndex port, const PortRow& row) {
    if (!row.has(phy::Part::histogram) || !row.histogram) return;
    unsigned number = 0;
    for (const phy::HistogramBin& bin : *row.histogram) {
      const std::string range = bin.low == bin.high ? std::to_string(bin.low) : fmt::format("{}-{}", bin.low, bin.high);
      to.port_sample(port).label("bin", number++).label("symbols", range).value(bin.count);
    }
  });
}

void write_module_info(const ItemWriter& to) {
  each_port_row(to, [&](subnet::PortIndex port, const PortRow& row) {
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

Sample device_sample(const ItemWriter& to) {
  Sample sample = to.out.sample();
  sample.label("guid", to.guid());
  return sample;
}

/// The temperature of the ASIC.
void write_temperature(const ItemWriter& to) {
  for (const phy::Sensor& sensor : environment_of(to).sensors) {
    if (sensor.index == 0 && sensor.celsius) device_sample(to).value(*sensor.celsius);
  }
}

void write_sensors(const ItemWriter& to) {
  for (const phy::Sensor& sensor : environment_of(to).sensors) {
    if (sensor.celsius) device_sample(to).label("sensor", unsigned{sensor.index}).label("name", sensor.name).value(*sensor.celsius);
  }
}

void write_fans(const ItemWriter& to) {
  for (const phy::Fan& fan : environment_of(to).fans) {
    if (fan.rpm) device_sample(to).label("fan", unsigned{fan.index}).value(*fan.rpm);
  }
}

/// The fans taken together: not well if one is below its limit, and nothing if that is not known of any.
void write_fan_status(const ItemWriter& to) {
  bool is_known = false, is_slow = false;
  for (const phy::Fan& fan : environment_of(to).fans) {
    is_known = is_known || fan.is_below_limit;
    is_slow = is_slow || fan.is_below_limit.value_or(false);
  }
  if (is_known) device_sample(to).label("status", is_slow ? "ERROR" : "OK").value(1);
}

const phy::Firmware* firmware_of(const ItemWriter& to) { return to.view.phy ? to.view.phy->table.firmware(to.device().node) : nullptr; }

void write_hardware(const ItemWriter& to) {
  const phy::Firmware* firmware = firmware_of(to);
  if (firmware == nullptr) return;
  const phy::EnvironmentRow& board = environment_of(to);
  device_sample(to)
      .label("firmware_version", firmware->version)
      .label("psid", firmware->psid)
      .label("part_number", board.part_number)
      .label("serial_number", board.serial_number)
      .label("switch", to.fabric().name(to.device().node))
      .value(1);
}

void write_uptime(const ItemWriter& to) {
  if (const phy::Firmware* firmware = firmware_of(to)) device_sample(to).value(firmware->uptime_seconds);
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

void add_phy_families(std::vector<Family>& to, const Exported& exported) {
  if (!exported.phy) return;
  add_families(to, group_of(Items::switches, "port_", select_errors, true), port_columns);
  if (exported.hcas) add_families(to, group_of(Items::hcas, "port_", select_errors, true), port_columns);
  add_families(to, group_of(Items::switches, {}, 0, true), switch_columns);
  add_families(to, {"infiniband_exporter_", Items::exporter}, reading_columns);
}

}  // namespace ib::metrics
