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
  /// The date and time of day (UTC), for people. It may be set meanwhile: nothing is measured with it.
  virtual std::chrono::system_clock::time_point wall_time() const { return std::chrono::system_clock::now(); }
  /// The loop calls this when it is idle until `deadline`. True: the clock has jumped to `deadline`. False: the loop waits in real time.
  virtual bool jump_to(Time deadline) {
    (void)deadline;
    return false;
  }
};

}  // namespace ib::async
