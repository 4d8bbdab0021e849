// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "counters/waiting.hpp"

#include <algorithm>

namespace ib::counters {

std::optional<double> waiting_share(std::uint64_t waited, std::uint8_t tick, double seconds, const subnet::LinkRate& rate) {
  constexpr std::uint8_t tick_of_whole_port = 7;
  constexpr double bits_per_megabit = 1e6, bits_per_octet = 8;
  if (!rate.known() || seconds <= 0) return std::nullopt;
  const double mbps = tick == tick_of_whole_port ? rate.data_mbps() : rate.data_mbps() / rate.lanes;
  const double seconds_per_tick = (tick + 1) * bits_per_octet / (mbps * bits_per_megabit);
  return std::min(static_cast<double>(waited) * seconds_per_tick / seconds, 1.0);
}

}  // namespace ib::counters
