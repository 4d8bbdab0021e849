// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The table of tries against a map, in every pattern of coming and going.
#include "mad/rpc/rpc.hpp"

#include <map>
#include <random>

#include "mad/rpc/call.hpp"
#include "scripted.hpp"
#include "support/catch.hpp"

namespace mad_try_table_tests {

using namespace ib;
using namespace ib::mad;

TEST_CASE("the table finds exactly the open tries, and knows which IDs it gave before") {
  ibtest::Bench bench(ibtest::echo({}));
  TryTable table(*bench.channel);
  const auto mad_with = [](std::uint64_t tid) {
    Packet mad{};
    store_be(&mad[8], tid);
    return mad;
  };
  std::mt19937 random(3);
  std::map<std::uint64_t, RpcTry*> open;
  std::vector<std::uint64_t> ended;
  for (int step = 0; step < 20000; ++step) {
    if (random() % 100 < 52 && open.size() < 300) {
      RpcTry& made = table.add(*bench.rpc);
      made.mgmt_class = 0;
      REQUIRE(made.tid != 0);
      REQUIRE(open.emplace(made.tid, &made).second);
    } else if (!open.empty()) {
      auto victim = open.begin();  // most are old, as lost tries are
      if (random() % 4 == 0) std::advance(victim, static_cast<long>(random() % open.size()));
      ended.push_back(victim->first);
      table.remove(*victim->second);
      open.erase(victim);
    }
    if (step % 100 != 0) continue;
    for (const auto& [tid, attempt] : open) {
      REQUIRE(table.find(mad_with(tid)) == attempt);
      REQUIRE_FALSE(table.is_late(mad_with(tid)));
    }
    for (std::size_t i = 0; i < ended.size(); i += 7) {
      REQUIRE(table.find(mad_with(ended[i])) == nullptr);
      REQUIRE(table.is_late(mad_with(ended[i])));
    }
  }
  Packet other_class = mad_with(open.begin()->first);
  other_class[1] = 4;
  CHECK(table.find(other_class) == nullptr);
}

}  // namespace mad_try_table_tests
