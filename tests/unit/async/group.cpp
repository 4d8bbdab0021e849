// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Groups and windows: the first error cancels the rest, and never more than the limit run at once.
#include "async/group.hpp"

#include <algorithm>
#include <ranges>
#include <stdexcept>

#include "support/catch.hpp"
#include "support/fake_clock.hpp"

namespace async_group_tests {

using namespace ib::async;
using namespace std::chrono_literals;

namespace {

struct Counters {
  int running = 0, most = 0, ended = 0, destroyed = 0;
};
struct Presence {
  Counters& c;
  explicit Presence(Counters& counters) : c(counters) { c.most = std::max(c.most, ++c.running); }
  ~Presence() {
    --c.running;
    ++c.destroyed;
  }
};
Task<> work(Counters& counters, Duration time) {
  const Presence presence(counters);
  co_await sleep_for(time);
  ++counters.ended;
}
Task<> fail_after(Duration time) {
  co_await sleep_for(time);
  throw std::runtime_error("first");
}
Task<> failing_group(Counters& counters) {
  Loop& loop = co_await current_loop;
  TaskGroup group(loop);
  group.spawn(work(counters, 1s));
  group.spawn(work(counters, 1h));
  group.spawn(fail_after(2s));
  group.spawn(fail_after(3s));
  co_await group.join();
}
Task<> numbers(Counters& counters, int count, std::size_t limit) {
  const auto one = [&counters](int i) { return work(counters, Duration(1ms) * (1 + i % 3)); };
  co_await for_each(std::views::iota(0, count), limit, one);
}
Task<> abandoned(Counters& counters) {
  Loop& loop = co_await current_loop;
  TaskGroup group(loop);
  group.spawn(work(counters, 1h));
  group.spawn(work(counters, 1h));
  co_await sleep_for(1s);
}
Task<> one_item(int item, int fail_at) {
  co_await sleep_for(1ms);
  if (item == fail_at) throw std::runtime_error("item");
}
Task<> fail_in_range(int& pulled) {
  const auto pull = [&pulled](int i) {
    ++pulled;
    return i;
  };
  co_await for_each(std::views::iota(0, 1000) | std::views::transform(pull), 4, [](int i) { return one_item(i, 10); });
}

}  // namespace

TEST_CASE("the first error of a group cancels the rest") {
  ibtest::FakeClock clock;
  Loop loop(clock);
  Counters counters;
  REQUIRE_THROWS_WITH(loop.run(failing_group(counters)), "first");
  REQUIRE(counters.ended == 1);
  REQUIRE(counters.destroyed == 2);
  REQUIRE(clock.now() == Time{} + 2s);
}

TEST_CASE("a group that dies takes its tasks along") {
  ibtest::FakeClock clock;
  Loop loop(clock);
  Counters counters;
  loop.run(abandoned(counters));
  REQUIRE(counters.ended == 0);
  REQUIRE(counters.destroyed == 2);
}

TEST_CASE("for_each keeps its window full and never fuller") {
  ibtest::FakeClock clock;
  Loop loop(clock);
  for (const std::size_t limit : {1U, 3U, 32U}) {
    Counters counters;
    const Time start = clock.now();
    loop.run(numbers(counters, 300, limit));
    REQUIRE(counters.ended == 300);
    REQUIRE(counters.most == static_cast<int>(limit));
    REQUIRE(clock.now() - start < 600ms / limit + 10ms);
  }
  Counters none;
  loop.run(numbers(none, 0, 4));
  REQUIRE(none.ended == 0);
}

TEST_CASE("for_each reads a lazy range only as fast as it works, and stops at an error") {
  ibtest::FakeClock clock;
  Loop loop(clock);
  int pulled = 0;
  REQUIRE_THROWS_WITH(loop.run(fail_in_range(pulled)), "item");
  REQUIRE(pulled <= 16);
}

}  // namespace async_group_tests
