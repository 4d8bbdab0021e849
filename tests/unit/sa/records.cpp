// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Tables from subnet administrators that are honest, laconic or lie about their sizes.
#include "sa/records.hpp"

#include "iba-gen/sa.hpp"
#include "mad/rpc/rpc.hpp"
#include "support/catch.hpp"
#include "support/fake_clock.hpp"
#include "support/sa_answer.hpp"

namespace sa_records_tests {

using namespace ib;
using ibtest::contains;
using ibtest::FakeFabric;
using ibtest::padded;

namespace {

constexpr std::size_t flags_at = 26, length_at = 32, step_at = 44;

sa::NodeRecord node_record(unsigned lid, std::string_view description) {
  sa::NodeRecord record;
  record.lid = Lid{static_cast<std::uint16_t>(lid)};
  std::copy(description.begin(), description.end(), record.node_description.node_string.begin());
  return record;
}

/// One question to an SA that answers as `play` does.
struct Bench {
  explicit Bench(std::function<FakeFabric::Answer(Bytes)> play) {
    const auto host = fabric.add_ca(0x200, 1, "host"), leaf = fabric.add_switch(0x100, 4, "leaf");
    fabric.link(leaf, 1, host, 1);
    fabric.assign_lids();
    fabric.attach(host);
    fabric.network.gmp = [play](Bytes request, const path::Path&) -> std::optional<FakeFabric::Answer> {
      const bool is_ack = request[25] != 0;
      if (is_ack) return {};
      return play(request);
    };
  }
  sa::Records ask(std::uint8_t method = mad::method::get_table) {
    ibtest::FakeClock clock;
    async::Loop loop(clock);
    mad::Rpc rpc(loop, fabric.open());
    const sa::Pattern pattern(sa::NodeRecord::info());
    mad::Result<sa::Records> result = loop.run(sa::try_records(rpc, rpc.sa_path(), pattern, method));
    return std::move(result).take();
  }
  FakeFabric fabric;
};

FakeFabric::Answer with_status(FakeFabric::Answer mad, std::uint16_t status) {
  store_be<std::uint16_t>(&mad[4], status);
  return mad;
}

}  // namespace

TEST_CASE("a table of one segment") {
  Bench bench([](Bytes request) { return ibtest::sa_table(request, {padded(node_record(7, "seven"))}); });
  const sa::Records records = bench.ask();
  REQUIRE(records.bytes.size() == 1);
  CHECK_FALSE(records.torn);
  CHECK(records.bytes[0].size() == sa::NodeRecord::wire_size);
  CHECK(sa::NodeRecord::unpack(records.bytes[0]).lid == Lid{7});
}

TEST_CASE("an empty table, and an SA that says so by its status") {
  CHECK(Bench([](Bytes request) { return ibtest::sa_table(request, {}); }).ask().bytes.empty());
  Bench none([](Bytes request) { return with_status(ibtest::sa_table(request, {}), 0x0300); });
  CHECK_THROWS_AS(none.ask(), mad::SaError);
}

TEST_CASE("a full packet of a table that was not segmented is refused: the end of its records is not known") {
  Bench bench([](Bytes request) {
    auto mad = ibtest::sa_table(request, {padded(node_record(7, "seven"))});
    mad[25] = 0;  // no type, as an SA hands it to its kernel
    mad[flags_at] = 1;
    return mad;
  });
  CHECK_THROWS_WITH(bench.ask(), contains("where its records end is not known"));
}

TEST_CASE("sizes that lie are refused") {
  for (const std::uint16_t step : {std::uint16_t{1}, std::uint16_t{13}}) {
    Bench bench([step](Bytes request) {
      auto mad = ibtest::sa_table(request, {padded(node_record(7, "seven"))});
      store_be<std::uint16_t>(&mad[step_at], step);
      return mad;
    });
    CHECK_THROWS_WITH(bench.ask(), contains("RMPP attribute is too small"));
  }
  for (const std::uint32_t length : {0U, 19U, 221U, 0xffffffffU}) {
    Bench bench([length](Bytes request) {
      auto mad = ibtest::sa_table(request, {padded(node_record(7, "seven"))});
      store_be<std::uint32_t>(&mad[length_at], length);
      return mad;
    });
    CHECK_THROWS_AS(bench.ask(), Error);
  }
}

TEST_CASE("a step beyond the answer leaves nothing, not memory") {
  Bench bench([](Bytes request) {
    auto mad = ibtest::sa_table(request, {padded(node_record(7, "seven"))});
    store_be<std::uint16_t>(&mad[step_at], 0xffff);
    return mad;
  });
  const sa::Records records = bench.ask();
  REQUIRE(records.bytes.size() == 1);
  CHECK(records.bytes[0].size() <= sa::NodeRecord::wire_size);
}

TEST_CASE("a table that ends within a record is incomplete, and is not requested again") {
  int asked = 0;
  Bench bench([&asked](Bytes request) {
    ++asked;
    auto mad = ibtest::sa_table(request, {padded(node_record(7, "seven"))});
    store_be<std::uint32_t>(&mad[length_at], 20 + 112 + 4);
    mad[56 + 112 + 1] = 8;
    return mad;
  });
  const sa::Records records = bench.ask();
  CHECK(records.bytes.size() == 1);
  CHECK(records.torn);
  CHECK(asked == 1);
}

TEST_CASE("only records that are so short may lie 8 bytes apart") {
  for (const StructInfo* type : {&sa::NodeRecord::info(), &sa::PortInfoRecord::info(), &sa::PathRecord::info(), &sa::GuidInfoRecord::info(),
                                 &sa::SwitchInfoRecord::info(), &sa::MCMemberRecord::info(), &sa::ServiceRecord::info()}) {
    INFO(type->iba_name);
    Bench bench([](Bytes request) {
      auto mad = ibtest::sa_table(request, {});
      mad.resize(56 + 100000);
      mad[26] = 3;  // several segments
      store_be<std::uint16_t>(&mad[step_at], 1);
      return mad;
    });
    bench.fabric.network.rmpp = true;
    ibtest::FakeClock clock;
    async::Loop loop(clock);
    mad::Rpc rpc(loop, bench.fabric.open());
    const sa::Pattern pattern(*type);
    CHECK_THROWS_WITH(loop.run(sa::try_records(rpc, rpc.sa_path(), pattern)), contains("RMPP attribute is too small. Got 8"));
  }
}

TEST_CASE("nodes by name: an SA that does not heed the name does no harm") {
  Bench bench([](Bytes request) { return ibtest::sa_table(request, {padded(node_record(7, "seven"))}); });
  ibtest::FakeClock clock;
  async::Loop loop(clock);
  mad::Rpc rpc(loop, bench.fabric.open());
  CHECK(loop.run(sa::find_nodes_by_name(rpc, "seven")).records.size() == 1);
  CHECK(loop.run(sa::find_nodes_by_name(rpc, "eight")).records.empty());
}

}  // namespace sa_records_tests
