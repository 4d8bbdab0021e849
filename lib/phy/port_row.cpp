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

constexpr double longest_short_meters = 100;  // NVIDIA's limit between low-latency FEC and the stronger code

// IBA promises 1e-12; makers test cables to 1e-14 and better.
constexpr LinkLimits plain{{1e-14, 1e-12}, {1e-14, 1e-12}, "no retransmission"};
// NVIDIA's bring-up guide for clusters, of links with low-latency FEC and retransmission, and of those with the code KP4.
constexpr LinkLimits low_latency{{5e-12, 1e-11}, {5e-15, 1e-14}, "low-latency FEC, up to 100 m"};
constexpr LinkLimits strong{{5e-15, 1e-14}, {5e-15, 1e-14}, "KP4 FEC, or longer than 100 m"};

bool is_long(const PortRow& row) {
  if (!row.has_module() || row.module.type == reg::ModuleType::passive_copper) return false;
  return cable_meters(row.module.length, row.module.identifier).value_or(0) > longest_short_meters;
}

std::vector<double> known(const std::vector<std::optional<double>>& lanes_of) {
  std::vector<double> values;
  for (const std::optional<double>& value : lanes_of) {
    if (value) values.push_back(*value);
  }
  return values;
}

/// The power of the lane that is farthest beyond a threshold. Thresholds that exclude each other are none.
std::optional<Excess> power_alarm(const std::vector<double>& powers, std::uint16_t raw_low, std::uint16_t raw_high) {
  const auto limit_of = [](std::uint16_t raw) { return raw == 0 ? std::nullopt : module_dbm(raw); };
  const std::optional<double> low = limit_of(raw_low), high = limit_of(raw_high);
  if (low && high && *low >= *high) return {};
  std::optional<Excess> worst;
  double farthest = 0;
  for (const double power : powers) {
    const double below = low ? *low - power : 0, above = high ? power - *high : 0;
    if (std::max(below, above) <= farthest) continue;
    farthest = std::max(below, above);
    worst = below >= above ? Excess{power, *low, true} : Excess{power, *high, false};
  }
  return worst;
}

using report::cell;
using report::Cell;
using report::Coded;
using report::coded_cell;
using report::counter;
using report::gauge;
using report::text_cell;

Cell only_if(bool is_known, Cell value) { return is_known ? std::move(value) : Cell(std::monostate{}); }

Cell list_cell(std::vector<std::optional<double>> values) {
  return values.empty() ? report::Numbers() : report::Numbers(std::move(values));
}

template <std::uint64_t PortRow::*value>
Cell count_cell(const PortRow& row) {
  return only_if(row.has(Part::physical), row.*value);
}

Cell raw_errors_cell(const PortRow& row) {
  std::vector<std::optional<double>> values;
  for (std::size_t lane = 0; lane < row.active_lanes && row.has(Part::statistics); ++lane)
    values.emplace_back(static_cast<double>(row.raw_errors.at(lane)));
  return list_cell(std::move(values));
}

Cell trouble_cell(const PortRow& row) {
  if (!row.has(Part::troubleshooting)) return Coded{};
  return Coded{static_cast<double>(row.trouble), std::string(trouble_text(row.trouble))};
}

Cell module_text(const PortRow& row, std::span<const std::uint8_t> text) { return only_if(row.has_module(), text_cell(padded_text(text))); }

/// A limit of the module, in dBm; one that is zero is not given.
Cell power_limit(const PortRow& row, std::uint16_t raw) { return only_if(row.has_module() && raw != 0, cell(module_dbm(raw))); }

}  // namespace

bool PortRow::has_module() const {
  return has(Part::module) && module.type != reg::ModuleType::unplugged &&
         (module.type != reg::ModuleType::unidentified || !padded_text(module.vendor).empty());
}

bool PortRow::is_unexpectedly_down() const {
  const auto code = static_cast<reg::LinkTrouble>(trouble);
  const bool is_empty = code == reg::LinkTrouble::none || code == reg::LinkTrouble::unknown || code == reg::LinkTrouble::cable_unplugged;
  return has_module() || (has(Part::troubleshooting) && !is_empty);
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
  row.received_bits = group.phy_received_bits;
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

Window window_between(const PortRow& before, const PortRow& after, double seconds) {
  Window window{.seconds = seconds};
  const bool has_statistics = before.has(Part::statistics) && after.has(Part::statistics);
  const bool was_cleared = has_statistics && after.milliseconds_since_clear < before.milliseconds_since_clear;
  if (was_cleared) return window;
  if (has_statistics && after.milliseconds_since_clear != before.milliseconds_since_clear)
    window.seconds = static_cast<double>(after.milliseconds_since_clear - before.milliseconds_since_clear) / 1000;
  if (has_statistics) {
    const auto errors = growth(all_raw_errors(before), all_raw_errors(after));
    const auto bits = growth(before.received_bits, after.received_bits);
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

std::optional<LinkLimits> ber_limits(const PortRow& row) {
  using enum reg::FecMode;
  if (!row.has(Part::operation)) return {};
  switch (row.fec_mode) {
    case none:
    case firecode:
    case rs_528_514:
      return plain;
    case quad_rs_544_514:
    case interleaved_rs_544_514:
    case rs_544_514:
      return strong;
    case ll_rs_271_257:
    case quad_rs_546_516_plr:
    case octet_rs_546_516_plr:
    case ll_rs_272_257:
    case interleaved_ll_rs_272_257:
    case interleaved_rs_544_514_plr:
    case rs_544_514_plr:
    case ll_rs_271_257_plr:
    case ll_rs_272_257_plr:
    case interleaved_ll_rs_272_257_plr:
    case double_rs_288_258_plr:
    case quad_rs_288_258_plr:
    case octet_rs_288_258_plr:
      return is_long(row) ? strong : low_latency;
  }
  return {};
}

double seconds_to_prove(double ratio, double bits_per_second) { return 3 / (ratio * bits_per_second); }

std::optional<Excess> temperature_alarm(const PortRow& row) {
  const std::optional<double> now = module_temperature(row), limit = module_celsius(row.module.temperature_high);
  if (!now || !limit || *now < *limit) return {};
  return Excess{*now, *limit, false};
}

std::optional<Excess> rx_power_alarm(const PortRow& row) {
  return power_alarm(known(rx_power_dbm(row)), row.module.rx_power_low, row.module.rx_power_high);
}
std::optional<Excess> tx_power_alarm(const PortRow& row) {
  return power_alarm(known(tx_power_dbm(row)), row.module.tx_power_low, row.module.tx_power_high);
}

std::optional<double> attenuation(const PortRow& from, const PortRow& to) {
  const std::vector<double> sent = known(tx_power_dbm(from)), received = known(rx_power_dbm(to));
  if (sent.empty() || received.empty()) return {};
  const double average = std::accumulate(sent.begin(), sent.end(), 0.0) / static_cast<double>(sent.size());
  return average - *std::ranges::min_element(received);
}

std::optional<WeakLane> weak_lane(const PortRow& row, double times, double least) {
  if (!row.has(Part::statistics) || row.active_lanes < 2) return {};
  WeakLane worst;
  for (std::size_t lane = 0; lane < std::min<std::size_t>(row.active_lanes, lanes); ++lane) {
    const std::optional<double> ber = ratio(row.lane_ber.at(lane));
    if (!ber) return {};
    if (*ber > worst.ber) {
      worst.others = worst.ber;
      worst.ber = *ber;
      worst.lane = lane;
    } else {
      worst.others = std::max(worst.others, *ber);
    }
  }
  if (worst.ber < least || worst.ber < times * worst.others) return {};
  return worst;
}

std::span<const report::Column<PortRow>> row_columns() {
  static const std::array<report::Column<PortRow>, link_columns + module_columns> columns{{
      {{"fec_mode", "FEC", report::state(), false, true}, [](const PortRow& r) { return coded_cell(r.has(Part::operation), r.fec_mode); }},
      {{"raw_ber", "RAW BER", gauge()}, [](const PortRow& r) { return cell(raw_ber(r)); }},
      {{"effective_ber", "EFFECTIVE", gauge()}, [](const PortRow& r) { return cell(effective_ber(r)); }},
      {{"symbol_ber", "SYMBOL", gauge()}, [](const PortRow& r) { return cell(symbol_ber(r)); }},
      {{"seconds_since_clear", "SECONDS", gauge("s")}, [](const PortRow& r) { return cell(seconds_since_clear(r)); }},
      {{"raw_errors_per_lane", "RAW ERRORS", counter()}, raw_errors_cell},
      {{"corrected_blocks", "CORRECTED", counter()}, count_cell<&PortRow::corrected_blocks>},
      {{"uncorrectable_blocks", "UNCORRECTABLE", counter()}, count_cell<&PortRow::uncorrectable_blocks>},
      {{"link_down_events", "DOWN", counter()},
       [](const PortRow& r) { return only_if(r.has(Part::physical), std::uint64_t{r.link_down_events}); }},
      {{"link_recovery_events", "RECOVERED", counter()},
       [](const PortRow& r) { return only_if(r.has(Part::physical), std::uint64_t{r.link_recovery_events}); }},
      {{"last_down.down_reason", "LAST DOWN", {}, false, true},
       [](const PortRow& r) { return coded_cell(r.has(Part::link_down), r.down_reason); }},
      {{"last_down.initiator", "BY", {}, false, true},
       [](const PortRow& r) { return coded_cell(r.has(Part::link_down), r.down_initiator); }},
      {{"trouble.code", "TROUBLE", report::state(), false, true}, trouble_cell},
      {{"trouble.number", "CODE", {}, false, false, true},
       [](const PortRow& r) { return only_if(r.has(Part::troubleshooting), std::uint64_t{r.trouble}); }},
      {{"trouble.device_text", "DEVICE SAYS"}, [](const PortRow& r) { return text_cell(r.trouble_text); }},
      {{"trouble.remedy", "WHAT TO DO"},
       [](const PortRow& r) { return only_if(r.has(Part::troubleshooting), text_cell(std::string(remedy(r.trouble)))); }},
      {{"module.identifier", "MODULE", {}, false, true}, [](const PortRow& r) { return coded_cell(r.has_module(), r.module.identifier); }},
      {{"module.vendor", "VENDOR"}, [](const PortRow& r) { return module_text(r, r.module.vendor); }},
      {{"module.part_number", "PART"}, [](const PortRow& r) { return module_text(r, r.module.part_number); }},
      {{"module.hardware_revision", "REVISION"}, [](const PortRow& r) { return module_text(r, r.module.revision); }},
      {{"module.serial_number", "SERIAL"}, [](const PortRow& r) { return module_text(r, r.module.serial_number); }},
      {{"module.module_firmware", "FIRMWARE"}, [](const PortRow& r) { return text_cell(module_firmware(r)); }},
      {{"module.length_meters", "METERS"},
       [](const PortRow& r) { return only_if(r.has_module(), cell(cable_meters(r.module.length, r.module.identifier))); }},
      {{"module.temperature_celsius", "C", gauge("C")}, [](const PortRow& r) { return cell(module_temperature(r)); }},
      {{"module.voltage_millivolts", "MV", gauge("mV")}, [](const PortRow& r) { return cell(module_voltage(r)); }},
      {{"module.rx_power_dbm", "RX DBM", gauge("dBm")}, [](const PortRow& r) { return list_cell(rx_power_dbm(r)); }},
      {{"module.tx_power_dbm", "TX DBM", gauge("dBm")}, [](const PortRow& r) { return list_cell(tx_power_dbm(r)); }},
      {{"module.bias_milliamperes", "BIAS MA", gauge("mA")}, [](const PortRow& r) { return list_cell(bias_milliamperes(r)); }},
      {{"module.power_low_alarm_dbm", "LOW DBM"}, [](const PortRow& r) { return power_limit(r, r.module.rx_power_low); }},
      {{"module.power_high_alarm_dbm", "HIGH DBM"}, [](const PortRow& r) { return power_limit(r, r.module.rx_power_high); }},
      {{"module.temperature_alarm_celsius", "ALARM C"},
       [](const PortRow& r) { return only_if(r.has_module(), cell(module_celsius(r.module.temperature_high))); }},
  }};
  return columns;
}

void visit(report::Sink& sink, const PortRow& row) { report::write_members<PortRow>(sink, row_columns(), row); }

}  // namespace ib::phy
