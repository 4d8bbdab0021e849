// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The physical layer of one port in a flat row: link, bit errors, FEC, why it is down, and the module in its cage. The row keeps the
// numbers of the registers; the functions give them in units, or nothing where a value was not read or cannot be (phy/values.hpp).
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "iba-gen/reg.hpp"
#include "phy/values.hpp"
#include "subnet/model/model.hpp"

namespace ib::phy {

inline constexpr std::size_t lanes = 8;  ///< that a register has room for

/// The registers that a row comes from.
enum class Part : std::uint8_t { operation, troubleshooting, module, link_down, physical, statistics, histogram_bins, histogram };
inline constexpr std::size_t parts = 8;

/// The module, or the cable, in the cage of a port.
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

/// A text that few rows have, in the room of a pointer.
class RareText {
 public:
  RareText& operator=(std::string text) {
    text_ = text.empty() ? nullptr : std::make_unique<std::string>(std::move(text));
    return *this;
  }
  bool empty() const { return text_ == nullptr; }
  operator std::string_view() const { return text_ ? std::string_view(*text_) : std::string_view(); }  // NOLINT: it is a text
  friend bool operator==(const RareText& text, std::string_view other) { return std::string_view(text) == other; }

 private:
  std::unique_ptr<std::string> text_;
};

struct PortRow {
  subnet::PortIndex port = subnet::none;
  std::uint8_t read{};  ///< a bit for each Part that was read
  std::uint8_t active_lanes = 4;
  std::uint8_t plane{};       ///< of a port of several planes: 1, 2, …; 0: the port itself, which has all of them
  reg::LinkFsm link_state{};  ///< of the device's own state machine
  reg::FecMode fec_mode{};
  BitErrorRatio raw_ber, effective_ber, symbol_ber;
  std::array<BitErrorRatio, lanes> lane_ber{};
  std::array<std::uint64_t, lanes> raw_errors{};
  std::uint64_t milliseconds_since_clear{}, corrected_blocks{}, uncorrectable_blocks{};
  std::uint32_t link_down_events{}, link_recovery_events{};
  std::uint16_t trouble{};
  reg::DownReason down_reason{};
  reg::DownInitiator down_initiator{};
  RareText trouble_text;  ///< of the device, not escaped
  Module module;
  std::unique_ptr<std::vector<HistogramBin>> histogram;  ///< only where it was wanted

  bool has(Part part) const { return (read >> static_cast<unsigned>(part) & 1U) != 0; }
  void set(Part part) { read = static_cast<std::uint8_t>(read | 1U << static_cast<unsigned>(part)); }
  /// Whether anything was read of the port.
  bool is_known() const { return read != 0; }
  /// Whether a module is in the cage: the register describes one.
  bool has_module() const;
};

/// Each takes its part of a row from a register.
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
/// The bit error ratio of a lane before FEC.
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

/// What the port had received at a reading, in bits; nothing where that was not read.
using ReceivedBits = std::optional<std::uint64_t>;

/// The difference of two readings of a port. `seconds` is the time between them as the reader saw it.
Window window_between(const PortRow& before, ReceivedBits bits_before, const PortRow& after, ReceivedBits bits_after, double seconds);

}  // namespace ib::phy
