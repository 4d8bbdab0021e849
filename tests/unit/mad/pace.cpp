// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// A limit of MADs a second, on a clock that jumps.
#include <chrono>
#include <cstdint>

#include "async/clock.hpp"
#include "mad/pace.hpp"
#include "support/catch.hpp"

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
  async::FakeClock clock;
  async::Loop loop{clock};
  std::uint64_t sent = 1000;  // before there was a limit
  mad::Pace pace{loop, 100, [this] { return sent; }};

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

}  // namespace mad_pace_tests
