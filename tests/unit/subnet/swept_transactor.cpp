// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// What a sweep read of a node is what the node answers, by whatever way it is asked.
#include "subnet/sweep/swept_transactor.hpp"

#include "iba-gen/smp.hpp"
#include "support/catch.hpp"
#include "support/small_fabric.hpp"
#include "unit/subnet/swept.hpp"

namespace subnet_swept_transactor_tests {

using namespace ib;
using ibtest::Swept;

namespace {

/// The nodes of the fabric by several routes and by their LIDs.
std::vector<path::Path> ways(const ibtest::TwoWayFabric& two) {
  std::vector<path::Path> all;
  for (const std::vector<std::uint8_t>& ports :
       std::vector<std::vector<std::uint8_t>>{{}, {1}, {1, 2}, {1, 3}, {1, 2, 3}, {1, 3, 4}, {1, 2, 4}, {1, 1}, {1, 4}, {1, 3, 4, 1}}) {
    all.push_back(two.by_route(ports));
    all.back().ib().retries = 0;
  }
  for (const unsigned lid : {1U, 2U, 3U, 4U}) all.push_back(two.by_lid(lid));
  return all;
}

async::Task<> ask(mad::Transactor& transactor, path::Path path, const StructInfo& info, std::uint32_t modifier,
                  mad::Result<std::vector<std::uint8_t>>& answer) {
  answer = co_await transactor.try_get(path, info, modifier);
}

}  // namespace

TEST_CASE("answers from a sweep equal the answers of the nodes") {
  ibtest::TwoWayFabric two;
  Swept swept(two.fabric);
  const auto model = std::make_unique<subnet::SweptSubnet>(std::move(swept));
  subnet::SweptTransactor known(*swept.rpc, model);
  unsigned answers = 0;
  for (const path::Path& path : ways(two)) {
    for (const StructInfo* info : {&smp::NodeInfo::info(), &smp::NodeDescription::info(), &smp::SwitchInfo::info(), &smp::PortInfo::info(),
                                   &smp::PKeyTable::info()}) {
      for (const std::uint32_t modifier : {0U, 1U, 2U, 4U, 200U}) {
        if (modifier != 0 && info != &smp::PortInfo::info()) continue;
        INFO(to_text(path) << " " << info->name << " " << modifier);
        const std::uint64_t before = swept.sent();
        mad::Result<std::vector<std::uint8_t>> told{std::vector<std::uint8_t>()}, live = told;
        swept.loop.run(ask(known, path, *info, modifier, told));
        if (swept.sent() != before) continue;  // the sweep has not read it
        swept.loop.run(ask(*swept.rpc, path, *info, modifier, live));
        REQUIRE(told);
        REQUIRE(live);
        CHECK(*told == *live);
        ++answers;
      }
    }
  }
  CHECK(answers > 50);
}

TEST_CASE("after a Set nothing is known any more, nor once the model has gone") {
  ibtest::TwoWayFabric two;
  Swept swept(two.fabric);
  auto model = std::make_unique<subnet::SweptSubnet>(std::move(swept));
  const path::Path leaf = ways(two)[1];
  mad::Result<std::vector<std::uint8_t>> answer{std::vector<std::uint8_t>()};
  const auto sent_for = [&](mad::Transactor& transactor) {
    const std::uint64_t before = swept.sent();
    swept.loop.run(ask(transactor, leaf, smp::PortInfo::info(), 2, answer));
    return swept.sent() - before;
  };
  subnet::SweptTransactor one(*swept.rpc, model), other(*swept.rpc, model);
  CHECK(sent_for(one) == 0);
  const auto set = [](mad::Transactor& transactor, path::Path path, Bytes value) -> async::Task<> {
    std::ignore = co_await transactor.try_set(path, smp::PortInfo::info(), 2, value);
  };
  swept.loop.run(set(one, leaf, Bytes(*answer)));
  CHECK(sent_for(one) == 1);
  CHECK(sent_for(other) == 0);
  model.reset();
  CHECK(sent_for(other) == 1);
}

}  // namespace subnet_swept_transactor_tests
