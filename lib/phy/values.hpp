// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Values of registers in the units and words of people. No raw register of a real device is public, so each value is checked against what
// it can be: a value that a module, a sensor or a link cannot have is not known. limits_of() has the one table of these limits.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/bytes.hpp"
#include "iba-gen/mlx.hpp"
#include "iba-gen/reg.hpp"

namespace ib::phy {

enum class Quantity : std::uint8_t {
  ber_magnitude,  ///< but for the two that say that no error was seen
  module_temperature,
  sensor_temperature,
  module_voltage,
  optical_power,
  bias_current,
  cable_length,
  fan_speed,
};
struct ValueRange {
  double least, greatest;
  std::string_view unit, source;
};
inline constexpr std::uint16_t all_ones = 0xffff;  ///< as a temperature: nothing is measured
const ValueRange& limits_of(Quantity quantity);

/// A bit error ratio as registers have it: coefficient × 10^−magnitude. Both zero: the register was not read, or holds nothing.
struct BitErrorRatio {
  std::uint8_t coefficient{}, magnitude{};
  bool operator==(const BitErrorRatio&) const = default;
};

/// The ratio; 0 where the device says that it has seen no error (magnitudes 254 and 255). Nothing if it is not known.
std::optional<double> ratio(BitErrorRatio ber);

/// Degrees Celsius of a module, from 1/256 C, and of a sensor of a device, from 1/8 C.
std::optional<double> module_celsius(std::uint16_t raw);
std::optional<double> sensor_celsius(std::uint16_t raw);
/// Millivolts from 100 µV.
std::optional<double> module_millivolts(std::uint16_t raw);
/// Optical power in dBm, from whole dBm.
std::optional<double> module_dbm(std::uint16_t raw);
/// Milliamperes from 2 µA times `scale`.
std::optional<double> bias_milliamperes(std::uint16_t raw, reg::BiasScale scale);
/// The length of a cable, or the greatest reach of a module, in metres. Modules with CMIS have it with a power of ten.
std::optional<double> cable_meters(std::uint8_t raw, reg::ModuleIdentifier identifier);
std::optional<unsigned> fan_rpm(std::uint16_t raw);

struct Firmware {
  std::uint16_t hardware_revision{}, device_id{};
  std::string psid;     ///< empty if there is none; not escaped
  std::string version;  ///< "31.2012.1024"
  std::uint32_t uptime_seconds{};
};
Firmware firmware_of(const mlx::Is4GeneralInfo& info);

/// A text that is padded with blanks or zeros, without them; empty if nothing is left, or if it is all ones. Untrusted bytes: escape them
/// before printing.
std::string padded_text(Bytes bytes);

// Why a link is down, or in trouble: the codes of PDDR page 1 (monitor_opcode) in words, and what to do.

/// The code in words. Codes that are only known by their group have the words of the group. Empty for an unknown code.
std::string_view trouble_text(std::uint16_t code);

/// What to do, as a sentence. Empty where there is nothing to do, or nothing is known.
std::string_view remedy(std::uint16_t code);

/// Whether a code says that something is wrong: neither no trouble, nor no information.
bool is_trouble(std::uint16_t code);

}  // namespace ib::phy
