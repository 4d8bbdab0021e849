// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Running several tasks at once. A TaskGroup owns its tasks. The first task that throws cancels the others, and join() throws its error.
// The destructor of the group cancels all tasks. for_each() is a loop over a lazy range with a limited number of tasks at a time.
#pragma once

#include <cstddef>
#include <exception>
#include <list>
#include <ranges>
#include <utility>

#include "async/task.hpp"

namespace ib::async {

/// Runs tasks together and owns them. The first error cancels the other tasks.
class TaskGroup {
 public:
  explicit TaskGroup(Loop& loop) : loop_(loop) {}
  TaskGroup(const TaskGroup&) = delete;
  TaskGroup& operator=(const TaskGroup&) = delete;

  /// Starts `task`. After a task of the group has failed, no task starts any more and `task` is dropped.
  void spawn(Task<> task) {
    if (error_) return;
    children_.emplace_back(*this, std::move(task));
    children_.back().begin(std::prev(children_.end()));
  }
  std::size_t running() const { return children_.size(); }

  /// Waits until all tasks have ended. If a task failed, throws the first error; all other tasks are then destroyed.
  Task<> join();

  /// co_await waits until fewer than `limit` tasks run, and throws the first error of a task.
  struct Below {
    TaskGroup& group;
    std::size_t limit;
    Below(TaskGroup& g, std::size_t l) : group(g), limit(l) {}
    Below(const Below&) = delete;
    Below& operator=(const Below&) = delete;
    ~Below() {
      if (group.waiting_ == this) group.waiting_ = nullptr;
    }
    bool await_ready() const noexcept { return group.error_ || group.running() < limit; }
    template <class Parent>
    void await_suspend(std::coroutine_handle<Parent> parent) {
      waiter = &parent.promise();
      group.waiting_ = this;
    }
    void await_resume() const {
      if (group.error_) std::rethrow_exception(group.error_);
    }
    ReadyNode* waiter{};
  };
  /// Only one coroutine may wait at a time.
  Below wait_below(std::size_t limit) { return {*this, limit}; }

 private:
  struct Child final : ReadyNode {
    Child(TaskGroup& in, Task<> work) : group(in), task(std::move(work)) {}
    void begin(std::list<Child>::iterator self) {
      place = self;
      task.start(group.loop_, *this);
    }
    void fire() override { group.ended(place); }
    TaskGroup& group;
    Task<> task;
    std::list<Child>::iterator place;
  };

  // The loop calls this, never a task of the group, so destroying tasks is safe here.
  void ended(std::list<Child>::iterator child) {
    try {
      child->task.take();
    } catch (...) {
      error_ = std::current_exception();
    }
    if (error_) {
      children_.clear();
    } else {
      children_.erase(child);
    }
    if (waiting_ != nullptr && (error_ || running() < waiting_->limit)) {
      loop_.post(*std::exchange(waiting_, nullptr)->waiter);
    }
  }

  Loop& loop_;
  std::list<Child> children_;
  std::exception_ptr error_;
  Below* waiting_{};
};

namespace detail {
template <class View, class Fn>
Task<> for_each(View view, std::size_t limit, Fn fn) {
  Loop& loop = co_await current_loop;
  TaskGroup group(loop);
  for (auto&& item : view) {
    co_await group.wait_below(limit);
    group.spawn(fn(item));
  }
  co_await group.wait_below(1);
}
}  // namespace detail

/// Runs `fn(item)`, a Task<>, for every item of `range`, at most `limit` (≥ 1) at a time. An item is read only when a task may
/// start for it. The range may grow meanwhile if its iterators allow it. The first error cancels the other tasks. An lvalue
/// range must outlive the returned task.
template <std::ranges::viewable_range Range, class Fn>
Task<> for_each(Range&& range, std::size_t limit, Fn fn) {
  return detail::for_each(std::views::all(std::forward<Range>(range)), limit, std::move(fn));
}

}  // namespace ib::async
