// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The SLs of pairs, packed as they are, beside a plain table.
#include "routing/tables.hpp"

#include <map>
#include <random>
#include <utility>

#include "support/catch.hpp"

namespace routing_service_levels_tests {

using namespace ib::routing;

TEST_CASE("the SL of each pair is what was set last, and pairs that were not set are not known") {
  constexpr std::size_t senders = 7, destinations = 5;  // odd: rows begin in the middle of a byte
  ServiceLevels levels(senders, destinations);
  std::map<std::pair<std::size_t, std::size_t>, unsigned> plain;
  std::mt19937 random(4);
  for (unsigned round = 0; round < 200; ++round) {
    const std::size_t from = random() % senders, to = random() % destinations;
    const auto sl = static_cast<unsigned>(random() % (round < 20 ? 15 : 16));  // SL 15 comes late
    levels.set(from, to, sl);
    plain[{from, to}] = sl;
    for (std::size_t sender = 0; sender < senders; ++sender) {
      for (std::size_t destination = 0; destination < destinations; ++destination) {
        const auto known = plain.find({sender, destination});
        REQUIRE(levels.is_known(sender, destination) == (known != plain.end()));
        const SlSet expected = known == plain.end() ? all_sls : SlSet{1} << known->second;
        REQUIRE(levels.of(sender, destination, UnknownSl::possible) == expected);
      }
    }
  }
}

TEST_CASE("the SLs of pairs that are not known are all, or stand for any") {
  CHECK(ServiceLevels().of(3, 4, UnknownSl::possible) == all_sls);
  CHECK(ServiceLevels().of(3, 4, UnknownSl::certain) == 1U << 16);
  CHECK(ServiceLevels(5U).of(3, 4, UnknownSl::certain) == 5);
  CHECK(ServiceLevels(5U).is_known(3, 4));
  CHECK_FALSE(ServiceLevels(2, 2).is_known(1, 1));
}

}  // namespace routing_service_levels_tests
