// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Task<T>: a coroutine that starts when it is awaited and gives a T, or an exception, to the awaiting coroutine. There is no
// symmetric transfer: co_await puts the child on the queue of the loop, and the end of the child puts the parent there. The
// stack therefore stays flat at every optimisation level. A Task owns its frame. Destroying a Task at any suspension point
// cancels its work and everything that it awaits.
//
// g++ 12 compiles the following wrongly; do not write it:
//  - an aggregate with a non-trivial member, or a lambda that captures by value, made within a co_await expression: it is
//    destroyed twice. Give it a name first. A lambda with captures must not be a coroutine itself;
//  - a conditional expression between two tasks after co_await: both are destroyed twice. Write if and else;
//  - co_await within braces, default arguments or test assertions, and structured bindings of an awaited result.
// It also puts the code of a coroutine that is inline, and no template, into every file that includes it: define it in a .cpp.
//
// Rules of this project: a coroutine has reference parameters only if the caller awaits it at once; catch blocks only annotate;
// no lock and no thread-local variable lives across a co_await.
#pragma once

#include <coroutine>
#include <cstddef>
#include <exception>
#include <optional>
#include <utility>

#include "async/frames.hpp"
#include "async/loop.hpp"

namespace ib::async {

template <class T = void>
class [[nodiscard]] Task;

/// The part of every promise that the loop and the awaiters use: the coroutine as a ready node.
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

  static void* operator new(std::size_t size) { return allocate_frame(size); }
  static void operator delete(void* frame, std::size_t size) noexcept { free_frame(frame, size); }

  std::suspend_always initial_suspend() const noexcept { return {}; }
  FinalAwaiter final_suspend() const noexcept { return {}; }
  void fire() override { handle_.resume(); }

  Loop& loop() const { return *loop_; }
  /// Starts the coroutine on `loop`. `continuation` is queued when the coroutine ends.
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
    value_.emplace(std::forward<U>(value));
  }
  void unhandled_exception() { error_ = std::current_exception(); }
  T take() {
    if (error_) std::rethrow_exception(error_);
    return *std::move(value_);
  }

 private:
  // Not a variant: one for each type of result takes a seventh of what a file of tools/ costs to compile.
  std::optional<T> value_;
  std::exception_ptr error_;
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

  /// Cancels the task: destroys the frame and everything that the frame awaits.
  void reset() {
    if (handle_) std::exchange(handle_, nullptr).destroy();
  }
  explicit operator bool() const { return static_cast<bool>(handle_); }

  /// Runs the task on `loop` and queues `continuation` at its end. For code that starts tasks (the loop, groups).
  void start(Loop& loop, ReadyNode& continuation) { handle_.promise().start(loop, continuation); }
  /// Returns the result of an ended task or throws its exception.
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
inline Loop::SleepAwaiter Loop::yield() { return {*this, Duration(1)}; }

Task<> sleep_for(Duration delay);

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
