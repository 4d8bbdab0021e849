// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "phy/values.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <string_view>

namespace ib::phy {
namespace {

/// The least and the greatest value that a quantity can have.
struct Limits {
  double least, greatest;
  std::string_view source;
};
constexpr Limits magnitude_range{0, 40, "scripts of operators: greater magnitudes mean that nothing was measured"};
constexpr Limits module_range{-50, 130, "SFF-8472, CMIS: the range of modules is at most -40 to 125 C"};
constexpr Limits sensor_range{-50, 150, "an ASIC shuts down far below"};
constexpr Limits supply_range{1000, 6500, "SFF-8472, CMIS: a module has 3.3 V, and the field ends at 6.55 V"};
constexpr Limits power_range{-40, 20, "CMIS: -40 dBm is no light; recordings have -999 for none"};
constexpr Limits bias_range{0, 500, "CMIS: 131 mA times a scale of at most 4"};
constexpr Limits length_range{0.1, 10000, "CMIS: at most 6300 m; 0 means that it is not given"};
constexpr Limits fan_range{0, 60000, "65535 is all ones"};

std::optional<double> within(double value, const Limits& limits) {
  if (value < limits.least || value > limits.greatest) return {};
  return value;
}

double as_signed(std::uint16_t raw) { return static_cast<double>(static_cast<std::int16_t>(raw)); }

/// Whether a module's memory is as CMIS has it.
bool has_cmis(reg::ModuleIdentifier identifier) {
  using enum reg::ModuleIdentifier;
  constexpr std::array cmis{sfp_dd, qsfp_dd, qsfp_cmis, osfp, dsfp};
  return std::ranges::find(cmis, identifier) != cmis.end();
}

}  // namespace

std::optional<double> ratio(BitErrorRatio ber) {
  constexpr std::uint8_t no_error = 254, no_error_either = 255;
  if (ber.magnitude == no_error || ber.magnitude == no_error_either) return 0;
  if (ber == BitErrorRatio{} || !within(ber.magnitude, magnitude_range)) return {};
  return ber.coefficient / std::pow(10, ber.magnitude);  // the quotient is rounded once
}

std::optional<double> module_celsius(std::uint16_t raw) {
  if (raw == 0) return {};  // a module that measures nothing
  return within(as_signed(raw) / 256, module_range);
}
std::optional<double> sensor_celsius(std::uint16_t raw) { return within(as_signed(raw) / 8, sensor_range); }
std::optional<double> module_millivolts(std::uint16_t raw) { return within(raw / 10.0, supply_range); }
std::optional<double> module_dbm(std::uint16_t raw) { return within(as_signed(raw), power_range); }

std::optional<double> bias_milliamperes(std::uint16_t raw, reg::BiasScale scale) {
  const auto exponent = static_cast<unsigned>(scale);
  if (exponent > static_cast<unsigned>(reg::BiasScale::four)) return {};
  return within(static_cast<double>(raw << exponent) / 500, bias_range);
}

std::optional<double> cable_meters(std::uint8_t raw, reg::ModuleIdentifier identifier) {
  if (!has_cmis(identifier)) return raw == 255 ? std::nullopt : within(raw, length_range);  // 255: longer than the field can say
  constexpr std::array decimeters{1, 10, 100, 1000};
  return within((raw & 0x3f) * decimeters.at(raw >> 6) / 10.0, length_range);
}

std::optional<unsigned> fan_rpm(std::uint16_t raw) {
  if (!within(raw, fan_range)) return {};
  return raw;
}

std::string padded_text(Bytes bytes) {
  if (std::ranges::all_of(bytes, [](std::uint8_t byte) { return byte == 0xff; })) return {};
  const auto* const end = std::ranges::find(bytes, std::uint8_t{0}).base();
  std::string text(bytes.data() == nullptr ? "" : reinterpret_cast<const char*>(bytes.data()),
                   static_cast<std::size_t>(end - bytes.data()));
  text.erase(text.find_last_not_of(' ') + 1);
  return text;
}

}  // namespace ib::phy
