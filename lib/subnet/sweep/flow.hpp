// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Divides the open requests by their age. A young request waits for its turn to be sent and answered. An old request waits for a silent
// node. Only the young ones are limited: more of them would be no faster, and each takes kilobytes of memory. Old ones must not hold up
// other requests. If a loaded machine stops this program for a while, the requests do not age: of the time between two calls at most one
// span counts.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <deque>
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
    const Span span = advance(now);
    if (young_.empty() || young_.back().span != span) young_.push_back({span, 0});
    ++young_.back().open;
    return span;
  }
  void ended(Span span) {
    for (Spanned& at : young_) {
      if (at.span == span) --at.open;
    }
  }
  std::size_t young(async::Time now) {
    advance(now);
    std::size_t count = 0;
    for (const Spanned& at : young_) count += at.open;
    return count;
  }

 private:
  struct Spanned {
    Span span;
    std::size_t open;
  };
  /// Returns the current span, and removes requests that are older than the span before it.
  Span advance(async::Time now) {
    age_ += std::min<async::Duration>(now - last_.value_or(now), young_span);
    last_ = now;
    const Span current = age_ / young_span;
    while (!young_.empty() && young_.front().span < current - 1) young_.pop_front();
    return current;
  }
  std::deque<Spanned> young_;  // at most the last two spans, in order
  async::Duration age_{};      // of this object
  std::optional<async::Time> last_;
};

}  // namespace ib::subnet
