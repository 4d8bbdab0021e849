// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The time of a loop. Timeouts are measured on a monotonic clock. Tests give the loop a clock that jumps to the next timer
// instead of sleeping, so a minute of retries takes no real time.
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
  /// The loop calls this when it is idle until `deadline`. True: the clock has jumped to `deadline`. False: the loop waits in
  /// real time.
  virtual bool jump_to(Time deadline) {
    (void)deadline;
    return false;
  }
};

/// A clock that starts at zero. It moves only by advance() and while the loop is idle.
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
