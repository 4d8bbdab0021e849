// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Timers in a binary heap. The nodes are part of their owners and know their position in the heap. Most timeouts are disarmed
// before they fire; disarming costs O(log n) of the armed timers and leaves no stale entry.
#pragma once

#include <cstddef>
#include <vector>

#include "async/clock.hpp"

namespace ib::async {

class TimerHeap;

/// Base of objects with one deadline. The destructor disarms the timer.
class Timer {
 public:
  Timer() = default;
  Timer(const Timer&) = delete;
  Timer& operator=(const Timer&) = delete;
  virtual ~Timer() { disarm(); }

  /// The loop calls this when the deadline has come. The timer is disarmed. Must not throw.
  virtual void expired() = 0;
  bool armed() const { return heap_ != nullptr; }
  Time deadline() const { return deadline_; }
  void disarm();

 private:
  friend class TimerHeap;
  TimerHeap* heap_{};
  std::size_t index_{};
  Time deadline_{};
};

/// The armed timers of a loop. Does not own them.
class TimerHeap {
 public:
  TimerHeap() = default;
  TimerHeap(const TimerHeap&) = delete;
  TimerHeap& operator=(const TimerHeap&) = delete;
  ~TimerHeap();

  bool empty() const { return heap_.empty(); }
  /// The next deadline; the heap must not be empty.
  Time next() const { return heap_.front()->deadline_; }
  /// Arms `timer`, or moves it if it is armed already.
  void arm(Timer& timer, Time deadline);
  void remove(Timer& timer);
  /// Removes and returns the earliest timer whose deadline is not after `now`, or null. Timers with equal deadlines come in any order.
  Timer* pop_due(Time now);

 private:
  void place(std::size_t index, Timer* timer);
  void sift_up(std::size_t index);
  void sift_down(std::size_t index);

  std::vector<Timer*> heap_;
};

inline void Timer::disarm() {
  if (heap_ != nullptr) heap_->remove(*this);
}

}  // namespace ib::async
