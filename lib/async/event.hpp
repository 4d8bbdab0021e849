// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Waiting for something that happens once: a signal, the end of a server, an answer that another one asked for.
#pragma once

#include "async/task.hpp"

namespace ib::async {

/// `co_await event` waits until set(), and not at all after it. Any number of coroutines of one loop may wait; what is
/// cancelled no longer does.
class Event {
 public:
  Event() = default;
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;

  void set() {
    set_ = true;
    while (ReadyNode* waiter = waiting_.pop()) loop_->post(*waiter);
  }

  struct Awaiter {
    Event& event;
    bool await_ready() const noexcept { return event.set_; }
    template <class Parent>
    void await_suspend(std::coroutine_handle<Parent> parent) {
      event.loop_ = &parent.promise().loop();
      event.waiting_.push(parent.promise());
    }
    void await_resume() const noexcept {}
  };
  Awaiter operator co_await() noexcept { return {*this}; }

 private:
  ReadyQueue waiting_;
  Loop* loop_{};  // of those who wait
  bool set_{};
};

}  // namespace ib::async
