// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The pauses between two tries of a request.
#pragma once

#include <algorithm>

#include "async/clock.hpp"

namespace ib::mad {

/// The pause after try `tries`, counted from 1, was lost. The lost try itself took a long time, so the pause only spreads bursts.
constexpr async::Duration lost_delay(unsigned tries) {
  return std::min<async::Duration>(std::chrono::milliseconds(10) * (1 << std::min(tries - 1, 10U)), std::chrono::seconds(1));
}
/// The pause after a node has answered try `tries` that it is busy.
constexpr async::Duration busy_delay(unsigned tries) {
  return std::min<async::Duration>(std::chrono::milliseconds(50) * (1 << std::min(tries - 1, 10U)), std::chrono::seconds(2));
}

}  // namespace ib::mad
