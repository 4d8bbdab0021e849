// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/escape.hpp"
#include "phy/reading.hpp"

namespace ib::phy {
namespace {

/// What a value can be.
struct ValueRange {
  double least, greatest;
  std::string_view unit, source;
};
// But for the two magnitudes that say that no error was seen:
constexpr ValueRange ber_magnitude{0, 40, "", "scripts of operators: greater magnitudes mean that nothing was measured"};
constexpr ValueRange module_temperatures{-50, 130, "C", "SFF-8472, CMIS: the range of modules is at most -40 to 125 C"};
constexpr ValueRange sensor_temperatures{-50, 150, "C", "an ASIC shuts down far below"};
constexpr ValueRange module_voltages{1000, 6500, "mV", "SFF-8472, CMIS: a module has 3.3 V, and the field ends at 6.55 V"};
constexpr ValueRange optical_powers{-40, 20, "dBm", "CMIS: -40 dBm is no light; recordings have -999 for none"};
constexpr ValueRange bias_currents{0, 500, "mA", "CMIS: 131 mA times a scale of at most 4"};
constexpr ValueRange cable_lengths{0.1, 10000, "m", "CMIS: at most 6300 m; 0 means that it is not given"};
constexpr ValueRange fan_speeds{0, 60000, "rpm", "65535 is all ones"};

std::optional<double> within(double value, const ValueRange& of) {
  if (value < of.least || value > of.greatest) return {};
  return value;
}

double as_signed(std::uint16_t raw) { return static_cast<double>(static_cast<std::int16_t>(raw)); }

bool has_cmis(reg::ModuleIdentifier identifier) {
  using enum reg::ModuleIdentifier;
  constexpr std::array cmis{sfp_dd, qsfp_dd, qsfp_cmis, osfp, dsfp};
  return std::ranges::find(cmis, identifier) != cmis.end();
}

constexpr std::uint16_t no_trouble = 0, no_information = 1023;

constexpr std::string_view both_ends = "Compare speed, FEC and firmware of both ends; reseat the cable, then replace it.";
constexpr std::string_view signal =
    "Clean and reseat both ends of the cable; replace the cable, then the module at the end with the weaker light.";
constexpr std::string_view supported = "Replace the cable or module with one that the device supports, or update its firmware.";

struct TroubleGroup {
  std::uint16_t first, last;
  std::string_view text, remedy;
};
constexpr std::array groups{
    TroubleGroup{1, 1, "", "Open the port: ibportstate enable, or in the configuration of the switch."},
    TroubleGroup{2, 4, "negotiation failed", both_ends},
    TroubleGroup{5, 8, "link training failed", signal},
    TroubleGroup{9, 13, "logical mismatch", both_ends},
    TroubleGroup{14, 14, "", "Look at the other end of the link, which reports the fault."},
    TroubleGroup{15, 15, "", signal},
    TroubleGroup{16, 16, "", supported},
    TroubleGroup{17, 17, "bad signal integrity", signal},
    TroubleGroup{23, 23, "", "Reset the port; if it fails again, replace the module."},
    TroubleGroup{24, 32, "cable and port do not match", supported},
    TroubleGroup{34, 35, "speed degraded", signal},
    TroubleGroup{36, 39, "negotiation failed", both_ends},
    TroubleGroup{42, 42, "bad signal integrity", signal},
    TroubleGroup{48, 49, "bad signal integrity", signal},
    TroubleGroup{52, 52, "bad signal integrity", signal},
    TroubleGroup{56, 56, "", "Replace the module."},
    TroubleGroup{57, 57, "", "Check that the cable is plugged in at both ends, and that the other end sends light."},
    TroubleGroup{60, 60, "", "Check that the other end is powered on and its port open."},
    TroubleGroup{70, 70, "", signal},
    TroubleGroup{1024, 1024, "", "Plug the cable in, or reseat it."},
    TroubleGroup{1025, 1025, "", supported},
    TroubleGroup{1026, 1026, "", "Reseat the module; if the bus stays stuck, replace it."},
    TroubleGroup{1027, 1029, "", supported},
    TroubleGroup{1030, 1030, "", "Check the airflow and the temperature of the module, then reset it."},
    TroubleGroup{1031, 1031, "", "Replace the cable."},
    TroubleGroup{1032, 1032, "", "Use a module of a lower power class, or another cage."},
    TroubleGroup{1033, 1034, "", "Enable the port or module in the configuration of the device."},
    TroubleGroup{1042, 1054, "the module does not start", "Reset or reseat the module; update its firmware."},
    TroubleGroup{1055, 1063, "fault of the external laser", "Check the external laser source and its fibre."},
};

const TroubleGroup* group_of(std::uint16_t code) {
  const auto* const found =
      std::ranges::find_if(groups, [=](const TroubleGroup& group) { return code >= group.first && code <= group.last; });
  return found != groups.end() ? &*found : nullptr;
}

class Collector {
 public:
  /// Adds a number of 16 bits if it has no value. Zero is not a measurement.
  void add(std::string key, std::uint16_t raw, const std::optional<double>& value, const ValueRange& range) {
    if (raw != 0 && !value) add(std::move(key), fmt::format("0x{:04x}", raw), raw == all_ones ? "all ones" : words_of(range));
  }
  void add(std::string key, BitErrorRatio ber) {
    if (ber == BitErrorRatio{} || ratio(ber)) return;
    add(std::move(key), fmt::format("coefficient 0x{:02x}, magnitude 0x{:02x}", ber.coefficient, ber.magnitude), words_of(ber_magnitude));
  }
  void add_ones(std::string key, Bytes bytes) {
    const auto is_ones = [](std::uint8_t byte) { return byte == 0xff; };
    if (std::ranges::all_of(bytes, is_ones)) add(std::move(key), "0x" + hex_text(bytes), "all ones");
  }
  std::vector<ImpossibleValue> take() { return std::move(found_); }

 private:
  static std::string words_of(const ValueRange& range) {
    const std::string unit = range.unit.empty() ? std::string() : fmt::format(" {}", range.unit);
    return fmt::format("not from {:g} to {:g}{} ({})", range.least, range.greatest, unit, range.source);
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
    found.add("module.temperature_celsius", module.temperature, module_celsius(module.temperature), module_temperatures);
  if (measures(monitors::voltage))
    found.add("module.voltage_millivolts", module.voltage, module_millivolts(module.voltage), module_voltages);
  for (std::size_t lane = 0; lane < std::min<std::size_t>(row.active_lanes, lanes); ++lane) {
    const std::uint16_t rx = module.rx_power.at(lane), tx = module.tx_power.at(lane), bias = module.bias.at(lane);
    if (measures(monitors::rx_power)) found.add(fmt::format("module.rx_power_dbm[{}]", lane), rx, module_dbm(rx), optical_powers);
    if (measures(monitors::tx_power)) found.add(fmt::format("module.tx_power_dbm[{}]", lane), tx, module_dbm(tx), optical_powers);
    if (measures(monitors::tx_bias))
      found.add(fmt::format("module.bias_milliamperes[{}]", lane), bias, bias_milliamperes(bias, module.scale), bias_currents);
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
  found.add("module.temperature_alarm_celsius", module.temperature_high, module_celsius(module.temperature_high), module_temperatures);
  found.add("module.power_low_alarm_dbm", module.rx_power_low, module_dbm(module.rx_power_low), optical_powers);
  found.add("module.power_high_alarm_dbm", module.rx_power_high, module_dbm(module.rx_power_high), optical_powers);
}

}  // namespace

std::optional<double> ratio(BitErrorRatio ber) {
  constexpr std::uint8_t no_error = 254, no_error_either = 255;
  if (ber.magnitude == no_error || ber.magnitude == no_error_either) return 0;
  if (ber == BitErrorRatio{} || !within(ber.magnitude, ber_magnitude)) return {};
  return ber.coefficient / std::pow(10, ber.magnitude);  // the quotient is rounded once
}

std::optional<double> module_celsius(std::uint16_t raw) {
  if (raw == 0 || raw == all_ones) return {};  // a module that measures nothing
  return within(as_signed(raw) / 256, module_temperatures);
}
std::optional<double> sensor_celsius(std::uint16_t raw) {
  if (raw == all_ones) return {};
  return within(as_signed(raw) / 8, sensor_temperatures);
}
std::optional<double> module_millivolts(std::uint16_t raw) { return within(raw / 10.0, module_voltages); }
std::optional<double> module_dbm(std::uint16_t raw) { return within(as_signed(raw), optical_powers); }

std::optional<double> bias_milliamperes(std::uint16_t raw, reg::BiasScale scale) {
  const auto exponent = static_cast<unsigned>(scale);
  if (exponent > static_cast<unsigned>(reg::BiasScale::four)) return {};
  return within(static_cast<double>(raw << exponent) / 500, bias_currents);
}

std::optional<double> cable_meters(std::uint8_t raw, reg::ModuleIdentifier identifier) {
  if (!has_cmis(identifier)) return raw == 255 ? std::nullopt : within(raw, cable_lengths);  // 255: longer than the field can say
  constexpr std::array decimeters{1, 10, 100, 1000};
  return within((raw & 0x3f) * decimeters.at(raw >> 6) / 10.0, cable_lengths);
}

std::optional<unsigned> fan_rpm(std::uint16_t raw) {
  if (!within(raw, fan_speeds)) return {};
  return raw;
}

Firmware firmware_of(const mlx::Is4GeneralInfo& info) {
  const bool is_extended = (info.ext_major | info.ext_minor | info.ext_sub_minor) != 0;
  return {.hardware_revision = info.hw_revision,
          .device_id = info.device_id,
          .psid = padded_text(info.fw_psid),
          .version = is_extended ? fmt::format("{}.{}.{:04}", info.ext_major, info.ext_minor, info.ext_sub_minor)
                                 : fmt::format("{}.{}.{}", info.fw_major, info.fw_minor, info.fw_sub_minor),
          .uptime_seconds = info.uptime};
}

std::string padded_text(Bytes bytes) {
  if (std::ranges::all_of(bytes, [](std::uint8_t byte) { return byte == 0xff; })) return {};
  const auto* const end = std::ranges::find(bytes, std::uint8_t{0}).base();
  std::string text(bytes.data() == nullptr ? "" : reinterpret_cast<const char*>(bytes.data()),
                   static_cast<std::size_t>(end - bytes.data()));
  text.erase(text.find_last_not_of(' ') + 1);
  return text;
}

std::string_view trouble_text(std::uint16_t code) {
  const std::string_view exact = reg::to_text(static_cast<reg::LinkTrouble>(code));
  const TroubleGroup* group = group_of(code);
  return exact.empty() && group != nullptr ? group->text : exact;
}

std::string_view remedy(std::uint16_t code) {
  const TroubleGroup* group = group_of(code);
  return group != nullptr ? group->remedy : std::string_view{};
}

bool is_trouble(std::uint16_t code) { return code != no_trouble && code != no_information; }

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
    found.add(name + "temperature_celsius", sensor.raw_celsius, sensor.celsius, sensor_temperatures);
    found.add(name + "max_celsius", sensor.raw_greatest, sensor.greatest, sensor_temperatures);
    found.add(name + "limit_celsius", sensor.raw_limit, sensor.limit, sensor_temperatures);
  }
  for (const Fan& fan : row.fans) {
    const std::optional<double> rpm = fan.rpm ? std::optional<double>(*fan.rpm) : std::nullopt;
    found.add(fmt::format("fan {}: rpm", fan.index), fan.raw_rpm, rpm, fan_speeds);
  }
  return found.take();
}

}  // namespace ib::phy
