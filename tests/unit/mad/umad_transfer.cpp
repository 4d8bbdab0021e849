// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Answers in segments over a channel that is like umad: it reports a request that was not answered in its time, and drops a
// late answer to it, but hands on every segment. A transfer may so take longer than a try.
#include "iba-gen/sa.hpp"
#include "mad/rpc/rpc.hpp"
#include "sa/subn_adm.hpp"
#include "support/catch.hpp"
#include "support/end.hpp"
#include "support/fake_fabric.hpp"
#include "support/multi_paths.hpp"
#include "support/node_table.hpp"
#include "support/two_hosts.hpp"

namespace mad_umad_transfer_tests {

using namespace ib;
using namespace ib::mad;
using namespace std::chrono_literals;
using ibtest::FakeFabric;

namespace {

constexpr std::size_t records = 100;  // records in the table
constexpr unsigned segments = 56;     // that they fill: fewer than a window
constexpr async::Duration try_time = 200ms;

struct Bench : ibtest::TableBench {
  explicit Bench(unsigned retries = 0) : TableBench(records, try_time, retries) { peer.response_time = 100s; }
  /// Nothing is left of what was asked, neither here nor in the "kernel".
  bool at_rest() { return rpc->gmp_window().in_flight() == 0 && fabric.channel().pending() == 0; }
};

}  // namespace

TEST_CASE("umad: a transfer may take longer than the try that it answers") {
  for (const double tries : {0.5, 1.5, 5.0, 50.0}) {
    for (const unsigned retries : {0U, 3U}) {
      Bench bench(retries);
      bench.peer.between = std::chrono::duration_cast<async::Duration>(tries * try_time / segments);
      const auto result = bench.ask();
      REQUIRE(ibtest::is_whole(result, records));
      REQUIRE(bench.elapsed() > tries * try_time * 0.9);
      REQUIRE(bench.elapsed() < tries * try_time * 1.1);
      REQUIRE(bench.peer.requests == 1);
      REQUIRE(bench.rpc->stats()->timeouts == 0);
      bench.loop.run(async::sleep_for(1s));
      REQUIRE(bench.peer.done == 1);
      REQUIRE(bench.at_rest());
    }
  }
}

// Why umad leaves the kernel's RMPP alone.
TEST_CASE("where a channel puts answers together, what takes longer than a try is lost") {
  Bench bench;
  bench.fabric.channel().rmpp = true;
  bench.fabric.network.gmp = [&](Bytes mad, const path::Path&) -> std::optional<FakeFabric::Answer> {
    bench.fabric.channel().deliver(ibtest::node_table(mad, records), try_time * 3 / 2);
    return {};
  };
  const auto result = bench.ask();
  REQUIRE_FALSE(result);
  REQUIRE(dynamic_cast<const MadTimeout*>(&result.error()) != nullptr);
}

TEST_CASE("umad: an answer in segments that begins after its try counts as long as others follow") {
  Bench bench(3);
  bench.peer.delay = try_time * 5 / 2;
  const auto result = bench.ask();
  REQUIRE(ibtest::is_whole(result, records));
  REQUIRE(bench.asked.size() == 3);
  REQUIRE(bench.elapsed() < 2 * bench.peer.delay + 1ms);  // the first segment, and the others once it is acknowledged
  bench.loop.run(async::sleep_for(1s));
  REQUIRE(bench.at_rest());
}

TEST_CASE("umad: a query to a dead SA is repeated as soon as a try is over, and only as often as requested") {
  Bench bench(3);
  bench.peer.answer = [](Bytes) { return std::vector<std::uint8_t>{}; };
  const auto result = bench.ask();
  REQUIRE_FALSE(result);
  REQUIRE(dynamic_cast<const MadTimeout*>(&result.error()) != nullptr);
  REQUIRE(bench.asked.size() == 4);
  for (std::size_t i = 1; i < bench.asked.size(); ++i) {
    REQUIRE(bench.asked[i] - bench.asked[i - 1] >= try_time);
    REQUIRE(bench.asked[i] - bench.asked[i - 1] <= try_time + 50ms);
  }
  REQUIRE(bench.elapsed() >= 4 * try_time);
  REQUIRE(bench.elapsed() <= 4 * try_time + 100ms);
  REQUIRE(bench.at_rest());
}

TEST_CASE("umad: a cancelled call leaves nothing behind, before its answer and amid it") {
  for (const async::Duration cancelled_after : {10ms, 300ms}) {
    Bench bench;
    bench.peer.delay = 50ms;
    bench.peer.between = 10ms;
    ibtest::End end;
    auto victim = ibtest::request_nodes(*bench.rpc);
    victim.start(bench.loop, end);
    bench.loop.run(async::sleep_for(cancelled_after));
    victim.reset();
    bench.loop.run(async::sleep_for(try_time));
    REQUIRE(bench.peer.aborts == (cancelled_after > bench.peer.delay ? 1 : 0));
    REQUIRE(bench.at_rest());
  }
}

TEST_CASE("umad: a plain MAD that refuses a request in segments arrives") {
  ibtest::TwoHosts hosts;
  hosts.client_channel->reports = true;
  hosts.client_channel->mask = 0xffffffffU;
  for (const unsigned destinations : {1U, 50U}) {
    const async::Time began = hosts.clock.now();
    const std::vector<Gid> one(1), many(destinations);
    const auto ask = [](Rpc& rpc, const std::vector<Gid>& from, const std::vector<Gid>& to) -> Task<Result<sa::Table<sa::PathRecord>>> {
      sa::MultiPathRecord::Query query;
      co_return co_await ibtest::try_subn_adm_get_multi(rpc, query, from, to);
    };
    const auto result = hosts.loop.run(ask(*hosts.client, one, many));
    REQUIRE_FALSE(result);
    REQUIRE(result.error().status() == status::unsupported_method);
    REQUIRE(hosts.clock.now() - began < 100ms);
    hosts.loop.run(async::sleep_for(5s));
    REQUIRE(hosts.client_channel->pending() == 0);
    REQUIRE(hosts.client->stats()->timeouts == 0);
  }
}

}  // namespace mad_umad_transfer_tests
