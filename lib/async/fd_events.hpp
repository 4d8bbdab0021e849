// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Waiting for a descriptor within a coroutine, for what is a conversation rather than a stream of events: sockets, and the
// completions of a measurement.
#pragma once

#include "async/task.hpp"

namespace ib::async {

/// `co_await FdEvents(loop, fd, POLLIN, 5s)` waits until poll() reports something on `fd`, and gives what it reported; 0
/// where `timeout` passed first. One waits on a descriptor at a time.
class FdEvents final : private PollSource, private Timer {
 public:
  FdEvents(Loop& loop, int fd, short events, Duration timeout) : loop_(loop), fd_(fd), events_(events), timeout_(timeout) {}

  bool await_ready() const noexcept { return false; }
  template <class Parent>
  void await_suspend(std::coroutine_handle<Parent> parent) {
    waiter_ = &parent.promise();
    loop_.watch(*this, fd_, events_);
    if (timeout_ != forever) loop_.arm(*this, loop_.now() + timeout_);
  }
  short await_resume() const noexcept { return reported_; }

  static constexpr Duration forever = Duration::max();

 private:
  void ready(short revents) override {
    reported_ = revents;
    unwatch();
    disarm();
    loop_.post(*waiter_);
  }
  void expired() override {
    unwatch();
    loop_.post(*waiter_);
  }

  Loop& loop_;
  int fd_;
  short events_, reported_{};
  Duration timeout_;
  ReadyNode* waiter_{};
};

}  // namespace ib::async
