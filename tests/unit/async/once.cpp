// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "async/once.hpp"

#include <optional>
#include <stdexcept>
#include <string>

#include "async/group.hpp"
#include "support/catch.hpp"

namespace async_once_tests {

using namespace ib::async;
using namespace std::chrono_literals;

namespace {

using Answer = std::optional<int>;
using Answers = Once<std::string, Answer>;

struct Asked {
  int begun = 0;
  bool fails = false, throws = false;
};

Task<Answer> ask(Asked& asked, int value) {
  ++asked.begun;
  co_await sleep_for(10ms);
  if (asked.throws) throw std::runtime_error("no");
  if (asked.fails) co_return std::nullopt;
  co_return value;
}

Task<> want(Answers& answers, Asked& asked, std::string key, int value, std::string& told) {
  Task<Answer> getting = ask(asked, value);
  getting = answers.get(std::move(key), std::move(getting));
  const Answer answer = co_await std::move(getting);
  told += answer ? std::to_string(*answer) : "-";
}

/// Three tasks want the value of "a" at once, and one that of "b".
Task<> several(Answers& answers, Asked& asked, std::string& told) {
  Loop& loop = co_await current_loop;
  TaskGroup group(loop);
  for (const int value : {1, 2, 3}) group.spawn(want(answers, asked, "a", value, told));
  group.spawn(want(answers, asked, "b", 4, told));
  co_await group.join();
}

Task<> cancel_the_first(Answers& answers, Asked& asked, std::string& told) {
  Loop& loop = co_await current_loop;
  TaskGroup waiting(loop);
  {
    TaskGroup first(loop);
    first.spawn(want(answers, asked, "a", 1, told));
    co_await sleep_for(1ms);
    waiting.spawn(want(answers, asked, "a", 2, told));
    waiting.spawn(want(answers, asked, "a", 3, told));
    co_await sleep_for(1ms);
  }
  co_await waiting.join();
}

}  // namespace

TEST_CASE("a value that several tasks want at once is fetched once, and not again later") {
  Loop loop;
  Answers answers;
  Asked asked;
  std::string told;
  loop.run(several(answers, asked, told));
  REQUIRE(told == "1411");
  REQUIRE(asked.begun == 2);
  REQUIRE(*answers.find("a") == 1);
  loop.run(want(answers, asked, "a", 5, told));
  REQUIRE(told == "14111");
  REQUIRE(asked.begun == 2);
}

TEST_CASE("a failure goes to all waiting tasks, and is not kept") {
  Loop loop;
  Answers answers;
  Asked asked{.fails = true};
  std::string told;
  loop.run(several(answers, asked, told));
  REQUIRE(told == "----");
  REQUIRE(asked.begun == 2);
  REQUIRE(answers.find("a") == nullptr);
  asked.fails = false;
  loop.run(want(answers, asked, "a", 5, told));
  REQUIRE(told == "----5");
}

TEST_CASE("where the fetching task is cancelled, the next task fetches") {
  Loop loop;
  Answers answers;
  Asked asked;
  std::string told;
  loop.run(cancel_the_first(answers, asked, told));
  REQUIRE(told == "22");
  REQUIRE(asked.begun == 2);
}

TEST_CASE("where fetching throws, the next task fetches") {
  Loop loop;
  Answers answers;
  Asked asked{.throws = true};
  std::string told;
  REQUIRE_THROWS_AS(loop.run(want(answers, asked, "a", 1, told)), std::runtime_error);
  asked.throws = false;
  loop.run(want(answers, asked, "a", 2, told));
  REQUIRE(told == "2");
}

}  // namespace async_once_tests
