// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "phy/port_row.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <limits>
#include <numeric>

namespace ib::phy {
namespace {

std::optional<double> known_ratio(const PortRow& row, BitErrorRatio ber) { return row.has(Part::statistics) ? ratio(ber) : std::nullopt; }

/// Whether the module of a row measures a quantity (reg::monitor_capabilities).
bool is_monitored(const PortRow& row, std::uint8_t quantity) { return row.has_module() && (row.module.monitored & quantity) != 0; }

/// The values of the lanes in use. A module that has zero on all of them measures nothing.
template <class Convert>
std::vector<std::optional<double>> by_lane(const PortRow& row, std::uint8_t quantity, const std::array<std::uint16_t, lanes>& raw,
                                           Convert convert) {
  std::vector<std::optional<double>> values;
  if (!is_monitored(row, quantity) || std::ranges::all_of(raw, [](std::uint16_t value) { return value == 0; })) return values;
  for (std::size_t lane = 0; lane < std::min<std::size_t>(row.active_lanes, lanes); ++lane) values.push_back(convert(raw.at(lane)));
  return values;
}

/// The growth of a counter. Nothing if it became smaller, or had reached its greatest value.
template <class T>
std::optional<std::uint64_t> growth(T before, T after) {
  if (after < before || before == std::numeric_limits<T>::max()) return {};
  return after - before;
}

std::optional<double> rate(std::optional<std::uint64_t> count, std::optional<double> seconds) {
  if (!count || !seconds || *seconds <= 0) return {};
  return static_cast<double>(*count) / *seconds;
}

std::uint64_t all_raw_errors(const PortRow& row) { return std::accumulate(row.raw_errors.begin(), row.raw_errors.end(), std::uint64_t{0}); }

}  // namespace

bool PortRow::has_module() const {
  return has(Part::module) && module.type != reg::ModuleType::unplugged &&
         (module.type != reg::ModuleType::unidentified || !padded_text(module.vendor).empty());
}

void take(PortRow& row, const reg::PddrOperation& page) {
  row.link_state = page.phy_mngr_fsm_state;
  row.fec_mode = page.fec_mode_active;
  const unsigned width = std::bit_width(page.link_width_active);  // 1 for 1x, 2 for 2x, 3 for 4x, 4 for 8x
  if (page.link_width_active != 0)
    row.active_lanes = static_cast<std::uint8_t>(std::min<std::size_t>(std::size_t{1} << (width - 1), lanes));
  row.set(Part::operation);
}

void take(PortRow& row, const reg::PddrTroubleshooting& page) {
  row.trouble = static_cast<std::uint16_t>(page.monitor_opcode);
  row.trouble_text = padded_text(page.status_message);
  row.set(Part::troubleshooting);
}

void take(PortRow& row, const reg::PddrModule& page) {
  row.module = {.vendor = page.vendor_name,
                .part_number = page.vendor_pn,
                .serial_number = page.vendor_sn,
                .revision = page.vendor_rev,
                .firmware = page.fw_version,
                .rx_power = page.rx_power,
                .tx_power = page.tx_power,
                .bias = page.tx_bias,
                .temperature = page.temperature,
                .voltage = page.voltage,
                .temperature_high = page.temperature_high_th,
                .rx_power_low = page.rx_power_low_th,
                .rx_power_high = page.rx_power_high_th,
                .tx_power_low = page.tx_power_low_th,
                .tx_power_high = page.tx_power_high_th,
                .identifier = page.cable_identifier,
                .type = page.cable_type,
                .scale = page.tx_bias_scaling_factor,
                .length = page.cable_length,
                .monitored = page.monitor_cap_mask};
  row.set(Part::module);
}

void take(PortRow& row, const reg::PddrLinkDown& page) {
  row.down_initiator = page.down_blame;
  row.down_reason = page.down_blame == reg::DownInitiator::remote && page.remote_reason_opcode != reg::DownReason::none
                        ? page.remote_reason_opcode
                        : page.local_reason_opcode;
  row.set(Part::link_down);
}

void take(PortRow& row, const reg::PpcntPhysical& group) {
  row.corrected_blocks = group.rs_fec_corrected_blocks;
  row.uncorrectable_blocks = group.rs_fec_uncorrectable_blocks;
  row.link_down_events = group.link_down_events;
  row.link_recovery_events = group.successful_recovery_events;
  row.set(Part::physical);
}

void take(PortRow& row, const reg::PpcntStatistics& group) {
  row.raw_ber = {group.raw_ber_coef, group.raw_ber_magnitude};
  row.effective_ber = {group.effective_ber_coef, group.effective_ber_magnitude};
  row.symbol_ber = {group.symbol_ber_coef, group.symbol_ber_magnitude};
  row.raw_errors = group.phy_raw_errors_lane;
  for (std::size_t lane = 0; lane < lanes; ++lane)
    row.lane_ber.at(lane) = {group.raw_ber_lane.at(lane).coefficient, group.raw_ber_lane.at(lane).magnitude};
  row.milliseconds_since_clear = group.time_since_last_clear;
  row.set(Part::statistics);
}

void take(PortRow& row, const reg::Pphcr& bins) {
  row.histogram = std::make_unique<std::vector<HistogramBin>>();
  for (std::size_t bin = 0; bin < std::min<std::size_t>(bins.num_of_bins, bins.bin_range.size()); ++bin)
    row.histogram->push_back({bins.bin_range.at(bin).low_val, bins.bin_range.at(bin).high_val, 0});
  row.set(Part::histogram_bins);
}

void take(PortRow& row, const reg::PpcntFecHistogram& group) {
  if (!row.histogram) return;  // counts without the bins that they are of say nothing
  for (std::size_t bin = 0; bin < std::min(row.histogram->size(), group.hist.size()); ++bin)
    row.histogram->at(bin).count = group.hist.at(bin);
  row.set(Part::histogram);
}

std::optional<double> raw_ber(const PortRow& row) { return known_ratio(row, row.raw_ber); }
std::optional<double> effective_ber(const PortRow& row) { return known_ratio(row, row.effective_ber); }
std::optional<double> symbol_ber(const PortRow& row) { return known_ratio(row, row.symbol_ber); }
std::optional<double> lane_ber(const PortRow& row, std::size_t lane) { return known_ratio(row, row.lane_ber.at(lane)); }

std::optional<double> seconds_since_clear(const PortRow& row) {
  if (!row.has(Part::statistics) || row.milliseconds_since_clear == 0) return {};
  return static_cast<double>(row.milliseconds_since_clear) / 1000;
}

std::vector<std::optional<double>> rx_power_dbm(const PortRow& row) {
  return by_lane(row, reg::monitor_capabilities::rx_power, row.module.rx_power, module_dbm);
}
std::vector<std::optional<double>> tx_power_dbm(const PortRow& row) {
  return by_lane(row, reg::monitor_capabilities::tx_power, row.module.tx_power, module_dbm);
}
std::vector<std::optional<double>> bias_milliamperes(const PortRow& row) {
  const auto convert = [&row](std::uint16_t raw) { return bias_milliamperes(raw, row.module.scale); };
  return by_lane(row, reg::monitor_capabilities::tx_bias, row.module.bias, convert);
}

std::optional<double> module_temperature(const PortRow& row) {
  return is_monitored(row, reg::monitor_capabilities::temperature) ? module_celsius(row.module.temperature) : std::nullopt;
}
std::optional<double> module_voltage(const PortRow& row) {
  return is_monitored(row, reg::monitor_capabilities::voltage) ? module_millivolts(row.module.voltage) : std::nullopt;
}

std::string module_firmware(const PortRow& row) {
  const std::uint32_t version = row.module.firmware;
  if (!row.has_module() || version == 0 || version == ~std::uint32_t{0}) return {};
  return fmt::format("{}.{}.{}", version >> 24, version >> 16 & 0xff, version & 0xffff);
}

Window window_between(const PortRow& before, ReceivedBits bits_before, const PortRow& after, ReceivedBits bits_after, double seconds) {
  Window window{.seconds = seconds};
  const bool has_statistics = before.has(Part::statistics) && after.has(Part::statistics);
  const bool was_cleared = has_statistics && after.milliseconds_since_clear < before.milliseconds_since_clear;
  if (was_cleared) return window;
  if (has_statistics && after.milliseconds_since_clear != before.milliseconds_since_clear)
    window.seconds = static_cast<double>(after.milliseconds_since_clear - before.milliseconds_since_clear) / 1000;
  if (has_statistics) {
    const auto errors = growth(all_raw_errors(before), all_raw_errors(after));
    const auto bits = bits_before && bits_after ? growth(*bits_before, *bits_after) : std::nullopt;
    window.raw_errors_per_second = rate(errors, window.seconds);
    if (errors && bits && *bits != 0) window.raw_ber = static_cast<double>(*errors) / static_cast<double>(*bits);
  }
  if (before.has(Part::physical) && after.has(Part::physical)) {
    window.corrected_blocks_per_second = rate(growth(before.corrected_blocks, after.corrected_blocks), window.seconds);
    window.uncorrectable_blocks_per_second = rate(growth(before.uncorrectable_blocks, after.uncorrectable_blocks), window.seconds);
    window.link_downs = growth(before.link_down_events, after.link_down_events);
    window.link_recoveries = growth(before.link_recovery_events, after.link_recovery_events);
  }
  return window;
}

}  // namespace ib::phy
