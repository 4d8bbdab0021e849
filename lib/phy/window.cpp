// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "phy/window.hpp"

#include <limits>
#include <numeric>

namespace ib::phy {
namespace {

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
