// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The number of requests that may be in flight at once. VL15 has no flow control, so a burst of SMPs that exceeds the buffers
// of the SMAs on the path is lost. Nothing announces the size of these buffers, so the window finds it. The window grows with
// every answer: by one request up to the size at the last loss, more slowly beyond. It halves on a loss, at most once for the
// requests of one window.
#pragma once

#include "async/clock.hpp"

namespace ib::mad {

/// The congestion window of one kind of requests.
class Window {
 public:
  /// The window never exceeds `ceiling` (≥ 1). It also never falls below an eighth of `ceiling`, so that dead ports do not
  /// serialise a sweep.
  explicit Window(unsigned ceiling);

  unsigned size() const { return static_cast<unsigned>(size_); }
  unsigned in_flight() const { return in_flight_; }
  bool open() const { return in_flight_ < size(); }
  void enter() { ++in_flight_; }
  void leave() { --in_flight_; }

  /// A request was answered.
  void answered();
  /// A request that was sent at `sent_at` got lost.
  void lost(async::Time sent_at, async::Time now);

 private:
  double ceiling_;
  double floor_;
  double size_;
  double threshold_;
  unsigned in_flight_ = 0;
  async::Time last_halving_;
};

}  // namespace ib::mad
