// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Requests of more than one segment from one engine to another, and what strangers can make of the side that takes them.
#include <algorithm>
#include <cerrno>

#include "mad/rmpp/transfers.hpp"
#include "sa/pattern.hpp"
#include "sa/subn_adm.hpp"
#include "support/catch.hpp"
#include "support/end.hpp"
#include "support/fake_clock.hpp"
#include "support/multi_paths.hpp"
#include "support/send_table.hpp"
#include "support/two_hosts.hpp"

namespace mad_request_transfer_tests {

using namespace ib;
using namespace ib::mad;
using namespace std::chrono_literals;

namespace {

Gid gid_of(unsigned number) { return Gid::from(link_local_prefix, Guid{number}); }

std::vector<Gid> gids(unsigned first, unsigned count) {
  std::vector<Gid> all;
  for (unsigned i = 0; i < count; ++i) all.push_back(gid_of(first + i));
  return all;
}

/// A server that knows a path from each source to each destination, up to NumbPath of them.
struct Bench : ibtest::TwoHosts {
  Bench() {
    client->sa_path().ib().retries = 3;
    server->on(mgmt_class::sa, method::get_multi, sa::MultiPathRecord::attribute_id, [this](const Incoming& incoming) {
      ++served_requests;
      ibtest::send_table(*server, incoming, ibtest::multi_paths(incoming));
    });
    server->on(mgmt_class::sa, method::get_trace_table, sa::TraceRecord::attribute_id, [this](const Incoming& incoming) {
      const auto path = incoming.as<sa::PathRecord>();
      std::vector<sa::TraceRecord> hops(path.dlid.value);
      for (std::size_t i = 0; i < hops.size(); ++i) hops[i].node_id = path.slid.value + i;
      ibtest::send_table(*server, incoming, hops);
    });
  }
  Result<sa::Table<sa::PathRecord>> ask(unsigned sources, unsigned destinations);
  async::Duration elapsed() const { return clock.now() - async::Time{}; }

  std::size_t served_requests = 0;
};

Task<Result<sa::Table<sa::PathRecord>>> ask_paths(Rpc& rpc, unsigned sources, unsigned destinations) {
  sa::MultiPathRecord::Query query;
  query.numb_path(120);
  const std::vector<Gid> from = gids(1000, sources), to = gids(2000, destinations);
  co_return co_await ibtest::try_subn_adm_get_multi(rpc, query, from, to);
}

Result<sa::Table<sa::PathRecord>> Bench::ask(unsigned sources, unsigned destinations) {
  return loop.run(ask_paths(*client, sources, destinations));
}

bool is_right(const Result<sa::Table<sa::PathRecord>>& paths, unsigned sources, unsigned destinations) {
  if (!paths || paths->torn || paths->records.size() != std::min(sources * destinations, 120U)) return false;
  for (unsigned i = 0; i < paths->records.size(); ++i) {
    const sa::PathRecord& path = paths->records[i];
    if (path.sgid != gid_of(1000 + i / destinations) || path.dgid != gid_of(2000 + i % destinations)) return false;
  }
  return true;
}

Task<std::vector<sa::TraceRecord>> trace(Rpc& rpc, std::uint16_t from, std::uint16_t hops) {
  sa::PathRecord::Query query;
  query.slid(Lid{from}).dlid(Lid{hops});
  co_return co_await ibtest::subn_adm_get_trace_table(rpc, query);
}

/// The first segment of a request of three.
Packet first_segment(std::uint64_t tid) {
  Packet packet{};
  packet[0] = 1;
  packet[1] = mgmt_class::sa;
  packet[2] = 2;
  packet[3] = method::get_multi;
  packet[17] = sa::MultiPathRecord::attribute_id;
  store_be(&packet[8], tid);
  set_rmpp(packet, rmpp::Type::data, rmpp::flags::first, rmpp::Status::success, 1, 0);
  return packet;
}

/// An inbox whose packets a test sees.
struct Inbox {
  /// Segment 1 from a LID.
  bool begin(std::uint64_t tid, std::uint16_t lid) {
    Source source;
    source.slid = Lid{lid};
    return inbox.take(first_segment(tid), source);
  }
  std::size_t count(rmpp::Type type) const {
    return static_cast<std::size_t>(std::ranges::count_if(sent, [&](const Packet& p) { return RmppView(p).type() == type; }));
  }
  ibtest::FakeHost host{2};
  ibtest::FakeClock clock;
  async::Loop loop{clock};
  std::vector<Packet> sent;
  std::size_t delivered = 0;
  RmppInbox inbox{loop, host.port,
                  [this](Bytes packet, const path::Path&) {
                    sent.emplace_back();
                    std::ranges::copy(packet, sent.back().begin());
                  },
                  [this](Bytes, const Source&) { ++delivered; }};
};

}  // namespace

TEST_CASE("GIDs stand where a MultiPathRecord counts them") {
  std::vector<std::uint8_t> record(sa::MultiPathRecord::wire_size);
  CHECK(sa::used_part(record).size() == sa::MultiPathRecord::wire_size);
  for (unsigned i = 0; i < 255; ++i) {
    sa::add_gid(record, sa::PathEnd::destination, gid_of(2000 + i));
    sa::add_gid(record, sa::PathEnd::source, gid_of(1000 + i));
    const ibtest::MultiPathGids ends = ibtest::gids_of(sa::used_part(record));
    REQUIRE(ends.sources == gids(1000, i + 1));
    REQUIRE(ends.destinations == gids(2000, i + 1));
    REQUIRE(record.size() >= sa::MultiPathRecord::wire_size);
    REQUIRE(sa::used_part(record).size() == 24 + 32 * (i + 1));
  }
  CHECK_THROWS_AS(sa::add_gid(record, sa::PathEnd::source, gid_of(1)), Error);
  CHECK_THROWS_AS(ibtest::gids_of(Bytes(record).first(24 + 510 * 16 - 1)), Error);
  CHECK_THROWS_AS(ibtest::gids_of(Bytes(record).first(20)), Error);
}

TEST_CASE("a request goes in as many segments as it has to") {
  for (const unsigned destinations : {1U, 10U, 11U, 50U, 255U}) {
    Bench bench;
    REQUIRE(is_right(bench.ask(1, destinations), 1, destinations));
    const std::size_t segments = (24 + 16 * (1 + destinations) + 199) / 200;
    CHECK(bench.served_requests == 1);
    // The segments after the first, and the ACK that turns.
    CHECK(bench.client->stats()->request_segments == segments);
    CHECK(bench.client->stats()->retries_lost == 0);
    CHECK(bench.client->stats()->unexpected == 0);
    CHECK(bench.client_channel->sent == bench.client->stats()->sent());
    CHECK(bench.elapsed() < 1s);
    bench.loop.run(async::sleep_for(60s));
    CHECK(bench.serving->stats()->unexpected == 0);
    CHECK(bench.client->gmp_window().in_flight() == 0);
  }
}

TEST_CASE("requests and answers in segments cross a bad network") {
  for (unsigned seed = 1; seed <= 40; ++seed) {
    Bench bench;
    bench.random.seed(seed);
    bench.loss = 0.05;
    bench.twice = 0.2;
    bench.shuffle = true;
    bench.client->sa_path().ib().retries = 10;
    REQUIRE(is_right(bench.ask(100, 200), 100, 200));
    bench.loop.run(async::sleep_for(120s));
    REQUIRE(bench.client->gmp_window().in_flight() == 0);
    REQUIRE(bench.client_channel->in_network() + bench.serving_channel->in_network() == 0);
  }
}

TEST_CASE("a doubled and shuffled request is served once") {
  Bench bench;
  bench.twice = 1;
  bench.shuffle = true;
  REQUIRE(is_right(bench.ask(3, 200), 3, 200));
  CHECK(bench.served_requests == 1);
}

TEST_CASE("a request is served though the ACK of its last segment, or the one that turns, is lost") {
  for (const bool turn : {false, true}) {
    Bench bench;
    int seen = 0;
    bench.lost = [&](Bytes mad) {
      const bool is_ack = RmppView::is_active(mad) && RmppView(mad).type() == rmpp::Type::ack;
      const bool of_request = is_ack && (turn ? RmppView(mad).segment() == 0 : RmppView(mad).segment() == 7);
      return of_request && ++seen == 1;
    };
    REQUIRE(is_right(bench.ask(1, 80), 1, 80));
    CHECK(seen >= 1);
    CHECK(bench.served_requests == 1);
    CHECK(bench.elapsed() < 1s);
  }
}

TEST_CASE("a lost segment is sent again, not the whole request") {
  Bench bench;
  int lost = 0;
  bench.lost = [&](Bytes mad) {
    return RmppView(mad).type() == rmpp::Type::data && !HeaderView(mad).is_response() && RmppView(mad).segment() == 2 && ++lost == 1;
  };
  REQUIRE(is_right(bench.ask(1, 80), 1, 80));
  CHECK(bench.client->stats()->retries_lost == 0);
  CHECK(bench.elapsed() >= 1s);
  CHECK(bench.elapsed() < 3s);
}

TEST_CASE("a request in segments to a silent node takes no longer than other requests") {
  Bench bench;
  bench.lost = [](Bytes) { return true; };
  const auto result = bench.ask(1, 80);
  REQUIRE_FALSE(result);
  CHECK(dynamic_cast<const MadTimeout*>(&result.error()) != nullptr);
  CHECK(bench.elapsed() == 4s);
  CHECK(bench.client->gmp_window().in_flight() == 0);
}

TEST_CASE("segments that cannot be sent for a while go later") {
  Bench bench;
  bench.lost = [&](Bytes mad) {
    const bool second = RmppView(mad).type() == rmpp::Type::data && !HeaderView(mad).is_response() && RmppView(mad).segment() == 2;
    if (second && bench.elapsed() < 500ms) {
      bench.client_channel->refuse_sends = EAGAIN;
      bench.client_channel->later(1500ms, [&] { bench.client_channel->refuse_sends = 0; });
      return true;
    }
    return false;
  };
  REQUIRE(is_right(bench.ask(1, 80), 1, 80));
  CHECK(bench.elapsed() > 1500ms);
  CHECK(bench.elapsed() < 4s);
}

TEST_CASE("a receiver that widens its window and acknowledges nothing is given up in the end") {
  Bench bench;
  std::uint32_t window = 1;
  bench.lost = [&](Bytes mad) {
    if (HeaderView(mad).is_response() || RmppView(mad).type() != rmpp::Type::data || RmppView(mad).segment() != 1) return true;
    Packet ack{};
    std::ranges::copy(mad, ack.begin());
    ack[3] |= method::response;
    set_rmpp(ack, rmpp::Type::ack, 0, rmpp::Status::success, 0, ++window);
    bench.client_channel->deliver({ack.begin(), ack.end()}, 10us);
    return true;
  };
  const auto result = bench.ask(1, 80);
  REQUIRE_FALSE(result);
  CHECK(bench.elapsed() >= rmpp_longest_time);
  CHECK(bench.elapsed() < rmpp_longest_time + 10s);
  CHECK_THAT(result.error().message(),
             ibtest::contains("broke off: 0 of 7 segments of the request were acknowledged in 60 s - Total time too long(118)"));
}

TEST_CASE("a receiver that acknowledges a segment now and then has no more time than one that acknowledges nothing") {
  Bench bench;
  std::uint32_t acknowledged = 0;
  bool told = false;
  bench.lost = [&](Bytes mad) {
    told = told || RmppView(mad).type() == rmpp::Type::abort;
    if (HeaderView(mad).is_response() || RmppView(mad).type() != rmpp::Type::data) return true;
    if (RmppView(mad).segment() <= acknowledged) return true;
    Packet ack{};
    std::ranges::copy(mad, ack.begin());
    ack[3] |= method::response;
    ++acknowledged;
    set_rmpp(ack, rmpp::Type::ack, 0, rmpp::Status::success, acknowledged, acknowledged + 1);
    bench.client_channel->deliver({ack.begin(), ack.end()}, 3s);
    return true;
  };
  const auto result = bench.ask(10, 255);
  REQUIRE_FALSE(result);
  CHECK(bench.elapsed() >= rmpp_longest_time);
  CHECK(bench.elapsed() < rmpp_longest_time + 2s);
  CHECK(told);
  CHECK_THAT(result.error().message(), ibtest::contains("broke off: 20 of 22 segments of the request were acknowledged in 60 s - "));
}

TEST_CASE("a request that is acknowledged in part is an error that says so") {
  Bench bench;
  bench.lost = [](Bytes mad) { return RmppView(mad).type() == rmpp::Type::data && RmppView(mad).segment() > 2; };
  const auto result = bench.ask(1, 80);
  REQUIRE_FALSE(result);
  CHECK(bench.elapsed() < 8s);
  CHECK_THAT(result.error().message(),
             ibtest::contains("broke off: 2 of 7 segments of the request were acknowledged in 4 s of silence - Too many retries(126)"));
  CHECK(bench.client->gmp_window().in_flight() == 0);
}

TEST_CASE("a request whose answer is lost is sent again") {
  Bench bench;
  bench.lost = [&](Bytes mad) {
    return bench.served_requests < 3 && HeaderView(mad).is_response() && RmppView(mad).type() == rmpp::Type::data;
  };
  REQUIRE(is_right(bench.ask(2, 40), 2, 40));
  CHECK(bench.served_requests == 3);
  CHECK(bench.client->stats()->retries_lost == 2);
}

TEST_CASE("an agent without RMPP may answer the only segment of a request") {
  Bench bench;
  bench.lost = [](Bytes mad) { return RmppView::is_control(mad); };
  REQUIRE(is_right(bench.ask(1, 1), 1, 1));
  CHECK(bench.elapsed() < 1s);
}

TEST_CASE("a refusal of a long request is one MAD, and its status the error") {
  Bench bench;
  bench.server->on(mgmt_class::sa, method::get_multi, sa::MultiPathRecord::attribute_id,
                   [](const Incoming& incoming) { throw incoming.error(0x0500, "Invalid GID"); });
  const auto result = bench.ask(1, 80);
  REQUIRE_FALSE(result);
  CHECK(result.error().status() == 0x0500);
  CHECK(result.error().reply().size() == packet_size);
  CHECK(bench.server->counts().refused == 1);
}

TEST_CASE("a refusal by RMPP is acknowledged") {
  Bench bench;
  bench.server->on(mgmt_class::sa, method::get_multi, sa::MultiPathRecord::attribute_id,
                   [&](const Incoming& incoming) { bench.server->send_rmpp_reply(incoming, {}, {.status = 0x0200}); });
  const auto result = bench.ask(1, 80);
  REQUIRE_FALSE(result);
  CHECK(result.error().status() == 0x0200);
  CHECK(bench.client->stats()->acks == 1);
  const std::size_t sent = bench.serving_channel->sent;
  bench.loop.run(async::sleep_for(30s));
  CHECK(bench.serving_channel->sent == sent);
}

TEST_CASE("a MultiPathRecord that ends within its GIDs is refused") {
  Bench bench;
  std::vector<std::uint8_t> record(sa::MultiPathRecord::wire_size);
  record[15] = record[16] = 200;
  const Request request{.path = bench.client->sa_path(),
                        .mgmt_class = mgmt_class::sa,
                        .class_version = 2,
                        .method = method::get_multi,
                        .attribute_id = sa::MultiPathRecord::attribute_id,
                        .payload = record};
  const Result<Reply> reply = bench.loop.run(bench.client->try_call(request));
  REQUIRE_FALSE(reply);
  CHECK(reply.error().status() == status::unsupported_method_attribute);
}

TEST_CASE("a cancelled request in segments stops") {
  Bench bench;
  bench.lost = [](Bytes mad) { return RmppView(mad).segment() == 5; };
  ibtest::End end;
  auto victim = ask_paths(*bench.client, 1, 200);
  victim.start(bench.loop, end);
  bench.loop.run(async::sleep_for(100ms));
  CHECK(bench.client->gmp_window().in_flight() == 1);
  victim.reset();
  CHECK(bench.client->gmp_window().in_flight() == 0);
  const std::size_t sent = bench.client_channel->sent;
  bench.loop.run(async::sleep_for(60s));
  CHECK(bench.client_channel->sent == sent);
  CHECK(bench.served_requests == 0);
  CHECK(bench.serving->stats()->unexpected == 0);  // its ABORT ended the transfer there
}

TEST_CASE("an engine may die while it sends or takes a request in segments") {
  for (const bool client : {true, false}) {
    Bench bench;
    bench.lost = [](Bytes mad) { return RmppView(mad).segment() == 5; };
    ibtest::End end;
    auto orphan = ask_paths(*bench.client, 1, 200);
    orphan.start(bench.loop, end);
    bench.loop.run(async::sleep_for(100ms));
    if (client) {
      bench.client_channel->break_down(EIO);
      bench.client.reset();
    } else {
      bench.lost = [](Bytes) { return true; };
      bench.server.reset();
      bench.serving.reset();
    }
    orphan.reset();
  }
}

TEST_CASE("where the kernel does RMPP it gets the whole request and gives the whole answer") {
  for (const unsigned destinations : {1U, 80U}) {
    Bench bench;
    bench.serving_channel->rmpp = bench.client_channel->rmpp = true;
    REQUIRE(is_right(bench.ask(1, destinations), 1, destinations));
    CHECK(bench.client_channel->sent == 1);
    CHECK(bench.serving_channel->sent == 1);
  }
}

TEST_CASE("SubnAdmGetTraceTable is answered with a table") {
  for (const std::size_t hops : {0U, 1U, 4U, 5U, 200U}) {
    Bench bench;
    const auto records = bench.loop.run(trace(*bench.client, 7, static_cast<std::uint16_t>(hops)));
    REQUIRE(records.size() == hops);
    for (std::size_t i = 0; i < hops; ++i) REQUIRE(records[i].node_id == 7 + i);
  }
}

TEST_CASE("a payload too long for one MAD is refused where the class has no RMPP") {
  Bench bench;
  const std::vector<std::uint8_t> payload(500);
  const Request request{.path = bench.client->sa_path(), .mgmt_class = mgmt_class::performance, .attribute_id = 1, .payload = payload};
  CHECK_THROWS_AS(bench.loop.run(bench.client->try_call(request)), std::invalid_argument);
}

TEST_CASE("one stranger takes no more than his share, and all together no more than there is") {
  Inbox box;
  for (std::uint64_t tid = 1; tid <= 100; ++tid) CHECK(box.begin(tid, 7));
  CHECK(box.inbox.transfers() == RmppInbox::most_of_one_sender);
  CHECK(box.count(rmpp::Type::ack) == RmppInbox::most_of_one_sender);
  CHECK(box.count(rmpp::Type::stop) == 100 - RmppInbox::most_of_one_sender);
  for (std::uint16_t lid = 100; lid < 1100; ++lid) CHECK(box.begin(1, lid));
  CHECK(box.inbox.transfers() == RmppInbox::most_transfers);
  // Not for long.
  box.sent.clear();
  box.loop.run(async::sleep_for(20s));
  CHECK(box.inbox.transfers() == 0);
  CHECK(box.count(rmpp::Type::abort) == RmppInbox::most_transfers);
  CHECK(box.begin(1, 7));
  CHECK(box.inbox.transfers() == 1);
  CHECK(box.delivered == 0);
}

TEST_CASE("a request that creeps or has no end is stopped") {
  Inbox box;
  Source source;
  source.slid = Lid{7};
  REQUIRE(box.begin(9, 7));
  Packet packet = first_segment(9);
  std::uint32_t segment = 1;
  while (box.inbox.transfers() == 1 && segment < 10000) {
    set_rmpp(packet, rmpp::Type::data, 0, rmpp::Status::success, ++segment, 0);
    box.inbox.take(packet, source);
  }
  CHECK(segment == (RmppInbox::longest) / 200 + 1);
  CHECK(box.count(rmpp::Type::stop) == 1);
  REQUIRE(box.begin(10, 7));
  segment = 1;
  for (int seconds = 0; box.inbox.transfers() == 1 && seconds < 100; seconds += 10) {
    packet = first_segment(10);
    set_rmpp(packet, rmpp::Type::data, 0, rmpp::Status::success, ++segment, 0);
    box.inbox.take(packet, source);
    box.loop.run(async::sleep_for(10s));
  }
  CHECK(segment == 7);
  CHECK(box.delivered == 0);
}

TEST_CASE("a complete request answers its sender's repetitions for a while, but makes room for others") {
  Inbox box;
  Packet whole = first_segment(1);
  set_rmpp(whole, rmpp::Type::data, rmpp::flags::first | rmpp::flags::last, rmpp::Status::success, 1, 100);
  for (std::uint16_t lid = 1; lid <= 500; ++lid) {
    Source source;
    source.slid = Lid{lid};
    CHECK(box.inbox.take(whole, source));
    CHECK(box.inbox.take(whole, source));
  }
  CHECK(box.delivered == 500);
  CHECK(box.count(rmpp::Type::ack) == 1000);
  CHECK(box.inbox.transfers() == RmppInbox::most_transfers);
  box.loop.run(async::sleep_for(20s));
  CHECK(box.inbox.transfers() == 0);
}

TEST_CASE("only a first segment begins a transfer") {
  Inbox box;
  Source source;
  for (const auto type : {rmpp::Type::none, rmpp::Type::ack, rmpp::Type::stop, rmpp::Type::abort, static_cast<rmpp::Type>(9)}) {
    Packet packet = first_segment(1);
    set_rmpp(packet, type, 0, rmpp::Status::success, 1, 1);
    CHECK_FALSE(box.inbox.take(packet, source));
  }
  Packet second = first_segment(1);
  set_rmpp(second, rmpp::Type::data, 0, rmpp::Status::success, 2, 0);
  CHECK_FALSE(box.inbox.take(second, source));
  CHECK(box.inbox.transfers() == 0);
  CHECK(box.sent.empty());
}

}  // namespace mad_request_transfer_tests
