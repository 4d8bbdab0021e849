// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// A node that falls silent costs one chain of tries, whatever waits for it; a node that answers something does not.
#include "mad/rpc/responder.hpp"

#include "async/group.hpp"
#include "iba-gen/smp.hpp"
#include "mad/rpc/rpc.hpp"
#include "support/catch.hpp"
#include "support/end.hpp"
#include "support/fake_channel.hpp"
#include "support/fake_clock.hpp"

namespace mad_responder_tests {

using namespace ib;
using namespace ib::mad;
using namespace std::chrono_literals;
using ibtest::answer_to;
using ibtest::FakeChannel;

namespace {

constexpr async::Duration chain = 4s + 10ms + 20ms + 40ms;  // four tries of a second and the pauses between them

/// One node that answers a try if `answers` says so: it gets the modifier of the request and the number of the try in all.
struct Bench {
  explicit Bench(std::function<bool(unsigned modifier, unsigned sent)> is_answered)
      : channel(new FakeChannel(host.port, [this, is_answered](FakeChannel& c, Bytes mad, const path::Path&, async::Duration) {
          if (is_answered(HeaderView(mad).attribute_modifier(), ++sent)) c.deliver(answer_to(mad), 1ms);
        })) {
    rpc = std::make_unique<Rpc>(loop, std::unique_ptr<Channel>(channel));
  }

  Task<> ask(unsigned modifier, bool optional = false) {
    const path::Path path = host.to_lid(5, 0, 1s, 3);
    const Request request{.path = path,
                          .mgmt_class = mgmt_class::smp,
                          .attribute_id = smp::PortInfo::attribute_id,
                          .attribute_modifier = modifier,
                          .payload = {},
                          .responder = &node,
                          .optional = optional};
    const Result<Reply> result = co_await rpc->try_call(request);
    if (result) {
      ++answers;
    } else {
      const auto& timeout = dynamic_cast<const MadTimeout&>(result.error());
      ++(timeout.tries() == 0 ? unsent : timeouts);
    }
  }
  Task<> request_all(unsigned count) {
    async::TaskGroup group(loop);
    for (unsigned i = 0; i < count; ++i) group.spawn(ask(i));
    co_await group.join();
  }
  async::Duration elapsed() const { return clock.now() - async::Time{}; }

  ibtest::FakeHost host;
  ibtest::FakeClock clock;
  async::Loop loop{clock};
  Responder node;
  FakeChannel* channel;
  std::unique_ptr<Rpc> rpc;
  unsigned sent = 0;
  int answers = 0, timeouts = 0, unsent = 0;
};

}  // namespace

TEST_CASE("a silent node costs one chain of tries, and the others of its requests at most one try each") {
  Bench bench([](unsigned, unsigned) { return false; });
  bench.loop.run(bench.request_all(40));
  CHECK(bench.node.is_silent());
  CHECK(bench.elapsed() == chain);
  CHECK(bench.sent == 4 + 3);  // four at once to one node, then one alone
  CHECK(bench.timeouts == 4);
  CHECK(bench.unsent == 36);
}

TEST_CASE("a node that falls silent in the middle costs one chain too") {
  for (const unsigned after : {1U, 3U, 4U, 5U, 17U, 39U}) {
    CAPTURE(after);
    Bench bench([after](unsigned, unsigned sent) { return sent <= after; });
    bench.loop.run(bench.request_all(40));
    CHECK(bench.node.is_silent());
    CHECK(bench.answers == static_cast<int>(after));
    CHECK(bench.elapsed() < chain + 100ms);
    CHECK(bench.sent <= after + 4 + 3);
  }
}

TEST_CASE("one unanswered request does not make a node silent, and only this request fails") {
  Bench bench([](unsigned modifier, unsigned) { return modifier != 7; });
  bench.loop.run(bench.request_all(40));
  CHECK_FALSE(bench.node.is_silent());
  CHECK(bench.answers == 39);
  CHECK(bench.timeouts == 1);
  CHECK(bench.elapsed() < chain + 100ms);
}

TEST_CASE("an optional attribute that goes unanswered proves nothing") {
  Bench bench([](unsigned, unsigned) { return false; });
  bench.loop.run(bench.ask(1, true));
  CHECK(bench.timeouts == 1);
  CHECK_FALSE(bench.node.is_silent());
}

TEST_CASE("a node that comes back within the chain is read to the end") {
  for (const unsigned deaf_until : {4U, 5U, 6U}) {
    CAPTURE(deaf_until);
    Bench bench([deaf_until](unsigned, unsigned sent) { return sent > deaf_until; });
    bench.loop.run(bench.request_all(40));
    CHECK(bench.answers == 40);
    CHECK_FALSE(bench.node.is_silent());
    CHECK(bench.sent == 40 + deaf_until);
  }
}

TEST_CASE("the request that goes on during a suspicion hands over to the next when it is cancelled") {
  Bench bench([](unsigned, unsigned sent) { return sent > 6; });
  ibtest::End end;
  std::vector<Task<>> tasks;
  for (unsigned i = 0; i < 6; ++i) {
    tasks.push_back(bench.ask(i));
    tasks.back().start(bench.loop, end);
  }
  bench.loop.run(async::sleep_for(1500ms));
  tasks[0].reset();
  bench.loop.run(async::sleep_for(20s));
  CHECK(bench.answers == 5);
}

TEST_CASE("a silent node gets requests again only after give_another_chance()") {
  bool dead = true;
  Bench bench([&dead](unsigned, unsigned) { return !dead; });
  bench.loop.run(bench.ask(1));
  REQUIRE(bench.node.is_silent());
  dead = false;
  const unsigned before = bench.sent;
  bench.loop.run(bench.ask(2));
  CHECK(bench.sent == before);
  CHECK(bench.unsent == 1);
  bench.node.give_another_chance();
  bench.loop.run(bench.ask(3));
  CHECK(bench.answers == 1);
}

}  // namespace mad_responder_tests
