// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "async/event.hpp"

#include <stdexcept>
#include <string>

#include "async/group.hpp"
#include "support/catch.hpp"

namespace async_event_tests {

using namespace ib::async;
using namespace std::chrono_literals;

namespace {

Task<> tell(Event& event, std::string& told, char name) {
  co_await event;
  told += name;
}

Task<> set_after(Event& event, Duration time) {
  co_await sleep_for(time);
  event.set();
}

Task<> several(std::string& told) {
  Loop& loop = co_await current_loop;
  Event event;
  TaskGroup group(loop);
  for (const char name : {'a', 'b', 'c'}) group.spawn(tell(event, told, name));
  {
    TaskGroup cancelled(loop);
    cancelled.spawn(tell(event, told, 'x'));
    co_await sleep_for(1ms);
  }
  group.spawn(set_after(event, 1ms));
  co_await group.join();
  co_await tell(event, told, 'd');
}

}  // namespace

TEST_CASE("an event wakes all waiting tasks in order but for cancelled ones, and later tasks do not wait") {
  Loop loop;
  std::string told;
  loop.run(several(told));
  REQUIRE(told == "abcd");
}

TEST_CASE("waiting for an event that cannot be set is an error of the program") {
  Loop loop;
  Event event;
  std::string told;
  REQUIRE_THROWS_AS(loop.run(tell(event, told, 'a')), std::logic_error);
  REQUIRE(told.empty());
}

}  // namespace async_event_tests
