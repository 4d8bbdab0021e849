// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Lets a coroutine wait for a file descriptor. Meant for conversations (sockets, completions of a measurement); a stream of
// events uses Loop::watch().
#pragma once

#include "async/task.hpp"

namespace ib::async {

/// `co_await FdEvents(loop, fd, POLLIN, 5s)` waits until poll() reports events on `fd`, and returns these events. It returns 0
/// if `timeout` passed first. Only one coroutine may wait for a descriptor at a time.
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
