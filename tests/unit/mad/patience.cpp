// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// How long the RPC engine waits for an answer before it repeats a request.
#include "iba-gen/sa.hpp"
#include "mad/rpc/responder.hpp"
#include "support/catch.hpp"
#include "unit/mad/scripted.hpp"

namespace mad_patience_tests {

using namespace ib;
using namespace ib::mad;
using namespace std::chrono_literals;
using ibtest::answer_to;
using ibtest::ask;
using ibtest::Bench;
using ibtest::echo;
using ibtest::FakeChannel;
using ibtest::only;
using ibtest::to_lid;

TEST_CASE("a read without an answer for many round trips is repeated before its timeout") {
  int tries = 0, answered_try = 1;
  Bench bench([&](FakeChannel& channel, Bytes mad, const path::Path&, async::Duration) {
    if (++tries == answered_try) channel.deliver(answer_to(mad), 1ms);
  });
  const path::Path path = to_lid(bench, 5, std::nullopt);
  const async::Duration timeout = path::mad_timeout(path.ib());
  REQUIRE(timeout > 1s);
  REQUIRE(bench.loop.run(ask(*bench.rpc, path)));  // now the round trip is known: 1 ms

  SECTION("a lost one costs milliseconds") {
    tries = 0, answered_try = 2;
    const auto begin = bench.elapsed();
    REQUIRE(bench.loop.run(ask(*bench.rpc, path)));
    REQUIRE(bench.elapsed() - begin == 50ms + 10ms + 1ms);
    REQUIRE(bench.rpc->stats()->retries_lost == 1);
  }
  SECTION("a dead node gets as many tries as ever, the last two with the whole timeout") {
    tries = 0, answered_try = -1;
    const auto begin = bench.elapsed();
    REQUIRE_FALSE(bench.loop.run(ask(*bench.rpc, path)));
    REQUIRE(tries == 4);
    REQUIRE(bench.elapsed() - begin == 50ms + 10ms + 200ms + 20ms + timeout + 40ms + timeout);
  }
  SECTION("the only try has the whole timeout") {
    tries = 0, answered_try = -1;
    const auto begin = bench.elapsed();
    REQUIRE_FALSE(bench.loop.run(ask(*bench.rpc, to_lid(bench, 5, std::nullopt, 0))));
    REQUIRE(tries == 1);
    REQUIRE(bench.elapsed() - begin == timeout);
  }
}

TEST_CASE("a node that answers slowly is not cut off by early repeats, and teaches patience") {
  Bench bench(echo(300ms));
  const path::Path path = to_lid(bench, 5, std::nullopt);
  REQUIRE(bench.loop.run(ask(*bench.rpc, path)));
  REQUIRE(bench.elapsed() == 300ms);  // the answer to the first try
  REQUIRE(bench.channel->sent == 2);
  const std::size_t before = bench.channel->sent;
  REQUIRE(bench.loop.run(ask(*bench.rpc, path)));
  REQUIRE(bench.channel->sent == before + 1);
}

TEST_CASE("a node that is known to be slow gets each request once, among fast nodes") {
  Bench bench([](FakeChannel& channel, Bytes mad, const path::Path& path, async::Duration) {
    channel.deliver(answer_to(mad), path.ib().dlid == Lid{9} ? 100ms : 1ms);
  });
  const path::Path fast = to_lid(bench, 5, std::nullopt), slow = to_lid(bench, 9, std::nullopt);
  for (int i = 0; i < 20; ++i) REQUIRE(bench.loop.run(ask(*bench.rpc, fast)));
  Responder responder;
  Request request = attribute_request(slow, smp::NodeInfo::info(), method::get);
  request.responder = &responder;
  const std::size_t before = bench.channel->sent;
  REQUIRE(bench.loop.run(bench.rpc->try_call(request)));
  REQUIRE(bench.channel->sent == before + 2);
  for (int i = 0; i < 20; ++i) REQUIRE(bench.loop.run(ask(*bench.rpc, fast)));
  REQUIRE(bench.loop.run(bench.rpc->try_call(request)));
  REQUIRE(bench.channel->sent == before + 23);
}

TEST_CASE("Sets, an SA that has not answered yet, and a given timeout keep their full timeout") {
  Bench bench(only(2, 1ms));
  const path::Path path = to_lid(bench, 5, std::nullopt);
  const async::Duration timeout = path::mad_timeout(path.ib());
  SECTION("a Set") {
    const Request request = attribute_request(path, smp::NodeInfo::info(), method::set);
    REQUIRE(bench.loop.run(bench.rpc->try_call(request)));
    REQUIRE(bench.elapsed() == timeout + 10ms + 1ms);
  }
  SECTION("the SA") {
    const Request request = attribute_request(path, sa::NodeRecord::info(), method::get);
    REQUIRE(bench.loop.run(bench.rpc->try_call(request)));
    REQUIRE(bench.elapsed() == timeout + 10ms + 1ms);
  }
  SECTION("the SA when it has answered, but less than nodes") {
    const Request request = attribute_request(path, sa::NodeRecord::info(), method::get);
    Bench other([tries = 0](FakeChannel& channel, Bytes mad, const path::Path&, async::Duration) mutable {
      if (++tries != 2) channel.deliver(answer_to(mad), 1ms);
    });
    REQUIRE(other.loop.run(other.rpc->try_call(request)));
    REQUIRE(other.loop.run(other.rpc->try_call(request)));
    REQUIRE(other.elapsed() == 1ms + 250ms + 10ms + 1ms);
  }
  SECTION("a timeout that was given") {
    REQUIRE(bench.loop.run(ask(*bench.rpc, to_lid(bench, 5, 400ms))));
    REQUIRE(bench.elapsed() == 400ms + 10ms + 1ms);
  }
}

}  // namespace mad_patience_tests
