// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#pragma once

#include "async/clock.hpp"

namespace ibtest {

/// A clock that starts at zero. It moves only by advance() and while the loop is idle. Its zero is 2001-09-09 01:46:40 UTC.
class FakeClock : public ib::async::Clock {
 public:
  ib::async::Time now() const override { return now_; }
  std::chrono::system_clock::time_point wall_time() const override {
    constexpr std::chrono::seconds zero{1'000'000'000};
    return std::chrono::system_clock::time_point(zero + std::chrono::duration_cast<std::chrono::microseconds>(now_.time_since_epoch()));
  }
  bool jump_to(ib::async::Time deadline) override {
    if (deadline > now_) now_ = deadline;
    return true;
  }
  void advance(ib::async::Duration by) { now_ += by; }

 private:
  ib::async::Time now_{};
};

}  // namespace ibtest
