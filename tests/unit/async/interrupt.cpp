// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "async/interrupt.hpp"

#include <csignal>

#include "async/group.hpp"
#include "support/catch.hpp"

using namespace ib::async;
using namespace std::chrono_literals;

namespace {

Task<> raise_after(Loop& loop, Duration delay, int signal) {
  co_await loop.sleep_for(delay);
  std::raise(signal);
  co_await loop.sleep_for(1h);
}

/// Ends with the first of both.
Task<> work_or_signal(Loop& loop, Interrupt& interrupt, int signal) {
  TaskGroup group(loop);
  group.spawn(raise_after(loop, 5ms, signal));
  group.spawn(interrupt.wait());
  co_await group.wait_below(2);
}

}  // namespace

TEST_CASE("a signal completes the wait and leaves the program alive") {
  for (const int signal : {SIGINT, SIGTERM}) {
    Loop loop;
    Interrupt interrupt(loop);
    const Time start = loop.now();
    loop.run(work_or_signal(loop, interrupt, signal));
    REQUIRE(loop.now() - start < 10s);
    loop.run(interrupt.wait());  // it has come already
  }
}

TEST_CASE("signals do what they did before once nobody waits for them") {
  Loop loop;
  { Interrupt interrupt(loop); }
  struct sigaction now {};
  REQUIRE(::sigaction(SIGINT, nullptr, &now) == 0);
  REQUIRE(now.sa_handler == SIG_DFL);
}
