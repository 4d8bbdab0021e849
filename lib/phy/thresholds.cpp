// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "phy/thresholds.hpp"

#include <algorithm>
#include <array>
#include <numeric>

namespace ib::phy {
namespace {

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

}  // namespace

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

}  // namespace ib::phy
