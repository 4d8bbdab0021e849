// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Divides the open requests by their age. A young request waits for its turn to be sent and answered. An old request waits for a silent
// node. Only the young ones are limited: more of them would be no faster, and each takes kilobytes of memory. Old ones must not hold up
// other requests. If a loaded machine stops this program for a while, the requests do not age: of the time between two calls at most one
// span counts.
#pragma once

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
  Span began(async::Time now);
  void ended(Span span);
  std::size_t young(async::Time now);

 private:
  struct Spanned {
    Span span;
    std::size_t open;
  };
  Span advance(async::Time now);
  std::deque<Spanned> young_;  // at most the last two spans, in order
  async::Duration age_{};      // of this object
  std::optional<async::Time> last_;
};

}  // namespace ib::subnet
