// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// What a port counted between two readings. A counter that was cleared in between, or that was not read twice, says nothing.
#pragma once

#include <cstdint>
#include <optional>

#include "phy/port_row.hpp"

namespace ib::phy {

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
