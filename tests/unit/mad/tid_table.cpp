// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The table of open transactions against a map, in every pattern of coming and going.
#include "mad/rpc/tid_table.hpp"

#include <map>
#include <random>

#include "support/catch.hpp"

namespace mad_tid_table_tests {

TEST_CASE("the table finds exactly what is in it") {
  std::mt19937 random(3);
  ib::mad::TidTable<int> table;
  std::map<std::uint32_t, int*> model;
  static int values[4096];
  std::uint32_t tid = 0xfffffe00U;  // wraps on the way
  for (int step = 0; step < 20000; ++step) {
    const bool collide = random() % 8 == 0;
    const std::uint32_t id = collide ? tid + 64 * static_cast<std::uint32_t>(random() % 50) : ++tid;
    if (random() % 100 < 52 && model.size() < 300) {
      if (!model.contains(id)) {
        int& value = values[step % 4096];
        model[id] = &value;
        table.insert(id, value);
      }
    } else if (!model.empty()) {
      auto victim = model.begin();
      std::advance(victim, static_cast<long>(random() % model.size()));
      table.erase(victim->first);
      table.erase(victim->first);  // erasing what is not there does nothing
      model.erase(victim);
    }
    REQUIRE(table.size() == model.size());
    if (step % 100 == 0) {
      for (const auto& [key, value] : model) REQUIRE(table.find(key) == value);
      for (std::uint32_t probe = tid - 400; probe != tid + 400; ++probe) {
        if (!model.contains(probe)) REQUIRE(table.find(probe) == nullptr);
      }
    }
  }
}

}  // namespace mad_tid_table_tests
