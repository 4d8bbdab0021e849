// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "phy/reading.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "base/escape.hpp"

namespace ib::phy {
namespace {

class Collector {
 public:
  /// Adds a number of 16 bits if it has no value. Zero is not a measurement.
  void add(std::string key, std::uint16_t raw, const std::optional<double>& value, Quantity quantity) {
    if (raw != 0 && !value) add(std::move(key), fmt::format("0x{:04x}", raw), raw == all_ones ? "all ones" : range_of(quantity));
  }
  void add(std::string key, BitErrorRatio ber) {
    if (ber == BitErrorRatio{} || ratio(ber)) return;
    add(std::move(key), fmt::format("coefficient 0x{:02x}, magnitude 0x{:02x}", ber.coefficient, ber.magnitude),
        range_of(Quantity::ber_magnitude));
  }
  void add_ones(std::string key, Bytes bytes) {
    const auto is_ones = [](std::uint8_t byte) { return byte == 0xff; };
    if (std::ranges::all_of(bytes, is_ones)) add(std::move(key), "0x" + hex_text(bytes), "all ones");
  }
  std::vector<ImpossibleValue> take() { return std::move(found_); }

 private:
  static std::string range_of(Quantity quantity) {
    const ValueRange& limits = limits_of(quantity);
    const std::string unit = limits.unit.empty() ? std::string() : fmt::format(" {}", limits.unit);
    return fmt::format("not from {:g} to {:g}{} ({})", limits.least, limits.greatest, unit, limits.source);
  }
  void add(std::string key, std::string bytes, std::string why) { found_.push_back({std::move(key), std::move(bytes), std::move(why)}); }

  std::vector<ImpossibleValue> found_;
};

void collect_ratios(const PortRow& row, Collector& found) {
  found.add("raw_ber", row.raw_ber);
  found.add("effective_ber", row.effective_ber);
  found.add("symbol_ber", row.symbol_ber);
  for (std::size_t lane = 0; lane < row.lane_ber.size(); ++lane) found.add(fmt::format("lanes[{}].raw_ber", lane), row.lane_ber.at(lane));
}

/// What a module measures, as far as it says that it does.
void collect_measurements(const PortRow& row, Collector& found) {
  namespace monitors = reg::monitor_capabilities;
  const Module& module = row.module;
  const auto measures = [&module](std::uint8_t quantity) { return (module.monitored & quantity) != 0; };
  if (measures(monitors::temperature))
    found.add("module.temperature_celsius", module.temperature, module_celsius(module.temperature), Quantity::module_temperature);
  if (measures(monitors::voltage))
    found.add("module.voltage_millivolts", module.voltage, module_millivolts(module.voltage), Quantity::module_voltage);
  for (std::size_t lane = 0; lane < std::min<std::size_t>(row.active_lanes, lanes); ++lane) {
    const std::uint16_t rx = module.rx_power.at(lane), tx = module.tx_power.at(lane), bias = module.bias.at(lane);
    if (measures(monitors::rx_power)) found.add(fmt::format("module.rx_power_dbm[{}]", lane), rx, module_dbm(rx), Quantity::optical_power);
    if (measures(monitors::tx_power)) found.add(fmt::format("module.tx_power_dbm[{}]", lane), tx, module_dbm(tx), Quantity::optical_power);
    if (measures(monitors::tx_bias))
      found.add(fmt::format("module.bias_milliamperes[{}]", lane), bias, bias_milliamperes(bias, module.scale), Quantity::bias_current);
  }
}

void collect_module(const PortRow& row, Collector& found) {
  const Module& module = row.module;
  found.add_ones("module.vendor", module.vendor);
  found.add_ones("module.part_number", module.part_number);
  found.add_ones("module.hardware_revision", module.revision);
  found.add_ones("module.serial_number", module.serial_number);
  const std::array<std::uint8_t, 1> length{module.length};
  if (!cable_meters(module.length, module.identifier)) found.add_ones("module.length_meters", length);
  collect_measurements(row, found);
  found.add("module.temperature_alarm_celsius", module.temperature_high, module_celsius(module.temperature_high),
            Quantity::module_temperature);
  found.add("module.power_low_alarm_dbm", module.rx_power_low, module_dbm(module.rx_power_low), Quantity::optical_power);
  found.add("module.power_high_alarm_dbm", module.rx_power_high, module_dbm(module.rx_power_high), Quantity::optical_power);
}

}  // namespace

std::vector<ImpossibleValue> impossible_values(const PortRow& row) {
  Collector found;
  if (row.has(Part::statistics)) collect_ratios(row, found);
  if (row.has_module()) collect_module(row, found);
  return found.take();
}

std::vector<ImpossibleValue> impossible_values(const EnvironmentRow& row) {
  Collector found;
  for (const Sensor& sensor : row.sensors) {
    const std::string name = fmt::format("sensor {}: ", sensor.index);
    found.add(name + "temperature_celsius", sensor.raw_celsius, sensor.celsius, Quantity::sensor_temperature);
    found.add(name + "max_celsius", sensor.raw_greatest, sensor.greatest, Quantity::sensor_temperature);
    found.add(name + "limit_celsius", sensor.raw_limit, sensor.limit, Quantity::sensor_temperature);
  }
  for (const Fan& fan : row.fans) {
    const std::optional<double> rpm = fan.rpm ? std::optional<double>(*fan.rpm) : std::nullopt;
    found.add(fmt::format("fan {}: rpm", fan.index), fan.raw_rpm, rpm, Quantity::fan_speed);
  }
  return found.take();
}

}  // namespace ib::phy
