// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Time as the loop sees it. Timeouts are measured on a monotonic clock; tests give the loop a clock that jumps to
// the next timer instead of sleeping, so that a minute of retries takes no time at all.
#pragma once

#include <chrono>

namespace ib::async {

using Duration = std::chrono::nanoseconds;
using Time = std::chrono::time_point<std::chrono::steady_clock, Duration>;

/// The system's monotonic clock.
class Clock {
 public:
  virtual ~Clock() = default;
  virtual Time now() const { return std::chrono::time_point_cast<Duration>(std::chrono::steady_clock::now()); }
  /// Called when the loop is idle until `deadline`. True: the clock has jumped there; false: wait in real time.
  virtual bool jump_to(Time deadline) {
    (void)deadline;
    return false;
  }
};

/// Starts at zero and moves only when the loop is idle (or by advance()).
class FakeClock : public Clock {
 public:
  Time now() const override { return now_; }
  bool jump_to(Time deadline) override {
    if (deadline > now_) now_ = deadline;
    return true;
  }
  void advance(Duration by) { now_ += by; }

 private:
  Time now_{};
};

}  // namespace ib::async
