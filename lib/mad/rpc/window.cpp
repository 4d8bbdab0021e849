// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Slow start and additive increase in units of requests, as TCP does it (RFC 5681).
#include "mad/rpc/window.hpp"

#include <algorithm>

namespace ib::mad {

namespace {
constexpr double start_size = 8;
}

Window::Window(unsigned ceiling)
    : ceiling_(std::max(1U, ceiling)),
      floor_(std::max(1.0, ceiling_ / 8)),
      size_(std::min(start_size, ceiling_)),
      threshold_(ceiling_),
      last_halving_(async::Time::min()) {}

void Window::answered() {
  if (2 * in_flight_ < size()) return;  // the window was not full, so this answer does not prove that it may grow
  size_ = std::min(ceiling_, size_ + (size_ < threshold_ ? 1 : 1 / size_));
}

void Window::lost(async::Time sent_at, async::Time now) {
  if (sent_at <= last_halving_) return;  // sent before the last halving could have an effect
  last_halving_ = now;
  size_ = threshold_ = std::max(floor_, size_ / 2);
}

}  // namespace ib::mad
