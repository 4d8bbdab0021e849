// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Answers in segments through the RPC engine, on a fabric in memory whose SA loses, doubles, shuffles, stalls and lies.
#include <algorithm>

#include "async/group.hpp"
#include "iba-gen/sa.hpp"
#include "mad/rpc/rpc.hpp"
#include "sa/subn_adm.hpp"
#include "support/catch.hpp"
#include "support/end.hpp"
#include "support/fake_fabric.hpp"
#include "support/node_table.hpp"
#include "support/rmpp_peer.hpp"

namespace mad_rpc_transfer_tests {

using namespace ib;
using namespace ib::mad;
using namespace std::chrono_literals;
using ibtest::FakeFabric;
using ibtest::is_whole;
using ibtest::node_record_step;
using ibtest::node_table;
using ibtest::RmppPeer;

namespace {

/// The channel reports nothing: the engine's own tries count.
struct Bench : ibtest::TableBench {
  explicit Bench(std::size_t records = 1000) : TableBench(records, 1s, 3) { fabric.channel().reports = false; }
};

}  // namespace

TEST_CASE("a long table comes whole") {
  for (const std::size_t count : {1U, 2U, 100U, 20000U}) {
    Bench bench(count);
    const auto result = bench.ask();
    REQUIRE(is_whole(result, count));
    REQUIRE(bench.peer.requests == 1);
    REQUIRE(bench.peer.done == 1);
    const std::size_t segments = (count * node_record_step + 199) / 200;
    REQUIRE(bench.rpc->stats()->segments == segments);
    // The first ACK opens the window, then there is one for every window.
    REQUIRE(bench.rpc->stats()->acks == 1 + (segments - 1 + 63) / 64);
    REQUIRE(bench.rpc->stats()->sent() == 1 + bench.rpc->stats()->acks);
    REQUIRE(bench.rpc->stats()->unexpected == 0);
    REQUIRE(bench.elapsed() < 1s);
    REQUIRE(bench.rpc->gmp_window().in_flight() == 0);
  }
}

TEST_CASE("a table comes whole over a bad network") {
  for (const double loss : {0.01, 0.1}) {
    Bench bench(2000);
    bench.peer.loss = loss;
    bench.peer.twice = 0.1;
    bench.peer.shuffle = true;
    bench.peer.options.retries = 20;
    const auto result = bench.ask();
    REQUIRE(is_whole(result, 2000));
    bench.loop.run(async::sleep_for(60s));
    REQUIRE(bench.rpc->gmp_window().in_flight() == 0);
  }
}

TEST_CASE("where the channel does RMPP its whole MADs are answers") {
  Bench bench(3);
  bench.fabric.channel().rmpp = true;
  bench.fabric.network.gmp = [](Bytes mad, const path::Path&) -> std::optional<FakeFabric::Answer> {
    FakeFabric::Answer whole = node_table(mad, 3);
    whole[24] = 1;
    whole[25] = 1;
    whole[26] = rmpp::flags::active | rmpp::flags::first;
    return whole;
  };
  const auto result = bench.ask();
  REQUIRE(is_whole(result, 3));
  REQUIRE(bench.rpc->stats()->acks == 0);
}

TEST_CASE("a sender that repeats itself because the last ACK was lost is answered") {
  Bench bench(100);
  int acks = 0;
  bench.fabric.network.gmp = [&](Bytes mad, const path::Path&) -> std::optional<FakeFabric::Answer> {
    if (RmppView::is_active(mad) && ++acks == 2) return {};
    bench.peer.take(bench.fabric.channel(), mad);
    return {};
  };
  const auto result = bench.ask();
  REQUIRE(is_whole(result, 100));
  REQUIRE(bench.peer.done == 0);
  bench.loop.run(async::sleep_for(3s));
  REQUIRE(bench.peer.done == 1);
  // Not for ever: what a stale sender says after that is a stray.
  bench.loop.run(async::sleep_for(30s));
  REQUIRE(bench.rpc->stats()->late == 0);
}

TEST_CASE("a lost ACK is repeated before the sender's patience ends") {
  Bench bench(100);
  int acks = 0;
  bench.peer.response_time = 100s;
  bench.fabric.network.gmp = [&](Bytes mad, const path::Path&) -> std::optional<FakeFabric::Answer> {
    if (RmppView::is_active(mad) && ++acks == 1) return {};
    bench.peer.take(bench.fabric.channel(), mad);
    return {};
  };
  const auto result = bench.ask();
  REQUIRE(is_whole(result, 100));
  REQUIRE(bench.elapsed() < 2s);
}

TEST_CASE("a lost ACK is repeated after some round trips, once one has been measured") {
  Bench bench(1000);
  int acks = 0, lost = 1;
  bench.peer.response_time = 100s;
  bench.fabric.network.gmp = [&](Bytes mad, const path::Path&) -> std::optional<FakeFabric::Answer> {
    if (RmppView::is_active(mad) && ++acks >= 3 && lost > 0) {
      --lost;
      return {};
    }
    bench.peer.take(bench.fabric.channel(), mad);
    return {};
  };
  SECTION("one") {
    REQUIRE(is_whole(bench.ask(), 1000));
    REQUIRE(bench.elapsed() < 100ms);
  }
  SECTION("and its repetition") {
    lost = 2;
    REQUIRE(is_whole(bench.ask(), 1000));
    REQUIRE(bench.elapsed() < 400ms);
  }
  SECTION("many one after another wait as long as the sender may be slow") {
    lost = 4;
    REQUIRE(is_whole(bench.ask(), 1000));
    REQUIRE(bench.elapsed() > 3s);
    REQUIRE(bench.peer.requests == 1);
  }
}

TEST_CASE("a sender that is slow from ACK to segment gets no useless ACKs") {
  Bench bench(1000);
  bench.fabric.network.delay = 200ms;
  REQUIRE(is_whole(bench.ask(), 1000));
  const std::uint64_t segments = (1000 * node_record_step + 199) / 200;
  REQUIRE(bench.rpc->stats()->acks == 1 + (segments - 1 + 63) / 64);
}

TEST_CASE("a transfer that stalls is aborted, and the request sent again") {
  Bench bench(1000);
  bench.rpc->sa_path().ib().timeout = 3s;
  bench.peer.change = [&](Packet& packet) { return bench.peer.requests > 1 || RmppView(packet).segment() < 100; };
  const auto result = bench.ask();
  REQUIRE(is_whole(result, 1000));
  REQUIRE(bench.peer.requests == 2);
  REQUIRE(bench.peer.aborts == 1);
  REQUIRE(bench.peer.aborted_with == rmpp::Status::total_time_too_long);
  REQUIRE(bench.elapsed() > 7s);
  REQUIRE(bench.elapsed() < 8s);
}

TEST_CASE("transfers that stall wait no longer in all than an unanswered call, and the error says how far they came") {
  const auto stalls = [](async::Duration timeout, unsigned retries, std::size_t last, std::size_t requests, std::string_view text) {
    Bench bench(1000);
    bench.rpc->sa_path().ib().timeout = timeout;
    bench.rpc->sa_path().ib().retries = retries;
    bench.peer.options.retries = 20;
    bench.peer.change = [&](Packet& packet) { return RmppView(packet).segment() <= last; };
    const auto result = bench.ask();
    REQUIRE_FALSE(result);
    CHECK_THAT(result.error().message(), ibtest::contains("SANodeRecord(17) to 'Path 3 -> 1 SL=0 PKey=0xffff DQPN=1' broke off: " +
                                                          std::string(text) + " - Total time too long(118)"));
    CHECK(bench.peer.requests == requests);
    CHECK(bench.peer.aborts == requests);
    CHECK(bench.rpc->gmp_window().in_flight() == 0);
    return bench.elapsed();
  };
  // No shorter than a sender needs to repeat a segment that was lost, whatever the timeout.
  for (const async::Duration timeout : {100ms, 1000ms})
    for (const unsigned retries : {0U, 3U}) CHECK(stalls(timeout, retries, 1, 1, "no end after 1 segments in 7 s of silence") < 7100ms);
  CHECK(stalls(4s, 1, 99, 2, "no end after 99 segments in 8 s of silence") < 8100ms);
  CHECK(stalls(6s, 2, 99, 3, "no end after 99 segments in 18 s of silence") < 18100ms);
  CHECK(stalls(30s, 0, 99, 1, "no end after 99 segments in 30 s of silence") < 30100ms);
}

TEST_CASE("a transfer that trickles ends at the bound of the whole call, and is not begun again") {
  const auto trickles = [](async::Duration timeout) {
    Bench bench(100000);
    bench.rpc->sa_path().ib().timeout = timeout;
    bench.fabric.channel().most_in_flight = 2;  // a segment for each ACK
    bench.peer.delay = 4s;
    bench.peer.response_time = 1000s;
    const auto result = bench.ask();
    REQUIRE_FALSE(result);
    CHECK(bench.peer.requests == 1);
    CHECK(bench.peer.aborts == 1);
    CHECK(bench.peer.aborted_with == rmpp::Status::total_time_too_long);
    return std::pair(bench.elapsed(), result.error().message());
  };
  const auto [elapsed, message] = trickles(5s);
  CHECK(elapsed >= 60s);
  CHECK(elapsed < 65s);
  CHECK_THAT(message, ibtest::contains("broke off: no end after 16 segments in 60 s - Total time too long(118)"));
  // Who gives each try more time has more for all.
  const auto [longer, text] = trickles(25s);
  CHECK(longer >= 100s);
  CHECK(longer < 105s);
  CHECK_THAT(text, ibtest::contains("in 100 s - "));
}

TEST_CASE("a sender that breaks off again and again after a while has no more time than one that stalls") {
  Bench bench(1000);
  bench.peer.options.retries = 0;
  bench.peer.response_time = 4s;
  bench.peer.change = [](Packet& packet) { return RmppView(packet).type() != rmpp::Type::data || RmppView(packet).segment() == 1; };
  const auto result = bench.ask();
  REQUIRE_FALSE(result);
  CHECK(bench.peer.requests == 2);
  CHECK(bench.elapsed() < 7100ms);
}

TEST_CASE("the sender's ABORT is an error, at once") {
  Bench bench(1000);
  bench.peer.change = [&](Packet& packet) {
    if (RmppView(packet).segment() == 3) set_rmpp(packet, rmpp::Type::abort, 0, rmpp::Status::unspecified, 0, 0);
    return true;
  };
  const auto result = bench.ask();
  REQUIRE_FALSE(result);
  REQUIRE_THAT(result.error().message(), ibtest::contains("broke off: the other side gave up: Unspecified error(127)"));
  REQUIRE(bench.peer.requests == 1);
  REQUIRE(bench.elapsed() < 1s);
}

TEST_CASE("a sender that contradicts itself is stopped, and its payload is dropped") {
  const auto lied = [](std::function<void(Packet&)> lie, rmpp::Status status) {
    Bench bench(1000);
    bench.peer.change = [lie](Packet& packet) {
      lie(packet);
      return true;
    };
    const auto result = bench.ask();
    REQUIRE_FALSE(result);
    REQUIRE(bench.peer.aborts == 1);
    REQUIRE(bench.peer.aborted_with == status);
    REQUIRE(bench.elapsed() < 100ms);
  };
  lied([](Packet& packet) { packet[26] |= rmpp::flags::first; }, rmpp::Status::inconsistent_first_and_segment);
  lied([](Packet& packet) { store_be(&packet[28], std::uint32_t{0}); }, rmpp::Status::inconsistent_first_and_segment);
  lied([](Packet& packet) { store_be(&packet[32], std::uint32_t{0xfffffff0}); }, rmpp::Status::resources_exhausted);
  lied(
      [](Packet& packet) {
        if (RmppView(packet).segment() == 7) packet[26] |= rmpp::flags::last;
      },
      rmpp::Status::inconsistent_last_and_payload);
  lied([](Packet& packet) { packet[24] = 2; }, rmpp::Status::unsupported_version);
}

TEST_CASE("an answer in segments to another question is an error") {
  Bench bench(1000);
  bench.peer.change = [](Packet& packet) {
    packet[17] = 0x12;
    return true;
  };
  const auto result = bench.ask();
  REQUIRE_FALSE(result);
  REQUIRE(result.error().message() == "Invalid reply: attribute is 0x12, expected 0x11");
}

TEST_CASE("a cancelled call stops the sender and frees its place") {
  Bench bench(100000);
  ibtest::End end;
  auto victim = ibtest::request_nodes(*bench.rpc);
  victim.start(bench.loop, end);
  bench.loop.run(async::sleep_for(1ms));
  REQUIRE(bench.rpc->stats()->segments > 64);
  victim.reset();
  REQUIRE(bench.rpc->gmp_window().in_flight() == 0);
  bench.loop.run(async::sleep_for(1s));
  REQUIRE(bench.peer.aborts == 1);
  REQUIRE(bench.peer.failed == 1);
}

TEST_CASE("an engine may die in the midst of a transfer") {
  Bench bench(100000);
  ibtest::End end;
  auto orphan = ibtest::request_nodes(*bench.rpc);
  orphan.start(bench.loop, end);
  bench.loop.run(async::sleep_for(1ms));
  bench.rpc.reset();
  orphan.reset();
}

TEST_CASE("the first of two answers to two tries is taken") {
  Bench bench(1000);
  bench.peer.delay = 1500ms;
  bench.peer.response_time = 100s;
  const auto result = bench.ask();
  REQUIRE(is_whole(result, 1000));
  REQUIRE(bench.peer.requests == 2);
  REQUIRE(bench.peer.done == 1);
  REQUIRE(bench.rpc->stats()->retries_lost == 1);
}

TEST_CASE("the window of a transfer fits the channel") {
  Bench bench(1000);
  bench.fabric.channel().most_in_flight = 20;
  REQUIRE(is_whole(bench.ask(), 1000));
  REQUIRE(bench.peer.widest_window == 10);
  Bench wide(1000);
  REQUIRE(is_whole(wide.ask(), 1000));
  REQUIRE(wide.peer.widest_window == 64);
}

namespace {
Task<> ask_into(Rpc& rpc, std::size_t count, std::size_t& whole) {
  const sa::NodeRecord::Query query;
  const auto result = co_await sa::try_subn_adm_get_table(rpc, query);
  if (is_whole(result, count)) ++whole;
}
Task<> ask_often(Bench& bench, std::size_t times, std::size_t& whole) {
  async::TaskGroup group(bench.loop);
  for (std::size_t i = 0; i < times; ++i) group.spawn(ask_into(*bench.rpc, bench.count, whole));
  co_await group.join();
}
}  // namespace

TEST_CASE("many tables at once come whole, each for itself") {
  Bench bench(500);
  bench.peer.loss = 0.02;
  bench.peer.options.retries = 20;
  std::size_t whole = 0;
  bench.loop.run(ask_often(bench, 200, whole));
  REQUIRE(whole == 200);
  bench.loop.run(async::sleep_for(60s));
  REQUIRE(bench.rpc->gmp_window().in_flight() == 0);
}

namespace {
Task<> ask_for_error(Rpc& rpc, std::size_t count, std::size_t& whole, std::vector<std::string>& errors) {
  const sa::NodeRecord::Query query;
  const auto result = co_await sa::try_subn_adm_get_table(rpc, query);
  if (is_whole(result, count)) ++whole;
  if (!result) errors.push_back(result.error().message());
}
Task<> ask_for_errors(Bench& bench, std::size_t times, std::size_t& whole, std::vector<std::string>& errors) {
  async::TaskGroup group(bench.loop);
  for (std::size_t i = 0; i < times; ++i) group.spawn(ask_for_error(*bench.rpc, bench.count, whole, errors));
  co_await group.join();
}
}  // namespace

TEST_CASE("the answers that come at once have no more memory together than one may") {
  Bench bench(500);
  const std::size_t each = 56 + 500 * node_record_step;
  bench.rpc.reset();
  bench.rpc = std::make_unique<Rpc>(bench.loop, bench.fabric.open(), RpcLimits{.segment_bytes = 3 * each});
  bench.fabric.channel().reports = false;
  bench.rpc->sa_path().ib().timeout = 1s;
  std::size_t whole = 0;
  std::vector<std::string> errors;
  bench.loop.run(ask_for_errors(bench, 5, whole, errors));
  CHECK(whole >= 3);
  CHECK(errors.size() == 5 - whole);
  REQUIRE_FALSE(errors.empty());
  CHECK_THAT(errors[0], ibtest::contains("broke off: the answers that are on their way have more than 168168 bytes together - "
                                         "Resources exhausted(1)"));
  CHECK(bench.peer.aborts == errors.size());
  CHECK(bench.peer.aborted_with == rmpp::Status::resources_exhausted);
  // All of it is free again.
  whole = 0;
  bench.loop.run(ask_for_errors(bench, 3, whole, errors));
  CHECK(whole == 3);
}

TEST_CASE("a device that goes away in the midst of a transfer ends it") {
  Bench bench(100000);
  bench.peer.delay = 100us;
  bench.peer.change = [&, segments = 0](Packet&) mutable {
    if (++segments == 200) bench.fabric.channel().later(0s, [&] { bench.fabric.channel().break_down(EIO); });
    return true;
  };
  REQUIRE_THROWS_AS(bench.ask(), SysError);
}

TEST_CASE("an ACK of nothing does not hold up a request") {
  Bench bench(3);
  int requests = 0;
  bench.fabric.network.gmp = [&](Bytes mad, const path::Path&) -> std::optional<FakeFabric::Answer> {
    if (RmppView::is_active(mad) || ++requests > 1) {
      bench.peer.take(bench.fabric.channel(), mad);
      return {};
    }
    Packet ack{};
    std::ranges::copy(mad, ack.begin());
    ack[3] = response_method(mad[3]);
    set_rmpp(ack, rmpp::Type::ack, 0, rmpp::Status::success, 1, 64);
    return FakeFabric::Answer(ack.begin(), ack.end());
  };
  const auto result = bench.ask();
  REQUIRE(is_whole(result, 3));
  REQUIRE(requests == 2);
  REQUIRE(bench.rpc->stats()->unexpected == 1);
  REQUIRE(bench.elapsed() < 2s);
}

}  // namespace mad_rpc_transfer_tests
