// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The share of time in which a port waited. A lane of EDR carries 25 Gb/s of data: 3.125e9 octets a second.
#include "counters/difference.hpp"

#include "support/catch.hpp"

using namespace ib;
using counters::waiting_share;
using subnet::LinkRate;
using subnet::Speed;

TEST_CASE("Waiting: a tick is one more symbol time of a lane than the PMA reports") {
  const LinkRate edr{4, Speed::edr}, sdr{4, Speed::sdr};
  CHECK(*waiting_share(0, 31, 10, edr) == 0);
  // Switch-IB: 32 octets of a lane are 10.24 ns.
  CHECK(*waiting_share(1'000'000, 31, 1, edr) == Approx(0.01024));
  CHECK(*waiting_share(1'000'000, 31, 10, edr) == Approx(0.001024));
  CHECK(*waiting_share(1'000'000, 31, 1, {1, Speed::edr}) == Approx(0.01024));
  CHECK(*waiting_share(250'000'000, 0, 2, sdr) == Approx(0.5));  // 4 ns: ten bits at 2.5 Gb/s
}

TEST_CASE("Waiting: a tick of 7 is 8 octets of the whole port") {
  CHECK(*waiting_share(390'625'000, 7, 1, {4, Speed::edr}) == Approx(0.25));
  CHECK(*waiting_share(390'625'000, 7, 1, {1, Speed::edr}) == Approx(1.0));
}

TEST_CASE("Waiting: a share is never above 1, and unknown where the rate or the time is") {
  CHECK(*waiting_share(~std::uint64_t{0}, 255, 1, {4, Speed::edr}) == 1);
  CHECK_FALSE(waiting_share(1, 31, 1, {}));
  CHECK_FALSE(waiting_share(1, 31, 1, {4, Speed::unknown}));
  CHECK_FALSE(waiting_share(1, 31, 0, {4, Speed::edr}));
}
