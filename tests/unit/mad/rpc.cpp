// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The RPC engine on a scripted channel: retries, late and doubled answers, lost requests, cancelling, lies.
#include "mad/rpc/rpc.hpp"

#include <cerrno>

#include "async/group.hpp"
#include "iba-gen/pm.hpp"
#include "iba-gen/sa.hpp"
#include "iba-gen/smp.hpp"
#include "mad/rmpp/rmpp.hpp"
#include "sa/subn_adm.hpp"
#include "support/catch.hpp"
#include "unit/mad/scripted.hpp"

namespace mad_rpc_tests {

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

namespace {

Task<> ask_into(Rpc& rpc, path::Path path, int& answers, int& failures) {
  const Result<smp::NodeInfo> result = co_await rpc.try_subn_get<smp::NodeInfo>(path);
  ++(result ? answers : failures);
}

FakeChannel::Network lie(std::function<void(std::vector<std::uint8_t>&)> change) {
  return [change](FakeChannel& channel, Bytes mad, const path::Path&, async::Duration) {
    std::vector<std::uint8_t> answer = answer_to(mad);
    change(answer);
    channel.deliver(std::move(answer), 1ms);
  };
}

}  // namespace

TEST_CASE("an answered request costs one MAD") {
  Bench bench(echo(1ms));
  const auto result = bench.loop.run(ask(*bench.rpc, to_lid(bench, 5)));
  REQUIRE(result);
  REQUIRE(bench.elapsed() == 1ms);
  REQUIRE(bench.channel->sent == 1);
  REQUIRE(bench.rpc->stats()->sent() == 1);
  REQUIRE(bench.rpc->stats()->replies == 1);
  REQUIRE(bench.rpc->smp_window().in_flight() == 0);
}

TEST_CASE("a MAD of Omni-Path is counted and passed over, whatever it claims to answer") {
  for (const std::size_t length : {257U, 2048U, 70000U}) {
    Bench bench([length](FakeChannel& channel, Bytes mad, const path::Path&, async::Duration) {
      std::vector<std::uint8_t> of_omni_path = answer_to(mad);
      of_omni_path.resize(length);
      of_omni_path[0] = of_omni_path[2] = 0x80;
      channel.deliver(std::move(of_omni_path), 1ms);
      channel.deliver(answer_to(mad), 2ms);
    });
    bench.channel->reports = false;  // the fake kernel would drop the second answer
    const auto result = bench.loop.run(ask(*bench.rpc, to_lid(bench, 5)));
    REQUIRE(result);
    REQUIRE(bench.elapsed() == 2ms);
    REQUIRE(bench.channel->sent == 1);
    REQUIRE(bench.rpc->stats()->unexpected == 1);
    REQUIRE(bench.rpc->stats()->invalid == 0);
  }
}

TEST_CASE("a lost request is sent again, under a new transaction ID") {
  std::vector<std::uint64_t> ids;
  Bench bench([&ids](FakeChannel& channel, Bytes mad, const path::Path&, async::Duration) {
    ids.push_back(HeaderView(mad).transaction_id());
    if (ids.size() == 3) channel.deliver(answer_to(mad), 1ms);
  });
  const auto result = bench.loop.run(ask(*bench.rpc, to_lid(bench, 5)));
  REQUIRE(result);
  REQUIRE(ids.size() == 3);
  REQUIRE(ids[0] != ids[1]);
  REQUIRE(ids[1] != ids[2]);
  REQUIRE(bench.elapsed() == 1s + 10ms + 1s + 20ms + 1ms);
  REQUIRE(bench.rpc->stats()->retries_lost == 2);
  REQUIRE(bench.rpc->stats()->timeouts == 2);
}

TEST_CASE("a dead node times out after its retry chain, on channels with and without reports") {
  for (const bool reports : {true, false}) {
    Bench bench([](FakeChannel&, Bytes, const path::Path&, async::Duration) {});
    bench.channel->reports = reports;
    const auto result = bench.loop.run(ask(*bench.rpc, to_lid(bench, 5)));
    REQUIRE_FALSE(result);
    REQUIRE(result.error().message() == "No answer from LID 5 about NodeInfo (4 tries in 4.1 s)");
    REQUIRE_THROWS_AS(result.error().raise(), MadTimeout);
    REQUIRE(bench.channel->sent == 4);
    REQUIRE(bench.elapsed() == 4s + 70ms);
    REQUIRE(bench.rpc->smp_window().in_flight() == 0);
  }
}

TEST_CASE("a simulator that reports a dropped MAD at once costs no timeout") {
  Bench bench([](FakeChannel& channel, Bytes mad, const path::Path&, async::Duration) { channel.fail(mad, ETIMEDOUT, 10us); });
  bench.channel->reports = false;
  const auto result = bench.loop.run(ask(*bench.rpc, to_lid(bench, 5)));
  REQUIRE_FALSE(result);
  REQUIRE(bench.channel->sent == 4);
  REQUIRE(bench.elapsed() == 4 * 10us);  // nor a pause
}

TEST_CASE("a late answer to an earlier try counts") {
  Bench bench(only(1, 1500ms));
  bench.channel->reports = false;
  const auto result = bench.loop.run(ask(*bench.rpc, to_lid(bench, 5)));
  REQUIRE(result);
  REQUIRE(bench.elapsed() == 1500ms);
  REQUIRE(bench.channel->sent == 2);
  // The second try was not answered: it keeps its place until its time is over.
  REQUIRE(bench.rpc->stats()->late == 0);
}

TEST_CASE("answers that come twice, late or unexpected are counted and ignored") {
  Bench bench([](FakeChannel& channel, Bytes mad, const path::Path&, async::Duration) {
    channel.deliver(answer_to(mad), 1ms);
    channel.deliver(answer_to(mad), 2ms);
    std::vector<std::uint8_t> stranger = answer_to(mad);
    stranger[12] ^= 0x55;
    channel.deliver(stranger, 3ms);
    channel.deliver({1, 2, 3}, 4ms);
    channel.deliver({mad.begin(), mad.end()}, 5ms);  // a request of somebody with our transaction ID
  });
  bench.channel->reports = false;
  const auto result = bench.loop.run(ask(*bench.rpc, to_lid(bench, 5)));
  REQUIRE(result);
  bench.loop.run(async::sleep_for(1s));
  REQUIRE(bench.rpc->stats()->late == 1);
  REQUIRE(bench.rpc->stats()->unexpected == 3);
  REQUIRE(bench.rpc->stats()->replies == 1);
}

TEST_CASE("the request to a busy node is repeated later") {
  int tries = 0;
  Bench bench([&tries](FakeChannel& channel, Bytes mad, const path::Path&, async::Duration) {
    channel.deliver(answer_to(mad, ++tries < 3 ? status::busy : 0), 1ms);
  });
  const auto result = bench.loop.run(ask(*bench.rpc, to_lid(bench, 5)));
  REQUIRE(result);
  REQUIRE(bench.rpc->stats()->retries_busy == 2);
  REQUIRE(bench.elapsed() == 3ms + 50ms + 100ms);
}

TEST_CASE("a node that stays busy is an error with that status") {
  Bench bench(
      [](FakeChannel& channel, Bytes mad, const path::Path&, async::Duration) { channel.deliver(answer_to(mad, status::busy), 1ms); });
  const auto result = bench.loop.run(ask(*bench.rpc, to_lid(bench, 5)));
  REQUIRE_FALSE(result);
  REQUIRE(result.error().status() == status::busy);
  REQUIRE(bench.channel->sent == 4);
}

TEST_CASE("errors of the node carry their status and words") {
  std::uint16_t code = 0x1c;
  Bench bench([&code](FakeChannel& channel, Bytes mad, const path::Path&, async::Duration) { channel.deliver(answer_to(mad, code), 1ms); });
  const auto invalid = bench.loop.run(ask(*bench.rpc, to_lid(bench, 2)));
  REQUIRE(invalid.error().message() == "LID 2 rejects the Get of NodeInfo as invalid (status 0x1c)");
  REQUIRE_THROWS_AS(invalid.error().raise(), MadStatusError);
  code = 0x0700;
  const auto special = bench.loop.run(ask(*bench.rpc, to_lid(bench, 2)));
  REQUIRE(special.error().message() == "LID 2 refuses the Get of NodeInfo (class-specific status 7)");
  REQUIRE_THROWS_AS(special.error().raise(), MadClassError);
  REQUIRE(special.error().status() == 0x0700);
  REQUIRE(special.error().request().size() == packet_size);
  REQUIRE(special.error().reply().size() == packet_size);
}

TEST_CASE("the status of a class has eight bits, but on directed routes") {
  std::uint16_t code = 0x8000;
  Bench bench([&code](FakeChannel& channel, Bytes mad, const path::Path&, async::Duration) { channel.deliver(answer_to(mad, code), 1ms); });
  for (const auto& [status, expected] : {std::pair(0x8000, 0x80), {0x8100, 0x81}, {0xff00, 0xff}, {0x0100, 1}}) {
    code = static_cast<std::uint16_t>(status);
    const auto result = bench.loop.run(ask(*bench.rpc, to_lid(bench, 5)));
    REQUIRE_FALSE(result);
    const auto* error = dynamic_cast<const MadClassError*>(&result.error());
    REQUIRE(error != nullptr);
    REQUIRE(error->code() == expected);
    REQUIRE(error->status() == status);
  }
  path::IbDrPath self;
  self.end_port = &bench.host.port;
  code = 0x8000;  // the D bit
  const auto directed = bench.loop.run(ask(*bench.rpc, self));
  REQUIRE(directed);
  code = 0x8100;
  const auto refused = bench.loop.run(ask(*bench.rpc, self));
  REQUIRE_FALSE(refused);
  REQUIRE(dynamic_cast<const MadClassError&>(refused.error()).code() == 1);
}

TEST_CASE("a late Busy does not end a call whose last try may still be answered") {
  int tries = 0;
  Bench bench([&tries](FakeChannel& channel, Bytes mad, const path::Path&, async::Duration) {
    if (++tries == 1) channel.deliver(answer_to(mad, status::busy), 1200ms);
    if (tries == 2) channel.deliver(answer_to(mad), 500ms);
  });
  bench.channel->reports = false;
  const auto result = bench.loop.run(ask(*bench.rpc, to_lid(bench, 5, 1s, 1)));
  REQUIRE(result);
  REQUIRE(bench.elapsed() == 1s + 10ms + 500ms);
  REQUIRE(bench.channel->sent == 2);
}

TEST_CASE("that an answer of this host could not be sent says nothing of a request with the same transaction ID") {
  Bench bench([](FakeChannel& channel, Bytes mad, const path::Path&, async::Duration) {
    channel.deliver(answer_to(mad), 500ms);
    channel.later(1ms, [&channel, answer = answer_to(mad)] { channel.report_failure(answer, ENETUNREACH); });
  });
  const auto result = bench.loop.run(ask(*bench.rpc, to_lid(bench, 5)));
  REQUIRE(result);
  REQUIRE(bench.channel->sent == 1);
}

namespace {
Task<> ask_both(Rpc& rpc, path::Path smp, path::Path gmp, int count, int& answers, int& failures) {
  async::Loop& loop = co_await async::current_loop;
  async::TaskGroup group(loop);
  struct Local {
    static Task<> ask_gmp(Rpc& rpc, path::Path path) { static_cast<void>(co_await rpc.try_performance_get<pm::PortCounters>(path)); }
  };
  group.spawn(Local::ask_gmp(rpc, gmp));
  co_await async::sleep_for(3s);  // the slow answer is here
  for (int i = 0; i < count; ++i) group.spawn(ask_into(rpc, smp, answers, failures));
  co_await group.join();
}
}  // namespace

TEST_CASE("slow answers to GMPs do not make SMPs wait longer for the places of lost ones") {
  // 40 SMPs to a dead port, each to a node of its own as far as the engine knows, and room for 1: a lost one gives up its place after
  // some round trips of SMPs.
  Bench bench(
      [](FakeChannel& channel, Bytes mad, const path::Path&, async::Duration) {
        if (mad[1] == mgmt_class::performance) channel.deliver(answer_to(mad), 2s);
      },
      {1, 4, 8});
  path::IbPath gmp = to_lid(bench, 6, 3s).ib();
  gmp.dqpn = Qpn{1};
  int answers = 0, failures = 0;
  bench.loop.run(ask_both(*bench.rpc, to_lid(bench, 5, 1s, 0), gmp, 4, answers, failures));
  REQUIRE(failures == 4);
  REQUIRE(bench.elapsed() <= 3s + 3 * 100ms + 1s);
}

TEST_CASE("answers that contradict their request are errors and never payload") {
  const auto changed = [](std::size_t at, std::uint8_t value) {
    return lie([at, value](std::vector<std::uint8_t>& answer) { answer[at] = value; });
  };
  const std::vector<std::pair<FakeChannel::Network, std::string>> cases{
      {lie([](auto& answer) { answer.resize(255); }), "Invalid reply size. Got 255, expected 256"},
      {lie([](auto& answer) { answer.resize(24); }), "Invalid reply size. Got 24, expected 256"},
      {lie([](auto& answer) { answer.resize(5000); }), "Invalid reply size. Got 5000, expected 256"},
      {lie([](auto& answer) {
         answer[26] = 7;  // claims RMPP, which SMPs do not have
         answer.resize(60);
       }),
       "Invalid reply size. Got 60, expected 256"},
      {changed(0, 0x80), "Invalid reply: base version is 0x80, expected 0x1"},
      {changed(2, 7), "Invalid reply: class version is 0x7, expected 0x1"},
      {changed(3, 0x82), "Invalid reply: method is 0x82, expected 0x81"},
      {changed(17, 0x12), "Invalid reply: attribute is 0x12, expected 0x11"},
  };
  for (const auto& [network, text] : cases) {
    Bench bench(network);
    const auto result = bench.loop.run(ask(*bench.rpc, to_lid(bench, 5)));
    REQUIRE_FALSE(result);
    REQUIRE(result.error().message() == text);
    REQUIRE_THAT(result.error().what(), ibtest::contains("got an invalid reply from 'Path 1 -> 5"));
    REQUIRE(bench.rpc->stats()->invalid == 1);
    REQUIRE(bench.channel->sent == 1);
  }
}

TEST_CASE("an answer of another class is not an answer") {
  Bench bench(lie([](auto& answer) { answer[1] = 4; }));
  bench.channel->reports = false;
  const auto result = bench.loop.run(ask(*bench.rpc, to_lid(bench, 5)));
  REQUIRE_FALSE(result);
  REQUIRE(bench.rpc->stats()->unexpected == 4);
}

TEST_CASE("a directed-route answer without the direction bit is a lie") {
  Bench bench(lie([](auto& answer) { answer[4] = 0; }));
  path::IbDrPath self;
  self.end_port = &bench.host.port;
  const auto result = bench.loop.run(ask(*bench.rpc, self));
  REQUIRE_FALSE(result);
  REQUIRE(result.error().message() == "Invalid reply: the direction bit is not set");
}

TEST_CASE("on verbs all 64 bits of the transaction ID are ours") {
  Bench bench(lie([](auto& answer) { answer[8] ^= 1; }));
  bench.channel->reports = false;
  const auto umad = bench.loop.run(ask(*bench.rpc, to_lid(bench, 5)));
  REQUIRE(umad);
  bench.channel->mask = ~std::uint64_t{0};
  const auto verbs = bench.loop.run(ask(*bench.rpc, to_lid(bench, 5)));
  REQUIRE_FALSE(verbs);
}

TEST_CASE("a cancelled request keeps its place until its fate is known") {
  Bench bench(
      [](FakeChannel& channel, Bytes mad, const path::Path& path, async::Duration) {
        if (path.ib().dlid != Lid{9}) channel.deliver(answer_to(mad), 1ms);
      },
      {1, 1, 1});
  ibtest::End end;
  Task<Result<smp::NodeInfo>> victim = ask(*bench.rpc, to_lid(bench, 9));
  victim.start(bench.loop, end);
  bench.loop.run(async::sleep_for(10ms));
  victim.reset();
  REQUIRE(bench.rpc->smp_window().in_flight() == 1);
  const auto other = bench.loop.run(ask(*bench.rpc, to_lid(bench, 3)));
  REQUIRE(other);
  // Its place was free only when it could be in no buffer any more; of the cancelled one no second try was sent.
  REQUIRE(bench.elapsed() >= 100ms);
  bench.loop.run(async::sleep_for(10s));
  REQUIRE(bench.channel->sent == 2);
  REQUIRE(bench.rpc->smp_window().in_flight() == 0);
}

TEST_CASE("cancelling those in line lets the next one move up") {
  Bench bench(echo(1ms), {8, 1, 8});
  ibtest::End end;
  std::vector<Task<Result<smp::NodeInfo>>> tasks;
  for (int i = 0; i < 6; ++i) {
    tasks.push_back(ask(*bench.rpc, to_lid(bench, 9)));
    tasks.back().start(bench.loop, end);
  }
  bench.loop.run(async::sleep_for(1us));
  REQUIRE(bench.channel->sent == 1);
  for (int i = 0; i < 5; ++i) tasks[static_cast<std::size_t>(i)].reset();
  bench.loop.run(async::sleep_for(10ms));
  REQUIRE(tasks[5].take());
  REQUIRE(bench.channel->sent == 2);
}

TEST_CASE("a send that this host refuses ends the call with its reason") {
  int code = ENODEV;
  Bench bench([&code](FakeChannel&, Bytes, const path::Path&, async::Duration) { throw SysError(code, "write", "umad0"); });
  REQUIRE_THROWS_AS(bench.loop.run(ask(*bench.rpc, to_lid(bench, 5))), SysError);
  code = ENETUNREACH;
  const auto unreachable = bench.loop.run(ask(*bench.rpc, to_lid(bench, 5)));
  REQUIRE_THAT(unreachable.error().message(), ibtest::contains("could not be sent to 'Path 1 -> 5"));
  // Drivers that refuse what they cannot answer mean an error status.
  code = EINVAL;
  const auto invalid = bench.loop.run(ask(*bench.rpc, to_lid(bench, 5)));
  REQUIRE(invalid.error().status() == 0x1c);
  REQUIRE(bench.rpc->smp_window().in_flight() == 0);
  REQUIRE(bench.rpc->stats()->sent() == 0);
}

namespace {
Task<> break_soon(Bench& bench) {
  co_await async::sleep_for(10ms);
  bench.channel->break_down(EIO);
}
Task<> ask_while_breaking(Bench& bench, int& answers, int& failures) {
  async::TaskGroup group(bench.loop);
  for (std::uint16_t i = 1; i < 100; ++i) group.spawn(ask_into(*bench.rpc, to_lid(bench, i), answers, failures));
  group.spawn(break_soon(bench));
  co_await group.join();
}
}  // namespace

TEST_CASE("a device that goes away ends every call") {
  Bench bench([](FakeChannel&, Bytes, const path::Path&, async::Duration) {});
  int answers = 0, failures = 0;
  REQUIRE_THROWS_AS(bench.loop.run(ask_while_breaking(bench, answers, failures)), SysError);
  REQUIRE(bench.elapsed() == 10ms);
  REQUIRE_THROWS_AS(bench.loop.run(ask(*bench.rpc, to_lid(bench, 5))), SysError);
}

TEST_CASE("engines may be destroyed before the tasks that wait for them") {
  Bench bench([](FakeChannel&, Bytes, const path::Path&, async::Duration) {});
  ibtest::End end;
  Task<Result<smp::NodeInfo>> orphan = ask(*bench.rpc, to_lid(bench, 9));
  orphan.start(bench.loop, end);
  bench.loop.run(async::sleep_for(1ms));
  bench.rpc.reset();
  orphan.reset();
}

TEST_CASE("statistics name the reason of each MAD") {
  Bench bench(echo(1ms));
  struct Local {
    static Task<> ask(Rpc& rpc, path::Path path) {
      static_cast<void>(co_await rpc.subn_get<smp::NodeInfo>(path, 0, {}, "probe"));
      static_cast<void>(co_await rpc.subn_get<smp::NodeInfo>(path, 0, {}, "probe"));
      static_cast<void>(co_await rpc.subn_get<smp::NodeDescription>(path));
    }
  };
  bench.loop.run(Local::ask(*bench.rpc, to_lid(bench, 5)));
  const auto& counts = bench.rpc->stats()->first_tries;
  REQUIRE(counts.size() == 2);
  REQUIRE(counts[0] == std::pair<Reason, std::uint64_t>("probe", 2));
  REQUIRE(counts[1] == std::pair<Reason, std::uint64_t>("requested", 1));
}

TEST_CASE("an ACK does not answer a request whose answer has no segments") {
  int tries = 0;
  Bench bench([&tries](FakeChannel& channel, Bytes mad, const path::Path&, async::Duration) {
    std::vector<std::uint8_t> answer = answer_to(mad);
    if (++tries == 1) {
      answer[25] = static_cast<std::uint8_t>(rmpp::Type::ack);
      answer[26] = rmpp::flags::active;
    }
    channel.deliver(std::move(answer), 1ms);
  });
  bench.channel->reports = false;
  struct Local {
    static Task<Result<sa::NodeRecord>> ask(Rpc& rpc) {
      const sa::NodeRecord::Query query;
      co_return co_await sa::try_subn_adm_get(rpc, query);
    }
  };
  REQUIRE(bench.loop.run(Local::ask(*bench.rpc)));
  REQUIRE(tries == 2);
}

}  // namespace mad_rpc_tests
