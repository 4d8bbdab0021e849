// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Windows: the arithmetic, and its effect on the clock: dead ports cost one retry chain together, a network that
// drops what is too much is not flooded, a loss-free one is filled.
#include "mad/rpc/request_queue.hpp"

#include "async/group.hpp"
#include "mad/rpc/rpc.hpp"
#include "support/catch.hpp"
#include "support/fake_clock.hpp"
#include "support/fake_fabric.hpp"

namespace mad_window_tests {

using namespace ib;
using namespace ib::mad;
using namespace std::chrono_literals;
using async::Time;
using ibtest::FakeFabric;

namespace {

path::Path port_path(const FakeFabric& fabric, std::uint8_t port, async::Duration timeout = 2s) {
  path::IbDrPath path;
  path.end_port = &fabric.end_port();
  path.timeout = timeout;
  path.route[1] = 1;
  path.route[2] = port;
  path.hops = 2;
  return path;
}

struct Count {
  int answered = 0, failed = 0;
};
Task<> ask(Rpc& rpc, path::Path path, Count& count) {
  const Result<smp::NodeInfo> result = co_await rpc.try_subn_get<smp::NodeInfo>(path);
  ++(result ? count.answered : count.failed);
}
Task<> request_all(Rpc& rpc, const FakeFabric& fabric, int first, int last, Count& count) {
  const auto one = [&](int port) { return ask(rpc, port_path(fabric, static_cast<std::uint8_t>(port)), count); };
  co_await async::for_each(std::views::iota(first, last + 1), 1000, one);
}

/// A switch of 254 ports with a CA on each; port 1 is ours.
FakeFabric star() {
  FakeFabric fabric;
  const auto sw = fabric.add_switch(0x100, 254, "star");
  for (unsigned p = 1; p <= 254; ++p) fabric.link(sw, p, fabric.add_ca(0x1000 + 16 * p, 1, "ca"), 1);
  fabric.assign_lids();
  fabric.attach(1);
  return fabric;
}

}  // namespace

TEST_CASE("a window grows with answers, halves once for each loss and keeps its bounds") {
  Window window(32);
  REQUIRE(window.size() == 8);
  for (int i = 0; i < 8; ++i) window.enter();
  for (int i = 0; i < 8; ++i) {
    window.answered();
    window.enter();
  }
  REQUIRE(window.size() == 16);
  window.lost(Time{} + 1s, Time{} + 2s);
  REQUIRE(window.size() == 8);
  window.lost(Time{} + 1s, Time{} + 2s);
  window.lost(Time{} + 2s, Time{} + 3s);
  REQUIRE(window.size() == 8);
  for (int i = 0; i < 8; ++i) window.answered();
  REQUIRE(window.size() == 8);  // slowly beyond the last loss
  for (int i = 0; i < 1000; ++i) window.answered();
  REQUIRE(window.size() == 32);
  for (int t = 10; t < 30; ++t) window.lost(Time{} + std::chrono::seconds(t), Time{} + std::chrono::seconds(t) + 1ms);
  REQUIRE(window.size() == 4);
  Window idle(32);
  idle.enter();
  for (int i = 0; i < 100; ++i) idle.answered();
  REQUIRE(idle.size() == 8);  // one request at a time proves nothing
  REQUIRE(Window(1).size() == 1);
  REQUIRE(Window(3).size() == 3);
}

TEST_CASE("dead ports cost about one retry chain together, not one each") {
  ibtest::FakeClock clock;
  async::Loop loop(clock);
  FakeFabric fabric = star();
  for (FakeFabric::NodeId ca = 2; ca <= 254; ca += 2) fabric.node(ca).faults.silent = true;
  Rpc rpc(loop, fabric.open());
  Count count;
  loop.run(request_all(rpc, fabric, 2, 254, count));
  REQUIRE(count.failed == 127);
  REQUIRE(count.answered == 126);
  const async::Duration chain = 4 * 2s + 70ms;
  const async::Duration took = clock.now() - Time{};
  REQUIRE(took >= chain);
  REQUIRE(took < chain + chain / 2);
}

TEST_CASE("a loss-free network is filled up to the ceiling and no further") {
  ibtest::FakeClock clock;
  async::Loop loop(clock);
  FakeFabric fabric = star();
  fabric.network.delay = 200us;
  Rpc rpc(loop, fabric.open());
  Count count;
  for (int i = 0; i < 4; ++i) loop.run(request_all(rpc, fabric, 2, 254, count));
  REQUIRE(count.answered == 4 * 253);
  REQUIRE(fabric.channel().most_pending == 32);
  REQUIRE(rpc.stats()->sent() == 4 * 253);
  REQUIRE(clock.now() - Time{} < 4 * 253 * 200us / 32 * 2);
}

TEST_CASE("where bursts are lost the window shrinks to what gets through") {
  ibtest::FakeClock clock;
  async::Loop loop(clock);
  FakeFabric fabric = star();
  fabric.network.delay = 200us;
  fabric.network.capacity = 10;
  Rpc rpc(loop, fabric.open());
  Count count;
  for (int i = 0; i < 20; ++i) loop.run(request_all(rpc, fabric, 2, 254, count));
  REQUIRE(count.answered == 20 * 253);
  REQUIRE(count.failed == 0);
  const double resent = static_cast<double>(rpc.stats()->retries_lost) / static_cast<double>(rpc.stats()->sent());
  REQUIRE(resent < 0.1);
}

TEST_CASE("random loss is repaired") {
  ibtest::FakeClock clock;
  async::Loop loop(clock);
  FakeFabric fabric = star();
  fabric.network.loss = 0.05;
  fabric.network.duplicate = true;
  Rpc rpc(loop, fabric.open());
  Count count;
  for (int i = 0; i < 4; ++i) loop.run(request_all(rpc, fabric, 2, 254, count));
  REQUIRE(count.failed == 0);
  REQUIRE(count.answered == 4 * 253);
  REQUIRE(rpc.stats()->retries_lost > 20);
  REQUIRE(rpc.stats()->sent() == count.answered + rpc.stats()->retries_lost);
}

TEST_CASE("one SMA gets four requests at once, and its neighbours as many meanwhile") {
  ibtest::FakeClock clock;
  async::Loop loop(clock);
  FakeFabric fabric = star();
  fabric.network.delay = 1ms;
  fabric.node(2).faults.delay = 100ms;  // the CA at port 2
  struct Local {
    static Task<> run(Rpc& rpc, const FakeFabric& fabric, Count& slow, Count& fast, async::Loop& loop, Time& fast_end) {
      async::TaskGroup group(loop);
      for (int i = 0; i < 40; ++i) group.spawn(ask(rpc, port_path(fabric, 2), slow));
      co_await request_all(rpc, fabric, 3, 254, fast);
      fast_end = loop.now();
      co_await group.join();
    }
  };
  Rpc rpc(loop, fabric.open());
  Count slow, fast;
  Time fast_end;
  loop.run(Local::run(rpc, fabric, slow, fast, loop, fast_end));
  REQUIRE(slow.answered == 40);
  REQUIRE(fast.answered == 252);
  REQUIRE(clock.now() - Time{} >= 1s);  // ten rounds of four
  REQUIRE(clock.now() - Time{} < 1100ms);
  REQUIRE(fast_end - Time{} < 200ms);
  REQUIRE(rpc.stats()->sent() == 292);
}

TEST_CASE("where a channel has room for few, a lost request gives up its place once a later one was answered") {
  ibtest::FakeClock clock;
  async::Loop loop(clock);
  FakeFabric fabric = star();
  fabric.network.delay = 200us;
  fabric.node(30).faults.silent = true;  // the CA at port 30
  auto channel = fabric.open();
  fabric.channel().most_in_flight = 20;
  Rpc rpc(loop, std::move(channel));
  Count count;
  loop.run(request_all(rpc, fabric, 2, 20, count));  // now the round trip is known
  struct Local {
    static Task<> run(Rpc& rpc, const FakeFabric& fabric, async::Loop& loop, bool others, std::vector<unsigned>& places) {
      Count count;
      async::TaskGroup group(loop);
      group.spawn(ask(rpc, port_path(fabric, 30), count));
      co_await async::sleep_for(1ms);
      if (others) group.spawn(ask(rpc, port_path(fabric, 31), count));
      for (const async::Duration pause : {5ms, 15ms}) {
        co_await async::sleep_for(pause);
        places.push_back(rpc.smp_window().in_flight());
      }
      co_await group.join();
    }
  };
  std::vector<unsigned> places;
  SECTION("nothing else was sent: those who empty the buffers may have stopped") {
    loop.run(Local::run(rpc, fabric, loop, false, places));
    REQUIRE(places == std::vector<unsigned>{1, 0});
  }
  SECTION("a later one was answered") {
    loop.run(Local::run(rpc, fabric, loop, true, places));
    REQUIRE(places == std::vector<unsigned>{0, 0});
  }
}

}  // namespace mad_window_tests
