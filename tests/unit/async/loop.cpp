// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The loop: timers in order on a fake clock, real time, and descriptors.
#include "async/loop.hpp"

#include <unistd.h>

#include <memory>
#include <random>
#include <vector>

#include "async/group.hpp"
#include "support/catch.hpp"
#include "support/fake_clock.hpp"

namespace async_loop_tests {

using namespace ib::async;
using namespace std::chrono_literals;

namespace {

Task<> note(std::vector<int>& order, int id, Duration delay) {
  co_await sleep_for(delay);
  order.push_back(id);
}
Task<> three(std::vector<int>& order) {
  Loop& loop = co_await current_loop;
  TaskGroup group(loop);
  group.spawn(note(order, 3, 3s));
  group.spawn(note(order, 1, 1s));
  group.spawn(note(order, 2, 2s));
  co_await group.join();
}

struct PipeReader final : PollSource {
  void ready(short) override {
    char byte{};
    if (::read(fd, &byte, 1) == 1) ++bytes;
    if (bytes == 2) {
      unwatch();
      if (waiter != nullptr) loop->post(*waiter);
    }
  }
  bool await_ready() const { return bytes == 2; }
  template <class Parent>
  void await_suspend(std::coroutine_handle<Parent> parent) {
    waiter = &parent.promise();
  }
  void await_resume() const {}
  int fd{};
  int bytes{};
  Loop* loop{};
  ReadyNode* waiter{};
};
Task<> read_two(PipeReader& reader) { co_await reader; }
Task<> write_two(int fd) {
  co_await sleep_for(1ms);
  if (::write(fd, "a", 1) != 1) throw std::runtime_error("write");
  co_await sleep_for(1ms);
  if (::write(fd, "b", 1) != 1) throw std::runtime_error("write");
}
Task<> both(PipeReader& reader, int fd) {
  Loop& loop = co_await current_loop;
  TaskGroup group(loop);
  group.spawn(read_two(reader));
  group.spawn(write_two(fd));
  co_await group.join();
}

struct Tick final : Timer {
  void expired() override { fired->push_back(value); }
  int value{};
  std::vector<int>* fired{};
};

}  // namespace

TEST_CASE("on a fake clock sleeping takes no time and keeps order") {
  ibtest::FakeClock clock;
  Loop loop(clock);
  std::vector<int> order;
  loop.run(three(order));
  REQUIRE(order == std::vector<int>{1, 2, 3});
  REQUIRE(clock.now() == Time{} + 3s);
}

TEST_CASE("in real time a sleep is not short and not much too long") {
  Loop loop;
  const Time start = loop.now();
  loop.run(sleep_for(20ms));
  const Duration took = loop.now() - start;
  REQUIRE(took >= 20ms);
  REQUIRE(took < 2s);
}

TEST_CASE("descriptors wake the loop") {
  int fds[2];
  REQUIRE(::pipe(fds) == 0);
  Loop loop;
  PipeReader reader;
  reader.fd = fds[0];
  reader.loop = &loop;
  loop.watch(reader, fds[0], POLLIN);
  loop.run(both(reader, fds[1]));
  REQUIRE(reader.bytes == 2);
  ::close(fds[0]);
  ::close(fds[1]);
}

TEST_CASE("timers come in order of their deadlines, however they are armed, moved and disarmed") {
  std::mt19937 random(7);
  TimerHeap heap;
  std::vector<int> fired;
  std::vector<std::unique_ptr<Tick>> ticks;
  std::vector<int> expected;
  for (int i = 0; i < 500; ++i) {
    auto tick = std::make_unique<Tick>();
    tick->fired = &fired;
    tick->value = i;
    heap.arm(*tick, Time{} + Duration(random() % 1000));
    heap.arm(*tick, Time{} + Duration(1000 * ((i * 7919) % 500) + 1));
    ticks.push_back(std::move(tick));
  }
  for (int i = 0; i < 500; i += 3) ticks[static_cast<std::size_t>(i)]->disarm();
  for (int i = 0; i < 500; i += 50) ticks[static_cast<std::size_t>(i)].reset();
  while (!heap.empty()) {
    const Time next = heap.next();
    REQUIRE(heap.pop_due(next - Duration(1)) == nullptr);
    Timer* timer = heap.pop_due(next);
    REQUIRE(timer != nullptr);
    timer->expired();
    REQUIRE_FALSE(timer->armed());
  }
  for (int slot = 0; slot < 500; ++slot) {
    for (int i = 0; i < 500; ++i) {
      if ((i * 7919) % 500 == slot && i % 3 != 0 && i % 50 != 0) expected.push_back(i);
    }
  }
  REQUIRE(fired == expected);
}

namespace {

/// Reads a byte at a time from a pipe and notes the time of a timer beside it.
struct SlowReader final : PollSource {
  void ready(short) override {
    char byte{};
    if (::read(fd, &byte, 1) == 1) ++bytes;
  }
  int fd{};
  std::size_t bytes{};
};
struct Deadline final : Timer {
  explicit Deadline(const SlowReader& r) : reader(r) {}
  void expired() override { bytes_at_end = reader.bytes; }
  const SlowReader& reader;
  std::size_t bytes_at_end{};
};

}  // namespace

TEST_CASE("data that arrived during a stall is read before timers fire") {
  int ends[2];
  REQUIRE(::pipe(ends) == 0);
  const std::string bytes(50, 'x');
  REQUIRE(::write(ends[1], bytes.data(), bytes.size()) == 50);
  ibtest::FakeClock clock;
  Loop loop(clock);
  SlowReader reader;
  reader.fd = ends[0];
  Deadline deadline(reader);
  loop.watch(reader, ends[0], POLLIN);
  loop.arm(deadline, loop.now() + 1s);
  clock.advance(1min);
  loop.run(sleep_for(1s));
  CHECK(deadline.bytes_at_end == 50);
  reader.unwatch();
  ::close(ends[0]);
  ::close(ends[1]);
}

TEST_CASE("a descriptor that is always ready does not hold up timers") {
  int ends[2];
  REQUIRE(::pipe(ends) == 0);
  REQUIRE(::write(ends[1], "x", 1) == 1);
  struct Deaf final : PollSource {
    void ready(short) override {}
  } deaf;
  ibtest::FakeClock clock;
  Loop loop(clock);
  loop.watch(deaf, ends[0], POLLIN);
  loop.run(sleep_for(1s));
  CHECK(loop.now() == Time{} + 1s);
  deaf.unwatch();
  ::close(ends[0]);
  ::close(ends[1]);
}

}  // namespace async_loop_tests
