// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The physical layer of one port in a flat row: link, bit errors, FEC, why it is down, and the module in its cage. The row keeps the
// numbers of the registers; the functions give them in units, or nothing where a value was not read or cannot be.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.hpp"
#include "iba-gen/mlx.hpp"
#include "iba-gen/reg.hpp"
#include "report/columns.hpp"
#include "subnet/model/model.hpp"

namespace ib::phy {

using subnet::NodeIndex;
using subnet::PortIndex;

// Values of registers in the units and words of people. No raw register of a real device is public, so each value is checked against what
// it can be: a value that a module, a sensor or a link cannot have is not known. values.cpp has the one table of these limits.

inline constexpr std::uint16_t all_ones = 0xffff;  ///< as a temperature: nothing is measured

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

inline constexpr std::size_t lanes = 8;  ///< that a register has room for

enum class Part : std::uint8_t { operation, troubleshooting, module, link_down, physical, statistics, histogram_bins, histogram };

struct Module {
  std::array<std::uint8_t, 16> vendor{}, part_number{}, serial_number{};
  std::array<std::uint8_t, 4> revision{};
  std::uint32_t firmware{};
  std::array<std::uint16_t, lanes> rx_power{}, tx_power{}, bias{};
  std::uint16_t temperature{}, voltage{}, temperature_high{}, rx_power_low{}, rx_power_high{}, tx_power_low{}, tx_power_high{};
  reg::ModuleIdentifier identifier{};
  reg::ModuleType type{};
  reg::BiasScale scale{};
  std::uint8_t length{}, monitored{};  ///< `monitored`: reg::monitor_capabilities
};

/// The number of symbols with errors in a FEC block, from `low` to `high`, and how many blocks had that many.
struct HistogramBin {
  std::uint8_t low{}, high{};
  std::uint64_t count{};
};

struct PortRow {
  PortIndex port = subnet::none;
  std::uint8_t read{};  ///< a bit for each Part that was read
  std::uint8_t active_lanes = 4;
  std::uint8_t plane{};       ///< of a port of several planes: 1, 2, …; 0: the port itself, which has all of them
  reg::LinkFsm link_state{};  ///< of the device's own state machine
  reg::FecMode fec_mode{};
  BitErrorRatio raw_ber, effective_ber, symbol_ber;
  std::array<BitErrorRatio, lanes> lane_ber{};
  std::array<std::uint64_t, lanes> raw_errors{};
  std::uint64_t milliseconds_since_clear{}, received_bits{}, corrected_blocks{}, uncorrectable_blocks{};  ///< since they were cleared
  std::uint32_t link_down_events{}, link_recovery_events{};
  std::uint16_t trouble{};
  reg::DownReason down_reason{};
  reg::DownInitiator down_initiator{};
  std::string trouble_text;  ///< of the device, not escaped
  Module module;
  std::unique_ptr<std::vector<HistogramBin>> histogram;  ///< only where it was wanted

  bool has(Part part) const { return (read >> static_cast<unsigned>(part) & 1U) != 0; }
  void set(Part part) { read = static_cast<std::uint8_t>(read | 1U << static_cast<unsigned>(part)); }
  bool is_known() const { return read != 0; }
  /// Whether a module is in the cage: the register describes one.
  bool has_module() const;
  /// Of a port that is down, whether it should be up: a module is in its cage, or the device says that something other than a missing cable
  /// is wrong.
  bool is_unexpectedly_down() const;
};

void take(PortRow& row, const reg::PddrOperation& page);
void take(PortRow& row, const reg::PddrTroubleshooting& page);
void take(PortRow& row, const reg::PddrModule& page);
void take(PortRow& row, const reg::PddrLinkDown& page);
void take(PortRow& row, const reg::PpcntPhysical& group);
void take(PortRow& row, const reg::PpcntStatistics& group);
void take(PortRow& row, const reg::Pphcr& bins);
void take(PortRow& row, const reg::PpcntFecHistogram& group);

std::optional<double> raw_ber(const PortRow& row);
std::optional<double> effective_ber(const PortRow& row);
std::optional<double> symbol_ber(const PortRow& row);
std::optional<double> lane_ber(const PortRow& row, std::size_t lane);
/// Seconds since the counters of the physical layer were cleared.
std::optional<double> seconds_since_clear(const PortRow& row);

/// What a module measures on each lane in use; a lane whose value is not known has none. Empty if the module does not measure it.
std::vector<std::optional<double>> rx_power_dbm(const PortRow& row);
std::vector<std::optional<double>> tx_power_dbm(const PortRow& row);
std::vector<std::optional<double>> bias_milliamperes(const PortRow& row);
std::optional<double> module_temperature(const PortRow& row);
std::optional<double> module_voltage(const PortRow& row);
/// The firmware of a module: "46.120.7"; empty if it has none.
std::string module_firmware(const PortRow& row);

/// What a port counted between two readings. A counter that was cleared in between, or that was not read twice, says nothing.
struct Window {
  std::optional<double> seconds{};  ///< by the device's own time since its counters were cleared, else by ours
  std::optional<double> raw_ber{};  ///< errors before FEC of all lanes in the bits that were received; 0: none was seen
  std::optional<double> raw_errors_per_second{}, corrected_blocks_per_second{}, uncorrectable_blocks_per_second{};
  std::optional<std::uint64_t> link_downs{}, link_recoveries{};
};

/// The difference of two readings of a port. `seconds` is the time between them as the reader saw it.
Window window_between(const PortRow& before, const PortRow& after, double seconds);

// The columns of what was read of a port: of its link, and then of its module. `ibtool phy`, `ibtool modules` and the
// JSON of health have their values from here.

inline constexpr std::size_t link_columns = 16, module_columns = 15;
/// All of them: first those of the link. The key of one of the module begins with "module.".
std::span<const report::Column<PortRow>> row_columns();

void visit(report::Sink& sink, const PortRow& row);

// The bit error ratios from which a link is bad. What is normal depends on the error correction and on the medium: a short link with
// low-latency FEC and retransmission may have more errors after FEC than a long one, since retransmission corrects them.

/// The ratios above which a link is to be looked at, and above which it is bad.
struct BerLimits {
  double warning{}, error{};
};

/// The limits of a port, for its ratio after FEC and for its ratio after retransmission too.
struct LinkLimits {
  BerLimits effective, symbol;
  std::string_view of;  ///< the kind of link that they are for: "low-latency FEC, up to 100 m"
};

/// The limits by the active FEC mode and the medium (values.cpp has how a length is encoded). Nothing if the FEC mode was not read, or is
/// unknown.
std::optional<LinkLimits> ber_limits(const PortRow& row);

/// The seconds in which a link at that ratio has three errors: a shorter time proves nothing of it (the rule of three).
double seconds_to_prove(double ratio, double bits_per_second);

/// What a module measures, beyond an alarm threshold of its own. A threshold of zero is not given.
struct Excess {
  double value{}, limit{};
  bool is_low{};  ///< the value is below the limit
};
std::optional<Excess> temperature_alarm(const PortRow& row);
/// The power of the lane that is farthest beyond an alarm threshold of the module: of what it receives, and of what it sends.
std::optional<Excess> rx_power_alarm(const PortRow& row);
std::optional<Excess> tx_power_alarm(const PortRow& row);

/// The greatest attenuation between two modules in dB: what the sender of `from` sends on average, less what the weakest lane of `to`
/// receives. Lanes may be crossed in the cable. Nothing if one of both is not measured.
std::optional<double> attenuation(const PortRow& from, const PortRow& to);

struct WeakLane {
  std::size_t lane{};
  double ber{}, others{};  ///< of the lane, and of the next worst one
};
/// The lane whose raw ratio is `times` the ratio of each other lane or more, and `least` or more. Nothing if there is none, or if the ratio
/// of a lane in use is not known.
std::optional<WeakLane> weak_lane(const PortRow& row, double times, double least);

}  // namespace ib::phy
