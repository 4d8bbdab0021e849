// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// A limit of MADs a second, on a clock that jumps.
#include <algorithm>
#include <chrono>
#include <cstdint>

#include "async/group.hpp"
#include "mad/pace.hpp"
#include "support/catch.hpp"
#include "support/fake_clock.hpp"

namespace mad_pace_tests {

using namespace ib;
using namespace std::chrono_literals;

namespace {

/// Takes so many turns, in each of which `mads` leave.
async::Task<> take(mad::Pace& pace, unsigned turns, unsigned mads, std::uint64_t& sent) {
  for (unsigned turn = 0; turn < turns; ++turn) {
    co_await pace.turn();
    sent += mads;
  }
}

struct Paced {
  ibtest::FakeClock clock;
  async::Loop loop{clock};
  std::uint64_t sent = 1000;  // before there was a limit
  mad::Pace pace{loop, 100, [this] { return sent; }};

  async::Task<> take_one(mad::Pace::Urgency urgency, async::Time& last) {
    co_await pace.turn(urgency);
    ++sent;
    last = std::max(last, loop.now());
  }
  async::Duration time_of(unsigned turns, unsigned mads) {
    const async::Time begun = loop.now();
    loop.run(take(pace, turns, mads, sent));
    return loop.now() - begun;
  }
};

}  // namespace

TEST_CASE_METHOD(Paced, "Pace: so many turns a second, and not all at once after a pause") {
  const async::Duration first = time_of(101, 1);
  CHECK(first >= 990ms);
  CHECK(first <= 1000ms);
  clock.advance(1h);
  CHECK(time_of(101, 1) >= 990ms);
}

TEST_CASE_METHOD(Paced, "Pace: what is sent beside turns takes the next ones") {
  const async::Duration time = time_of(101, 3);  // two of three are tries again
  CHECK(time >= 2970ms);
  CHECK(time <= 3010ms);
}

TEST_CASE_METHOD(Paced, "Pace: urgent turns come before usual ones that wait, and both together keep the limit") {
  async::Time last_urgent{}, last_usual{};
  const async::Time begun = loop.now();
  {
    async::TaskGroup group(loop);
    for (unsigned count = 0; count < 200; ++count) group.spawn(take_one(mad::Pace::Urgency::usual, last_usual));
    loop.run(async::sleep_for(500ms));
    for (unsigned count = 0; count < 50; ++count) group.spawn(take_one(mad::Pace::Urgency::urgent, last_urgent));
    loop.run(group.join());
  }
  CHECK(last_urgent - begun >= 980ms);
  CHECK(last_urgent - begun <= 1010ms);
  CHECK(last_usual - begun >= 2480ms);
  CHECK(last_usual - begun <= 2510ms);
}

}  // namespace mad_pace_tests
