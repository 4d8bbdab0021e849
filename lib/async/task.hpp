// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Task<T>: a coroutine that starts when it is awaited and gives a T (or throws) to whoever awaits it. There is no
// symmetric transfer: awaiting queues the child on the loop and finishing queues the parent, so that the stack stays
// flat at every optimisation level. A Task owns its frame: destroying it at any suspension point cancels the work and
// all that it awaits.
//
// What g++ 12 miscompiles, and so must not be written:
//  - an aggregate with a non-trivial member, or a lambda that captures by value, made within a co_await expression:
//    name it first (else it is destroyed twice); and no capturing lambda that is itself a coroutine;
//  - a conditional expression between two tasks after co_await (both are destroyed twice): write if and else;
//  - co_await within braces, default arguments or test assertions; structured bindings of an awaited result.
// And of our own: reference parameters only where the caller awaits at once; catch blocks only annotate; no locks
// and no thread-locals across a co_await.
#pragma once

#include <coroutine>
#include <exception>
#include <utility>
#include <variant>

#include "async/loop.hpp"

namespace ib::async {

template <class T = void>
class [[nodiscard]] Task;

/// The part of every promise that the loop and the awaiters see: the coroutine as something to fire.
class PromiseBase : public ReadyNode {
 public:
  struct FinalAwaiter {
    bool await_ready() const noexcept { return false; }
    template <class Promise>
    void await_suspend(std::coroutine_handle<Promise> handle) const noexcept {
      PromiseBase& promise = handle.promise();
      if (promise.continuation_ != nullptr) promise.loop_->post(*promise.continuation_);
    }
    void await_resume() const noexcept {}
  };

  std::suspend_always initial_suspend() const noexcept { return {}; }
  FinalAwaiter final_suspend() const noexcept { return {}; }
  void fire() override { handle_.resume(); }

  Loop& loop() const { return *loop_; }
  /// Starts the coroutine on `loop`; `continuation` is queued when it ends.
  void start(Loop& loop, ReadyNode& continuation) {
    loop_ = &loop;
    continuation_ = &continuation;
    loop.post(*this);
  }

 protected:
  explicit PromiseBase(std::coroutine_handle<> handle) : handle_(handle) {}

 private:
  std::coroutine_handle<> handle_;
  Loop* loop_{};
  ReadyNode* continuation_{};
};

template <class T>
class Promise final : public PromiseBase {
 public:
  Promise() : PromiseBase(std::coroutine_handle<Promise>::from_promise(*this)) {}
  Task<T> get_return_object();
  template <class U>
  void return_value(U&& value) {
    result_.template emplace<1>(std::forward<U>(value));
  }
  void unhandled_exception() { result_.template emplace<2>(std::current_exception()); }
  T take() {
    if (result_.index() == 2) std::rethrow_exception(std::get<2>(result_));
    return std::get<1>(std::move(result_));
  }

 private:
  std::variant<std::monostate, T, std::exception_ptr> result_;
};

template <>
class Promise<void> final : public PromiseBase {
 public:
  Promise() : PromiseBase(std::coroutine_handle<Promise>::from_promise(*this)) {}
  Task<void> get_return_object();
  void return_void() const noexcept {}
  void unhandled_exception() { error_ = std::current_exception(); }
  void take() const {
    if (error_) std::rethrow_exception(error_);
  }

 private:
  std::exception_ptr error_;
};

template <class T>
class [[nodiscard]] Task {
 public:
  using promise_type = Promise<T>;
  using value_type = T;

  Task() = default;
  Task(Task&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Task& operator=(Task&& other) noexcept {
    if (this != &other) {
      reset();
      handle_ = std::exchange(other.handle_, nullptr);
    }
    return *this;
  }
  ~Task() { reset(); }

  /// Cancels: destroys the frame and with it whatever it awaits.
  void reset() {
    if (handle_) std::exchange(handle_, nullptr).destroy();
  }
  explicit operator bool() const { return static_cast<bool>(handle_); }

  /// For those that start tasks (loop, groups): runs it on `loop` and queues `continuation` at its end.
  void start(Loop& loop, ReadyNode& continuation) { handle_.promise().start(loop, continuation); }
  /// The result of an ended task, or throws what it threw.
  T take() { return handle_.promise().take(); }

  struct Awaiter {
    std::coroutine_handle<Promise<T>> child;
    bool await_ready() const noexcept { return false; }
    template <class Parent>
    void await_suspend(std::coroutine_handle<Parent> parent) const {
      child.promise().start(parent.promise().loop(), parent.promise());
    }
    T await_resume() const { return child.promise().take(); }
  };
  Awaiter operator co_await() const& noexcept { return {handle_}; }
  Awaiter operator co_await() const&& noexcept { return {handle_}; }

 private:
  friend Promise<T>;
  explicit Task(std::coroutine_handle<Promise<T>> handle) : handle_(handle) {}
  std::coroutine_handle<Promise<T>> handle_;
};

template <class T>
Task<T> Promise<T>::get_return_object() {
  return Task<T>(std::coroutine_handle<Promise<T>>::from_promise(*this));
}
inline Task<void> Promise<void>::get_return_object() { return Task<void>(std::coroutine_handle<Promise<void>>::from_promise(*this)); }

/// `co_await current_loop` gives the loop that runs the calling coroutine.
struct CurrentLoop {
  struct Awaiter {
    Loop* loop{};
    bool await_ready() const noexcept { return false; }
    template <class Parent>
    bool await_suspend(std::coroutine_handle<Parent> parent) {
      loop = &parent.promise().loop();
      return false;
    }
    Loop& await_resume() const { return *loop; }
  };
  Awaiter operator co_await() const noexcept { return {}; }
};
inline constexpr CurrentLoop current_loop{};

struct Loop::SleepAwaiter final : Timer {
  SleepAwaiter(Loop& on, Duration time) : loop(on), delay(time) {}
  bool await_ready() const noexcept { return delay <= Duration::zero(); }
  template <class Parent>
  void await_suspend(std::coroutine_handle<Parent> parent) {
    waiter = &parent.promise();
    loop.arm(*this, loop.now() + delay);
  }
  void await_resume() const noexcept {}
  void expired() override { loop.post(*waiter); }

  Loop& loop;
  Duration delay;
  ReadyNode* waiter{};
};

inline Loop::SleepAwaiter Loop::sleep_for(Duration delay) { return {*this, delay}; }

/// A task that lets `delay` pass.
inline Task<> sleep_for(Duration delay) {
  Loop& loop = co_await current_loop;
  co_await loop.sleep_for(delay);
}

template <class T>
T Loop::run(Task<T> task) {
  struct End final : ReadyNode {
    void fire() override { done = true; }
    bool done = false;
  } end;
  task.start(*this, end);
  run_until(end.done);
  return task.take();
}

}  // namespace ib::async
