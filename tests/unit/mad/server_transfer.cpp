// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Both ends of a long answer: a Server that sends a table and an Rpc that asks for it, over a network between two channels.
#include "iba-gen/ofa.hpp"
#include "iba-gen/sa.hpp"
#include "mad/sysstat.hpp"
#include "sa/subn_adm.hpp"
#include "support/catch.hpp"
#include "support/fake_clock.hpp"
#include "support/send_table.hpp"
#include "support/two_hosts.hpp"

namespace mad_server_transfer_tests {

using namespace ib;
using namespace ib::mad;
using namespace std::chrono_literals;

namespace {

/// A client at LID 1 and a server of NodeRecords at LID 2.
struct Bench : ibtest::TwoHosts {
  Bench() {
    server->on(mgmt_class::sa, method::get_table, sa::NodeRecord::attribute_id, [this](const Incoming& incoming) {
      std::vector<sa::NodeRecord> records(count);
      for (std::size_t i = 0; i < count; ++i) records[i].lid = Lid{static_cast<std::uint16_t>(i)};
      ibtest::send_table(*server, incoming, records);
    });
  }
  /// A request from a port that acknowledges nothing.
  void hold(std::uint64_t tid) {
    std::vector<std::uint8_t> request(packet_size);
    request[0] = 1;
    request[1] = mgmt_class::sa;
    request[2] = 2;
    request[3] = method::get_table;
    request[17] = sa::NodeRecord::attribute_id;
    store_be(&request[8], tid << 32 | 1);
    serving_channel->deliver(request, 0s);
  }
  std::size_t count = 1000;
};

Task<Result<sa::Table<sa::NodeRecord>>> ask(Rpc& rpc) {
  const sa::NodeRecord::Query query;
  co_return co_await sa::try_subn_adm_get_table(rpc, query);
}

}  // namespace

TEST_CASE("a server's table reaches its client whole") {
  for (const double loss : {0.0, 0.02}) {
    for (const std::size_t count : {0U, 1U, 2U, 3000U}) {
      Bench bench;
      bench.count = count;
      bench.loss = loss;
      const auto result = bench.loop.run(ask(*bench.client));
      REQUIRE(result);
      REQUIRE_FALSE(result->torn);
      REQUIRE(result->records.size() == count);
      REQUIRE((count == 0 || result->records.back().lid.value == count - 1));
      bench.loop.run(async::sleep_for(60s));
      if (loss == 0) REQUIRE(bench.server->counts().answered == 1);
      REQUIRE(bench.server->counts().refused == 0);
    }
  }
}

TEST_CASE("a late ACK is not a request") {
  Bench bench;
  REQUIRE(bench.loop.run(ask(*bench.client)));
  std::vector<std::uint8_t> ack(packet_size);
  ack[0] = 1;
  ack[1] = mgmt_class::sa;
  ack[2] = 2;
  ack[3] = method::get_table;
  ack[17] = sa::NodeRecord::attribute_id;
  ack[24] = 1;
  ack[25] = static_cast<std::uint8_t>(rmpp::Type::ack);
  ack[26] = rmpp::flags::active;
  bench.serving_channel->deliver(ack, 0s);
  bench.loop.run(async::sleep_for(1s));
  REQUIRE(bench.server->counts().answered == 1);
  REQUIRE(bench.server->counts().refused == 0);
  REQUIRE(bench.serving->stats()->unexpected == 1);
}

TEST_CASE("clients that vanish do not fill a server") {
  Bench bench;
  bench.lost = [](Bytes mad) { return (mad[3] & method::response) != 0; };
  std::size_t reported = 0;
  bench.server->set_reporter([&](const Error&) { ++reported; });
  for (std::uint64_t i = 0; i < 300; ++i) bench.hold(i);
  bench.loop.run(async::sleep_for(1s));
  REQUIRE(bench.server->counts().answered == RmppOutbox::most_transfers);
  REQUIRE(reported == 300 - RmppOutbox::most_transfers);
  REQUIRE(bench.server->counts().refused == reported);
  bench.loop.run(async::sleep_for(60s));
  bench.lost = nullptr;
  REQUIRE(bench.loop.run(ask(*bench.client)));
}

TEST_CASE("a request for which a server has no room is refused as busy") {
  Bench bench;
  SECTION("too many transfers") {
    bench.count = 10;
    for (std::uint64_t i = 0; i < RmppOutbox::most_transfers; ++i) bench.hold(i);
    bench.loop.run(async::sleep_for(1ms));
    REQUIRE(bench.server->counts().answered == RmppOutbox::most_transfers);
  }
  SECTION("too many bytes") {
    bench.count = 180'000;  // 19 MiB
    for (std::uint64_t i = 0; i < 4; ++i) bench.hold(i);
    bench.loop.run(async::sleep_for(1ms));
    REQUIRE(bench.server->counts().answered == 3);
    REQUIRE(bench.server->counts().refused == 1);
  }
  const std::uint64_t refused = bench.server->counts().refused;
  bench.client->sa_path().ib().retries = 0;
  const auto result = bench.loop.run(ask(*bench.client));
  REQUIRE_FALSE(result);
  REQUIRE(result.error().status() == status::busy);
  REQUIRE(bench.server->counts().refused == refused + 1);
  // Who never acknowledges is given up, and there is room again.
  bench.count = 10;
  bench.loop.run(async::sleep_for(20s));
  REQUIRE(bench.loop.run(ask(*bench.client)));
}

TEST_CASE("a client that widens its window and acknowledges nothing is given up in the end") {
  Bench bench;
  std::uint32_t window = 1;
  bool over = false;
  bench.lost = [&](Bytes mad) {
    if (!HeaderView(mad).is_response()) return over;
    if (RmppView(mad).type() == rmpp::Type::abort) over = true;
    if (RmppView(mad).type() != rmpp::Type::data || RmppView(mad).segment() != 1 || over) return true;
    Packet ack{};
    std::ranges::copy(mad, ack.begin());
    ack[3] ^= method::response;
    set_rmpp(ack, rmpp::Type::ack, 0, rmpp::Status::success, 0, ++window);
    bench.serving_channel->deliver({ack.begin(), ack.end()}, 10us);
    return true;
  };
  REQUIRE_FALSE(bench.loop.run(ask(*bench.client)));
  bench.loop.run(async::sleep_for(rmpp_longest_time));
  REQUIRE(over);
}

TEST_CASE("answers that go at once have no more bytes together than there may be") {
  ibtest::FakeClock clock;
  async::Loop loop{clock};
  RmppOutbox outbox(loop, [](Bytes, const path::Path&) {});
  std::vector<std::uint8_t> table(RmppOutbox::most_bytes / 2 - 100);
  table[1] = mgmt_class::sa;
  const auto send = [&](std::uint16_t lid) {
    path::IbPath path;
    path.dlid = Lid{lid};
    outbox.send(table, path);
  };
  send(1);
  send(2);
  CHECK_THROWS_AS(send(3), Error);
  send(2);  // takes the place of its last try
  CHECK(outbox.transfers() == 2);
  CHECK(outbox.bytes() == 2 * table.size());
  loop.run(async::sleep_for(rmpp_longest_time));
  CHECK(outbox.bytes() == 0);
  send(3);
}

TEST_CASE("where the kernel does RMPP it gets the whole answer") {
  Bench bench;
  bench.serving_channel->rmpp = bench.client_channel->rmpp = true;
  const auto result = bench.loop.run(ask(*bench.client));
  REQUIRE(result);
  REQUIRE(result->records.size() == 1000);
  REQUIRE(bench.serving_channel->sent == 1);
}

namespace {

/// Pings LID 2 with `length` bytes.
Task<Result<Reply>> ping(Rpc& rpc, std::size_t length) {
  path::IbPath path;
  path.end_port = &rpc.end_port();
  path.dlid = Lid{2};
  path.slid = rpc.end_port().lid;
  path.dqpn = path.sqpn = Qpn{1};
  const path::Path there = path;
  std::vector<std::uint8_t> payload(length);
  for (std::size_t i = 0; i < length; ++i) payload[i] = static_cast<std::uint8_t>(i * 7);
  const Request request{.path = there,
                        .mgmt_class = ofa::SysStatPing::mgmt_class,
                        .attribute_id = ofa::SysStatPing::attribute_id,
                        .payload = payload,
                        .oui = openib_oui};
  Result<Reply> reply = co_await rpc.try_call(request);
  co_return reply;
}

}  // namespace

TEST_CASE("a ping longer than a packet comes back whole, and the next one is answered too") {
  for (const bool kernel_does_rmpp : {false, true}) {
    Bench bench;
    serve_sysstat(*bench.server, "host", "cpu");
    bench.serving_channel->rmpp = bench.client_channel->rmpp = kernel_does_rmpp;
    for (const std::size_t length : {8U, 216U, 217U, 400U, 432U, 5000U}) {
      CAPTURE(kernel_does_rmpp, length);
      const auto reply = bench.loop.run(ping(*bench.client, length));
      REQUIRE(reply);
      const Bytes payload = reply->payload();
      REQUIRE(payload.size() >= length);
      for (std::size_t i = 0; i < length; ++i) REQUIRE(payload[i] == static_cast<std::uint8_t>(i * 7));
    }
  }
}

}  // namespace mad_server_transfer_tests
