// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// What a coroutine may wait for beside tasks and time: a one-time event, an alarm, a file descriptor.
#pragma once

#include <utility>

#include "async/task.hpp"

namespace ib::async {

/// A one-time event: a signal, the end of a server, a reply that another coroutine requested. `co_await event` waits until set(), and
/// returns at once after set(). Any number of coroutines of one loop may wait. A cancelled coroutine no longer waits.
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

/// `co_await FdEvents(loop, fd, POLLIN, 5s)` waits until poll() reports events on `fd`, and returns these events. It returns 0
/// if `timeout` passed first. Only one coroutine may wait for a descriptor at a time. Meant for conversations (sockets, completions of a
/// measurement); a stream of events uses Loop::watch().
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
