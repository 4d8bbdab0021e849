// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Waiting for a time, or to be woken before it.
#pragma once

#include <utility>

#include "async/task.hpp"

namespace ib::async {

/// `co_await alarm.until(time)` waits until that time, or until ring(). One coroutine may wait at a time. A ring() is lost if no coroutine
/// waits: the caller must also store the event elsewhere.
class Alarm final : private Timer {
 public:
  explicit Alarm(Loop& loop) : loop_(loop) {}

  void ring() {
    disarm();
    if (waiter_ != nullptr) loop_.post(*std::exchange(waiter_, nullptr));
  }

  struct Awaiter {
    Alarm& alarm;
    Time deadline;
    Awaiter(Alarm& of, Time time) : alarm(of), deadline(time) {}
    Awaiter(const Awaiter&) = delete;
    Awaiter& operator=(const Awaiter&) = delete;
    ~Awaiter() {
      alarm.disarm();
      alarm.waiter_ = nullptr;
    }
    bool await_ready() const noexcept { return false; }
    template <class Parent>
    void await_suspend(std::coroutine_handle<Parent> parent) {
      alarm.waiter_ = &parent.promise();
      alarm.loop_.arm(alarm, deadline);
    }
    void await_resume() const noexcept {}
  };
  Awaiter until(Time deadline) { return {*this, deadline}; }

 private:
  void expired() override { ring(); }

  Loop& loop_;
  ReadyNode* waiter_{};
};

}  // namespace ib::async
