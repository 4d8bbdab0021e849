// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Subnet administration on a real kernel: queries and tables of 2,000 records, asked and answered by our own RMPP, over umad and
// over verbs, and by the kernel's; each against each. Runs in the guest, each case by itself.
#include <algorithm>

#include "kernel/bench.hpp"
#include "kernel/kernel_rmpp.hpp"
#include "kernel/sa_server.hpp"
#include "kernel/slow_channel.hpp"
#include "mad/channel/open.hpp"
#include "mad/rmpp/transfers.hpp"
#include "sa/subn_adm.hpp"
#include "support/catch.hpp"
#include "support/end.hpp"

using namespace ib;
using namespace std::chrono_literals;
using ibtest::Bench;
using ibtest::node_record;
using ibtest::Notes;
using ibtest::SaServer;
using ibtest::VendorServer;

namespace {

constexpr unsigned nodes = 2000;
std::unique_ptr<mad::Channel> open_both(const sys::EndPort& port) { return mad::open_channel(port, mad::GmpCarrier::verbs); }
constexpr std::size_t too_long = mad::RmppInbox::longest + 1000;  // bytes of a request
constexpr Bench::Open umad = mad::open_umad, verbs = mad::open_verbs, kernel = ibtest::open_kernel_rmpp, both_ways = open_both;

/// A client on one port, and the server on the other.
struct Sa {
  Sa(Bench::Open client, Bench::Open server) : bench({}, client), sa(bench.loop, server(bench.there), nodes) {
    path::Path path = bench.path();
    path.ib().qkey = path::qp1_qkey;
    path.ib().timeout = 5s;
    path.ib().retries = 2;
    if (server == verbs) path.ib().dqpn = number();
    bench.rpc.sa_path() = path;
  }

  /// The number of the queue pair that the server has on verbs: a server at the client's port sees it.
  Qpn number() {
    VendorServer vendor(bench.loop, bench.here);
    path::Path back = bench.path();
    back.ib().end_port = &bench.there;
    std::swap(back.ib().sgid, back.ib().dgid);
    REQUIRE(bench.loop.run(ibtest::ask(sa.rpc(), back, {})));
    return Qpn{load_be<std::uint32_t>(reinterpret_cast<const std::uint8_t*>(&vendor.requester.qpn))};
  }

  void single_records() {
    sa::NodeRecord::Query query;
    query.lid(Lid{1234});
    CHECK(bench.loop.run(mad::taken(sa::try_subn_adm_get(bench.rpc, query))) == node_record(1234));
    query.lid(Lid{nodes + 1});
    const auto none = bench.loop.run(sa::try_subn_adm_get(bench.rpc, query));
    REQUIRE_FALSE(none);
    CHECK(none.error().status() == 0x0300);
  }

  void tables() {
    sa::NodeRecord::Query query;
    const std::vector<sa::NodeRecord> all = bench.loop.run(sa::subn_adm_get_table(bench.rpc, query));
    REQUIRE(all.size() == nodes);
    for (unsigned i = 0; i < nodes; ++i) {
      if (!(all[i] == node_record(i + 1))) FAIL("record " << i + 1 << " is not what was sent");
    }
    CHECK(bench.loop.run(sa::subn_adm_get_table(bench.rpc, query.lid(Lid{7}))) == std::vector{node_record(7)});
    CHECK(bench.loop.run(sa::subn_adm_get_table(bench.rpc, query.lid(Lid{nodes + 1}))).empty());
    sa::NodeRecord::Query switches;
    switches.node_type(static_cast<smp::NodeType>(2));
    CHECK(bench.loop.run(sa::subn_adm_get_table(bench.rpc, switches)).size() == nodes / 10);
  }

  /// Several tables at a time, whose segments mix.
  void tables_at_once() {
    std::size_t records = 0;
    bench.loop.run(fetch_many(records));
    CHECK(records == std::size_t{4} * nodes);
  }
  async::Task<> fetch_many(std::size_t& records) {
    async::TaskGroup group(bench.loop);
    for (int i = 0; i < 4; ++i) group.spawn(fetch(records));
    co_await group.join();
  }
  async::Task<> fetch(std::size_t& records) {
    const sa::NodeRecord::Query query;
    const std::vector<sa::NodeRecord> all = co_await sa::subn_adm_get_table(bench.rpc, query);
    records += all.size();
  }

  /// A request of one segment and of 41, each answered with a table.
  void multi_paths() {
    for (const unsigned ends : {1U, 255U}) {
      sa::MultiPathRecord::Query query;
      query.numb_path(127);
      std::vector<Gid> gids;
      for (unsigned i = 0; i < ends; ++i) gids.push_back(Gid::from(link_local_prefix, Guid{i + 1}));
      const auto paths = bench.loop.run(ibtest::subn_adm_get_multi(bench.rpc, query, gids, gids));
      REQUIRE(paths.size() == std::min(ends * ends, 127U));
      for (unsigned i = 0; i < paths.size(); ++i) {
        if (paths[i].sgid != gids[0] || paths[i].dgid != gids[i]) FAIL("path " << i << " is not what was asked for");
      }
    }
    CHECK(bench.rpc.stats()->retries_lost == 0);
  }

  Bench bench;
  SaServer sa;
};

mad::Request get_table(const path::Path& path) {
  mad::Request request{.path = path, .payload = {}};
  request.mgmt_class = mad::mgmt_class::sa;
  request.class_version = 2;
  request.method = mad::method::get_table;
  request.attribute_id = sa::NodeRecord::attribute_id;
  return request;
}

/// A SubnAdmGetMulti with so many bytes of an attribute.
async::Task<mad::Result<mad::Reply>> ask_multi(mad::Rpc& rpc, std::uint16_t attribute, std::size_t bytes) {
  const std::vector<std::uint8_t> payload(bytes);
  mad::Request request = get_table(rpc.sa_path());
  request.payload = payload;
  request.method = mad::method::get_multi;
  request.attribute_id = attribute;
  co_return co_await rpc.try_call(request);
}

/// A server that is slow between segments, and a client that asks it for a table of 112 of them with a short timeout, once.
struct SlowSa {
  static constexpr async::Duration timeout = 300ms;

  explicit SlowSa(Bench::Open client) : bench({}, client), sa(bench.loop, slowed(), nodes), server(sa.server()) {
    path::Path path = bench.path();
    path.ib().qkey = path::qp1_qkey;
    path.ib().timeout = timeout;
    path.ib().retries = 0;
    bench.rpc.sa_path() = path;
  }
  std::unique_ptr<mad::Channel> slowed() {
    auto channel = std::make_unique<ibtest::SlowChannel>(mad::open_umad(bench.there), 20ms);
    slow = channel.get();
    return channel;
  }
  /// The number of records that came, or nothing.
  std::optional<std::size_t> fetch() {
    const async::Time began = bench.loop.now();
    const auto switches = bench.loop.run(ask(bench.rpc));
    took = bench.loop.now() - began;
    if (!switches) return std::nullopt;
    return switches->records.size();
  }
  void cancel(async::Duration after) {
    ibtest::End end;
    auto victim = ask(bench.rpc);
    victim.start(bench.loop, end);
    bench.loop.run(ibtest::wait_until([] { return false; }, after));
    victim.reset();
  }
  static async::Task<mad::Result<sa::Table<sa::NodeRecord>>> ask(mad::Rpc& rpc) {
    sa::NodeRecord::Query query;
    query.node_type(static_cast<smp::NodeType>(2));
    co_return co_await sa::try_subn_adm_get_table(rpc, query);
  }

  Bench bench;
  ibtest::SlowChannel* slow{};
  SaServer sa;
  mad::Server& server;
  async::Duration took{};
};

}  // namespace

TEST_CASE("umad, SA query: one record, and none") { Sa(umad, umad).single_records(); }

TEST_CASE("umad, RMPP: tables by our own protocol on both sides") { Sa(umad, umad).tables(); }

TEST_CASE("umad, RMPP: tables that the kernel sends are received by our own protocol") { Sa(umad, kernel).tables(); }

TEST_CASE("umad, RMPP: several tables at a time") { Sa(umad, kernel).tables_at_once(); }

TEST_CASE("umad, RMPP: a request in segments by our own protocol on both sides") { Sa(umad, umad).multi_paths(); }

TEST_CASE("umad, RMPP: a request in segments of our own protocol to the kernel") { Sa(umad, kernel).multi_paths(); }

TEST_CASE("umad, server: tables that our own protocol sends are received by the kernel") { Sa(kernel, umad).tables(); }

TEST_CASE("umad, server: a request in segments from the kernel to our own protocol") { Sa(kernel, umad).multi_paths(); }

TEST_CASE("umad, RMPP: a table comes whole though its transfer takes many times the timeout, and only once") {
  SlowSa sa(umad);
  CHECK(sa.fetch() == nodes / 10);
  CHECK(sa.took > 5 * SlowSa::timeout);
  CHECK(sa.server.counts().answered == 1);
  CHECK(sa.bench.rpc.stats()->timeouts == 0);
}

TEST_CASE("umad, RMPP: the kernel's own protocol loses such a table, which is why it is not used") {
  SlowSa sa(kernel);
  CHECK_FALSE(sa.fetch());
  CHECK(sa.took >= SlowSa::timeout);
}

TEST_CASE("umad, RMPP: a cancelled table is stopped at its sender") {
  SlowSa sa(umad);
  sa.cancel(1s);
  sa.bench.loop.run(ibtest::wait_until([] { return false; }, 2s));  // what had left the server's protocol before it knew
  const std::size_t segments = sa.slow->segments;
  sa.bench.loop.run(ibtest::wait_until([] { return false; }, 1s));
  CHECK(segments > 1);
  CHECK(sa.slow->segments == segments);
  CHECK(sa.fetch() == nodes / 10);
}

TEST_CASE("umad, RMPP: a plain MAD that refuses a request in segments arrives at once") {
  Sa both(umad, umad);
  const async::Time began = both.bench.loop.now();
  const auto refused = both.bench.loop.run(ask_multi(both.bench.rpc, 0x7f, 5000));
  REQUIRE_FALSE(refused);
  CHECK(refused.error().status() == mad::status::unsupported_method_attribute);
  CHECK(both.bench.loop.now() - began < 2s);
  CHECK(both.bench.rpc.stats()->timeouts == 0);
}

TEST_CASE("umad, server: a request longer than a server takes is stopped") {
  Sa both(umad, umad);
  const auto refused = both.bench.loop.run(ask_multi(both.bench.rpc, sa::MultiPathRecord::attribute_id, too_long));
  REQUIRE_FALSE(refused);
  CHECK_THAT(refused.error().message(), ibtest::contains("the other side gave up"));
  CHECK(both.sa.server().counts().answered + both.sa.server().counts().refused == 0);
  both.single_records();
}

TEST_CASE("umad, server: a request longer than a server takes is stopped where the kernel sends it") {
  Sa both(umad, umad);
  Notes notes;
  const auto channel = kernel(both.bench.here);
  channel->attach(notes, both.bench.loop);
  const path::Path path = both.bench.rpc.sa_path();
  const std::vector<std::uint8_t> payload(too_long);
  mad::Request request = get_table(path);
  request.payload = payload;
  request.method = mad::method::get_multi;
  auto mad = mad::to_mad(request);
  store_be(&mad[8], std::uint64_t{1});
  channel->send(mad, path, 5s);
  both.bench.loop.run(ibtest::wait_until([] { return false; }, 2s));
  CHECK(notes.replies == 0);
  CHECK(both.sa.server().counts().answered + both.sa.server().counts().refused == 0);
  both.single_records();
}

TEST_CASE("umad, server: answers that nobody acknowledges are kept up to a bound, then requests are refused as busy") {
  Sa both(umad, umad);
  Notes notes;
  const auto channel = mad::open_umad(both.bench.here);
  channel->attach(notes, both.bench.loop);
  const path::Path path = both.bench.rpc.sa_path();
  const auto& counts = both.sa.server().counts();
  constexpr unsigned requests = mad::RmppOutbox::most_transfers + 44, step = 20;
  for (unsigned i = 0; i < requests; ++i) {
    auto packet = mad::to_mad(get_table(path));
    store_be(&packet[8], std::uint64_t{i + 1});
    channel->send(packet, path, 40s);
    if ((i + 1) % step == 0) both.bench.loop.run(ibtest::wait_until([&] { return counts.answered + counts.refused == i + 1; }, 10s));
  }
  CHECK(counts.answered == mad::RmppOutbox::most_transfers);
  CHECK(counts.refused == 44);
  both.single_records();
}

TEST_CASE("verbs, RMPP: a request in segments of our own protocol to the kernel") { Sa(verbs, kernel).multi_paths(); }

TEST_CASE("verbs, server: a request in segments from the kernel to our own protocol") { Sa(kernel, verbs).multi_paths(); }

TEST_CASE("verbs, server: a request in segments by our own protocol on both sides") { Sa(verbs, verbs).multi_paths(); }

TEST_CASE("verbs, SA query: one record, and none") { Sa(verbs, umad).single_records(); }

TEST_CASE("verbs, RMPP: tables that the kernel sends are received by our own protocol") { Sa(verbs, kernel).tables(); }

TEST_CASE("verbs, RMPP: several tables at a time") { Sa(verbs, kernel).tables_at_once(); }

TEST_CASE("verbs, server: tables that our own protocol sends are received by the kernel") { Sa(kernel, verbs).tables(); }

TEST_CASE("verbs, server: tables by our own protocol on both sides") {
  Sa both(verbs, verbs);
  both.single_records();
  both.tables();
}

TEST_CASE("verbs, server: requests to QP1 come by umad, and answers in segments leave by it") {
  for (const Bench::Open client : {umad, verbs}) {
    Sa host(client, both_ways);
    host.single_records();
    host.tables();
    host.multi_paths();
  }
}

TEST_CASE("verbs, server: a host that serves asks by verbs, other classes than those that it serves") {
  Bench bench;
  SaServer sa(bench.loop, open_both(bench.there), nodes);
  VendorServer vendor(bench.loop, bench.here);
  path::Path back = bench.path();
  back.ib().end_port = &bench.there;
  std::swap(back.ib().sgid, back.ib().dgid);
  CHECK(bench.loop.run(ibtest::ask(sa.rpc(), back, {})));
  CHECK(load_be<std::uint32_t>(reinterpret_cast<const std::uint8_t*>(&vendor.requester.qpn)) > 1);
}
