// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Subnet administration on a real kernel: queries and tables of 2,000 records, asked and answered over umad, where the kernel
// does RMPP, and over verbs, where we do it ourselves; each against each. Runs in the guest, each case by itself.
#include <algorithm>

#include "kernel/bench.hpp"
#include "kernel/sa_server.hpp"
#include "mad/open.hpp"
#include "mad/verbs.hpp"
#include "support/catch.hpp"

using namespace ib;
using namespace std::chrono_literals;
using ibtest::Bench;
using ibtest::node_record;
using ibtest::SaServer;
using ibtest::VendorServer;

namespace {

constexpr unsigned nodes = 2000;
std::unique_ptr<mad::Channel> open_both(const sys::EndPort& port) { return mad::open_channel(port, mad::GmpCarrier::verbs); }
constexpr Bench::Open umad = mad::open_umad, verbs = mad::open_verbs, both_ways = open_both;

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
    CHECK(bench.loop.run(bench.rpc.subn_adm_get(query)) == node_record(1234));
    query.lid(Lid{nodes + 1});
    const auto none = bench.loop.run(bench.rpc.try_subn_adm_get(query));
    REQUIRE_FALSE(none);
    CHECK(none.error().status() == 0x0300);
  }

  void tables() {
    sa::NodeRecord::Query query;
    const std::vector<sa::NodeRecord> all = bench.loop.run(bench.rpc.subn_adm_get_table(query));
    REQUIRE(all.size() == nodes);
    for (unsigned i = 0; i < nodes; ++i) {
      if (!(all[i] == node_record(i + 1))) FAIL("record " << i + 1 << " is not what was sent");
    }
    CHECK(bench.loop.run(bench.rpc.subn_adm_get_table(query.lid(Lid{7}))) == std::vector{node_record(7)});
    CHECK(bench.loop.run(bench.rpc.subn_adm_get_table(query.lid(Lid{nodes + 1}))).empty());
    sa::NodeRecord::Query switches;
    switches.node_type(static_cast<smp::NodeType>(2));
    CHECK(bench.loop.run(bench.rpc.subn_adm_get_table(switches)).size() == nodes / 10);
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
    const std::vector<sa::NodeRecord> all = co_await bench.rpc.subn_adm_get_table(query);
    records += all.size();
  }

  /// A request of one segment and of 41, each answered with a table.
  void multi_paths() {
    for (const unsigned ends : {1U, 255U}) {
      sa::MultiPathRecord::Query query;
      query.numb_path(127);
      std::vector<Gid> gids;
      for (unsigned i = 0; i < ends; ++i) gids.push_back(Gid::from(link_local_prefix, Guid{i + 1}));
      const auto paths = bench.loop.run(bench.rpc.subn_adm_get_multi(query, gids, gids));
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

}  // namespace

TEST_CASE("umad, SA query: one record, and none") { Sa(umad, umad).single_records(); }

TEST_CASE("umad, RMPP: tables by the kernel on both sides") {
  Sa both(umad, umad);
  CHECK(mad::open_umad(both.bench.here)->does_rmpp(mad::mgmt_class::sa));
  both.tables();
}

TEST_CASE("umad, RMPP: several tables at a time") { Sa(umad, umad).tables_at_once(); }

TEST_CASE("umad, RMPP: a request in segments by the kernel on both sides") { Sa(umad, umad).multi_paths(); }

TEST_CASE("verbs, RMPP: a request in segments of our own protocol to the kernel") { Sa(verbs, umad).multi_paths(); }

TEST_CASE("verbs, server: a request in segments from the kernel to our own protocol") { Sa(umad, verbs).multi_paths(); }

TEST_CASE("verbs, server: a request in segments by our own protocol on both sides") { Sa(verbs, verbs).multi_paths(); }

TEST_CASE("verbs, SA query: one record, and none") { Sa(verbs, umad).single_records(); }

TEST_CASE("verbs, RMPP: tables that the kernel sends are received by our own protocol") { Sa(verbs, umad).tables(); }

TEST_CASE("verbs, RMPP: several tables at a time") { Sa(verbs, umad).tables_at_once(); }

TEST_CASE("verbs, server: tables that our own protocol sends are received by the kernel") { Sa(umad, verbs).tables(); }

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
