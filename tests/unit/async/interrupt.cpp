// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "async/interrupt.hpp"

#include <csignal>

#include "support/catch.hpp"

using namespace ib::async;
using namespace std::chrono_literals;

namespace {

Task<> raise_after(Loop& loop, Duration delay, int signal) {
  co_await loop.sleep_for(delay);
  std::raise(signal);
  co_await loop.sleep_for(1h);
}

Task<> sleep(Loop& loop, Duration delay) { co_await loop.sleep_for(delay); }

}  // namespace

TEST_CASE("a signal cancels the work and leaves the program alive") {
  for (const int signal : {SIGINT, SIGTERM}) {
    Loop loop;
    const Time start = loop.now();
    loop.run(until_interrupted(loop, raise_after(loop, 5ms, signal)));
    REQUIRE(loop.now() - start < 10s);
  }
}

TEST_CASE("work that no signal cancels ends by itself") {
  Loop loop;
  loop.run(until_interrupted(loop, sleep(loop, 5ms)));
}

TEST_CASE("a signal that came before anybody waited is not lost") {
  Loop loop;
  Interrupt interrupt(loop);
  std::raise(SIGTERM);
  loop.run(interrupt.wait());
  loop.run(interrupt.wait());
}

TEST_CASE("signals do what they did before once nobody waits for them") {
  Loop loop;
  { Interrupt interrupt(loop); }
  struct sigaction now {};
  REQUIRE(::sigaction(SIGINT, nullptr, &now) == 0);
  REQUIRE(now.sa_handler == SIG_DFL);
}
