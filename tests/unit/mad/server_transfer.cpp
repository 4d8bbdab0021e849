// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Both ends of a long answer: a Server that sends a table and an Rpc that asks for it, over a network between two channels.
#include <algorithm>
#include <random>

#include "iba-gen/sa.hpp"
#include "mad/server.hpp"
#include "support/catch.hpp"
#include "support/fake_channel.hpp"

using namespace ib;
using namespace ib::mad;
using namespace std::chrono_literals;
using ibtest::FakeChannel;
using ibtest::FakeHost;

namespace {

/// A client at LID 1 and a server at LID 2.
struct Bench {
  Bench() {
    client = open(asking, serving_channel, client_channel, 1);
    serving = open(served, client_channel, serving_channel, 2);
    client->sa_path().ib().timeout = 1s;
    server = std::make_unique<Server>(*serving);
    Service sa;
    sa.mgmt_class = mgmt_class::sa;
    sa.class_version = 2;
    server->serve(sa);
    server->on(mgmt_class::sa, method::get_table, sa::NodeRecord::attribute_id, [this](const Incoming& incoming) {
      std::vector<sa::NodeRecord> records(count);
      for (std::size_t i = 0; i < count; ++i) records[i].lid = Lid{static_cast<std::uint16_t>(i)};
      server->send_table(incoming, records);
    });
  }
  /// An engine whose MADs arrive at `*to`.
  std::unique_ptr<Rpc> open(const FakeHost& host, FakeChannel*& to, FakeChannel*& here, std::uint16_t lid) {
    auto channel = std::make_unique<FakeChannel>(host.port, [this, &to](FakeChannel&, Bytes mad, const path::Path&, async::Duration) {
      if (lost != nullptr && lost(mad)) return;
      if (std::uniform_real_distribution<>(0, 1)(random) >= loss) to->deliver({mad.begin(), mad.end()}, 10us);
    });
    here = channel.get();
    channel->reports = false;
    channel->mask = ~std::uint64_t{0};
    channel->source.slid = Lid{static_cast<std::uint16_t>(3 - lid)};
    channel->source.sqpn = 1;
    return std::make_unique<Rpc>(loop, std::move(channel));
  }

  FakeHost asking{1}, served{2};
  async::FakeClock clock;
  async::Loop loop{clock};
  std::mt19937 random{1};
  double loss = 0;
  bool (*lost)(Bytes mad) = nullptr;
  std::size_t count = 1000;
  FakeChannel *client_channel{}, *serving_channel{};
  std::unique_ptr<Rpc> client, serving;
  std::unique_ptr<Server> server;
};

Task<Result<SaTable<sa::NodeRecord>>> ask(Rpc& rpc) {
  const sa::NodeRecord::Query query;
  co_return co_await rpc.try_subn_adm_get_table(query);
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
      REQUIRE_FALSE(result->cut);
      REQUIRE(result->records.size() == count);
      REQUIRE((count == 0 || result->records.back().lid.value == count - 1));
      bench.loop.run(async::sleep_for(60s));
      if (loss == 0) REQUIRE(bench.server->counts().answered == 1);
      REQUIRE(bench.server->counts().refused == 0);
    }
  }
}

TEST_CASE("an ACK that comes late is no request") {
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
  std::vector<std::uint8_t> request(packet_size);
  request[0] = 1;
  request[1] = mgmt_class::sa;
  request[2] = 2;
  request[3] = method::get_table;
  request[17] = sa::NodeRecord::attribute_id;
  for (std::uint16_t i = 0; i < 300; ++i) {
    store_be(&request[14], i);
    bench.serving_channel->deliver(request, 0s);
  }
  bench.loop.run(async::sleep_for(1s));
  REQUIRE(bench.server->counts().answered == RmppOutbox::most_transfers);
  REQUIRE(reported == 300 - RmppOutbox::most_transfers);
  bench.loop.run(async::sleep_for(60s));
  bench.lost = nullptr;
  REQUIRE(bench.loop.run(ask(*bench.client)));
}

TEST_CASE("where the kernel does RMPP it gets the whole answer") {
  Bench bench;
  bench.serving_channel->rmpp = bench.client_channel->rmpp = true;
  const auto result = bench.loop.run(ask(*bench.client));
  REQUIRE(result);
  REQUIRE(result->records.size() == 1000);
  REQUIRE(bench.serving_channel->sent == 1);
}
