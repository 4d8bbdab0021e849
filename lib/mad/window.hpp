// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// How many requests may be on their way at once. VL15 has no flow control, so a burst of SMPs beyond what the SMAs on
// the way can take is lost; how much that is nobody tells, so the window finds it: it grows with every answer (by one
// up to the size of the last loss, slowly beyond) and halves on a loss, at most once for the requests of one window.
#pragma once

#include "async/clock.hpp"

namespace ib::mad {

class Window {
 public:
  /// Never larger than `ceiling` ≥ 1 and, so that dead ports do not serialise a sweep, never below an eighth of it.
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
