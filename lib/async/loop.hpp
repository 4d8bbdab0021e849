// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The event loop: one thread, a queue of ready nodes, a heap of timers and one poll(). The loop knows coroutines only as nodes
// to fire, and knows nothing of MADs. Everything that uses a loop must live in the thread that runs the loop.
#pragma once

#include <poll.h>

#include <cstddef>
#include <vector>

#include "async/clock.hpp"
#include "base/list.hpp"

namespace ib::async {

template <class T>
class Task;

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
  void disarm();

 private:
  friend class TimerHeap;
  TimerHeap* heap_{};
  std::size_t index_{};
  Time deadline_{};
};

/// The armed timers of a loop in a binary heap. Does not own them: they are part of their owners and know their position in the heap. Most
/// timeouts are disarmed before they fire; disarming costs O(log n) and leaves no stale entry.
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

/// Base of objects that a Loop can fire. A ReadyNode is part of the object that wants to run (a coroutine's promise, a child of a group),
/// so queueing allocates nothing. An object that is destroyed while queued removes itself from the queue.
class ReadyNode : public ListHook<ReadyNode> {
 public:
  virtual ~ReadyNode() = default;

  /// Runs the waiting object. The loop calls this after it has removed the node from the queue.
  virtual void fire() = 0;
};

/// A file descriptor that the loop watches. Loop::watch() registers a source; the destructor removes it.
class PollSource {
 public:
  PollSource() = default;
  PollSource(const PollSource&) = delete;
  PollSource& operator=(const PollSource&) = delete;
  virtual ~PollSource();

  /// The loop calls this when poll() has reported `revents`. Loop::run() lets exceptions pass.
  virtual void ready(short revents) = 0;
  void unwatch();

 private:
  friend class Loop;
  class Loop* loop_{};
};

/// The event loop of one thread.
class Loop {
 public:
  /// A loop in real time.
  Loop() = default;
  /// A loop on `clock`, which must outlive it.
  explicit Loop(Clock& clock) : clock_(&clock) {}
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;
  ~Loop();

  /// Runs `task` to its end. Returns the result of `task` or throws its exception. Must not be called inside a task of this
  /// loop. Throws std::logic_error if the task waits for something that can never come.
  template <class T>
  T run(Task<T> task);

  Clock& clock() { return *clock_; }
  Time now() const { return clock_->now(); }
  /// Fires `node` after all nodes that are queued already. Does nothing if `node` is queued.
  void post(ReadyNode& node) {
    if (!node.linked()) ready_.push_back(node);
  }
  /// Calls `timer.expired()` once `deadline` has come.
  void arm(Timer& timer, Time deadline) { timers_.arm(timer, deadline); }
  /// Watches `fd` for `events` (POLLIN, …) until unwatch(). A `slice` other than zero is for a descriptor of a preload library whose poll()
  /// sees no other descriptor and no signal. The loop then polls the other descriptors itself, at least once each `slice`.
  void watch(PollSource& source, int fd, short events, Duration slice = Duration::zero());

  struct SleepAwaiter;
  SleepAwaiter sleep_for(Duration delay);
  /// co_await lets all others run that are ready or due: a long computation does so now and then. sleep_for(zero) does not wait at all.
  SleepAwaiter yield();

 private:
  friend class PollSource;
  struct Watched {
    PollSource* source;
    int fd;
    short events;
    Duration slice;  // zero: a descriptor of the kernel
  };

  void run_until(const bool& done);
  void fire_due_timers();
  void wait();
  /// True if the descriptor of a source was ready and the source was called.
  bool poll_once(int timeout_ms);
  void poll_others();
  int timeout_until_next() const;

  Clock real_clock_;
  Clock* clock_ = &real_clock_;
  List<ReadyNode, ReadyNode> ready_;
  TimerHeap timers_;
  std::vector<Watched> watched_;
  std::vector<pollfd> fds_;  // of the current poll()
};

}  // namespace ib::async

#include "async/task.hpp"  // Loop::run() and sleep_for() are templates over Task
