// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Tasks: values, exceptions, laziness, depth, and that destroying one cancels all it awaits.
#include "async/task.hpp"

#include <memory>
#include <stdexcept>
#include <string>

#include "support/catch.hpp"
#include "support/fake_clock.hpp"

namespace async_task_tests {

using namespace ib::async;
using namespace std::chrono_literals;

namespace {

Task<int> answer() { co_return 42; }
Task<int> add(int a, int b) { co_return a + b; }
Task<std::unique_ptr<int>> boxed(int n) { co_return std::make_unique<int>(n); }
Task<> fail() {
  throw std::runtime_error("broken");
  co_return;
}
Task<int> sum() {
  const int a = co_await answer();
  const int b = co_await add(a, 1);
  std::unique_ptr<int> c = co_await boxed(100);
  co_return a + b + *c;
}
Task<std::string> catcher() {
  std::string text = "nothing";
  try {
    co_await fail();
  } catch (const std::runtime_error& e) {
    text = e.what();
  }
  co_return text;
}
Task<int> depth(int n) {
  if (n == 0) co_return 0;
  const int below = co_await depth(n - 1);
  co_return below + 1;
}
Task<int> many(int n) {
  int total = 0;
  for (int i = 0; i < n; ++i) total += co_await add(i, 0) > 0 ? 1 : 0;
  co_return total;
}
Task<> mark(bool& flag) {
  flag = true;
  co_return;
}

struct Witness {
  int& alive;
  explicit Witness(int& count) : alive(count) { ++alive; }
  ~Witness() { --alive; }
};
Task<> inner(int& alive) {
  const Witness witness(alive);
  co_await sleep_for(1h);
}
Task<> outer(int& alive) {
  const Witness witness(alive);
  co_await inner(alive);
}

struct End final : ReadyNode {
  void fire() override { ended = true; }
  bool ended = false;
};

}  // namespace

TEST_CASE("a task gives its value or its exception to the awaiter") {
  Loop loop;
  const int total = loop.run(sum());
  REQUIRE(total == 42 + 43 + 100);
  const std::string text = loop.run(catcher());
  REQUIRE(text == "broken");
  REQUIRE_THROWS_AS(loop.run(fail()), std::runtime_error);
}

TEST_CASE("a task is lazy") {
  bool ran = false;
  {
    Task<> task = mark(ran);
    REQUIRE(static_cast<bool>(task));
  }
  REQUIRE_FALSE(ran);
  Loop loop;
  loop.run(mark(ran));
  REQUIRE(ran);
}

TEST_CASE("awaiting does not deepen the stack") {
  Loop loop;
  const int below = loop.run(depth(20000));
  REQUIRE(below == 20000);
  const int ran = loop.run(many(200000));
  REQUIRE(ran == 199999);
}

TEST_CASE("destroying a task destroys all that it awaits, its timers included") {
  ibtest::FakeClock clock;
  Loop loop(clock);
  int alive = 0;
  End end;
  Task<> victim = outer(alive);
  victim.start(loop, end);
  loop.run(sleep_for(1s));
  REQUIRE(alive == 2);
  victim.reset();
  REQUIRE(alive == 0);
  loop.run(sleep_for(2h));
  REQUIRE_FALSE(end.ended);
}

TEST_CASE("a task that is destroyed while it is ready does not run") {
  Loop loop;
  bool ran = false;
  End end;
  {
    Task<> task = mark(ran);
    task.start(loop, end);
  }
  loop.run(mark(end.ended));
  REQUIRE_FALSE(ran);
}

TEST_CASE("a task that waits for nothing is reported, not waited for") {
  struct Never {
    bool await_ready() const { return false; }
    void await_suspend(std::coroutine_handle<>) const {}
    void await_resume() const {}
  };
  struct Local {
    static Task<> wait() { co_await Never{}; }
  };
  Loop loop;
  REQUIRE_THROWS_AS(loop.run(Local::wait()), std::logic_error);
}

}  // namespace async_task_tests
