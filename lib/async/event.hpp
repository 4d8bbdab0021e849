// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Waiting for a one-time event: a signal, the end of a server, a reply that another coroutine requested.
#pragma once

#include "async/task.hpp"

namespace ib::async {

/// `co_await event` waits until set(), and returns at once after set(). Any number of coroutines of one loop may wait. A
/// cancelled coroutine no longer waits.
class Event {
 public:
  Event() = default;
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;

  void set() {
    set_ = true;
    while (ReadyNode* waiter = waiting_.pop_front()) loop_->post(*waiter);
  }

  struct Awaiter {
    Event& event;
    bool await_ready() const noexcept { return event.set_; }
    template <class Parent>
    void await_suspend(std::coroutine_handle<Parent> parent) {
      event.loop_ = &parent.promise().loop();
      event.waiting_.push_back(parent.promise());
    }
    void await_resume() const noexcept {}
  };
  Awaiter operator co_await() noexcept { return {*this}; }

 private:
  List<ReadyNode, ReadyNode> waiting_;
  Loop* loop_{};  // of the waiting coroutines
  bool set_{};
};

}  // namespace ib::async
