// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Divides the open requests by their age. A young request waits for its turn to be sent and answered. An old request waits for a silent
// node. Only the young ones are limited: more of them would be no faster, and each takes kilobytes of memory. Old ones must not hold up
// other requests. If a loaded machine stops this program for a while, the requests do not age: of the time between two calls at most one
// span counts.
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <optional>

#include "async/clock.hpp"

namespace ib::subnet {

/// Counts the young open requests: those begun in the last two spans of time. Older requests wait for silent nodes.
class Flow {
 public:
  using Span = async::Duration::rep;
  static constexpr async::Duration young_span = std::chrono::milliseconds(10);

  /// Counts a request that begins. The returned span is the argument of ended().
  Span began(async::Time now) {
    advance(now);
    ++open_[span_ % 2];
    return span_;
  }
  void ended(Span span) {
    if (span >= span_ - 1) --open_[span % 2];
  }
  std::size_t young(async::Time now) {
    advance(now);
    return open_[0] + open_[1];
  }

 private:
  void advance(async::Time now) {
    age_ += std::min<async::Duration>(now - last_.value_or(now), young_span);
    last_ = now;
    while (span_ < age_ / young_span) open_[++span_ % 2] = 0;
  }
  Span span_{};                        // the current one
  std::array<std::size_t, 2> open_{};  // by the parity of a span: of those begun in the current span, and in the one before
  async::Duration age_{};              // of this object
  std::optional<async::Time> last_;
};

}  // namespace ib::subnet
