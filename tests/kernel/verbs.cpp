// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Verbs on a real kernel: what a device tells of itself, and GMPs over a UD queue pair, asked and answered. The other end is
// behind umad, so that both ways to send a MAD meet. Runs in the guest; each case is a test of its own there.
#include <sys/resource.h>

#include <algorithm>
#include <cerrno>
#include <numeric>

#include "iba-gen/pm.hpp"
#include "iba-gen/smp.hpp"
#include "kernel/bench.hpp"
#include "mad/channel/open.hpp"
#include "mad/server.hpp"
#include "support/catch.hpp"
#include "verbs/objects.hpp"

using namespace ib;
using namespace std::chrono_literals;
using ibtest::ask;
using ibtest::ask_many;
using ibtest::Bench;
using ibtest::error_of;
using ibtest::Notes;
using ibtest::vendor_get;
using ibtest::VendorServer;
using ibtest::wait_until;
using mad::Reply;
using mad::Result;

namespace {

std::string message_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    const auto lines = error.lines(0);
    return std::accumulate(lines.begin(), lines.end(), std::string(), [](const auto& all, const auto& line) { return all + line + "\n"; });
  }
  return "nothing";
}

std::unique_ptr<mad::Channel> open_by_verbs(const sys::EndPort& port) { return mad::open_channel(port, mad::GmpCarrier::verbs); }
std::unique_ptr<mad::Channel> open_what_works(const sys::EndPort& port) { return mad::open_channel(port); }

/// The number of the queue pair that `bench` sends from, as a server at the other end sees it.
Qpn queue_pair_of(Bench& bench, const VendorServer& server) {
  REQUIRE(bench.loop.run(ask(bench.rpc, bench.path(), {})));
  return Qpn{load_be<std::uint32_t>(reinterpret_cast<const std::uint8_t*>(&server.requester.qpn))};
}

}  // namespace

TEST_CASE("verbs: a device and its port tell the same as sysfs") {
  Bench bench;
  const verbs::Context context(*bench.here.device);
  const ibv_device_attr device = context.query_device();
  CHECK(load_be<std::uint64_t>(reinterpret_cast<const std::uint8_t*>(&device.node_guid)) == bench.here.device->node_guid.value);
  CHECK(device.phys_port_cnt == bench.here.device->ports.size());
  const ibv_port_attr port = context.query_port(1);
  CHECK(port.state == IBV_PORT_ACTIVE);
  CHECK(static_cast<unsigned>(port.state) == bench.here.state);
  CHECK(port.lid == bench.here.lid.value);
  CHECK(port.link_layer == IBV_LINK_LAYER_ETHERNET);
  CHECK(port.pkey_tbl_len == static_cast<int>(bench.here.pkeys.size()));
  CHECK(error_of([&] { (void)context.query_port(7); }) != 0);
}

TEST_CASE("verbs: a queue pair refuses what it can not do, by name") {
  Bench bench;
  const verbs::Context context(*bench.here.device);
  const verbs::CompletionQueue queue(context, 16);
  std::string message;
  CHECK(error_of([&] { verbs::QueuePair(context, queue, IBV_QPT_RC, {1U << 30, 1}); }, &message) != 0);
  CHECK_THAT(message, ibtest::starts_with("ibv_create_qp rxe0: "));
  verbs::QueuePair pair(context, queue, IBV_QPT_RC, {4, 4});
  path::IbPath path = bench.path().ib();
  path.sqpn = path.dqpn = pair.number();
  path.srdatomic = path.drdatomic = 1;
  path.mtu = 3;
  path.dgid = path.sgid;
  CHECK_NOTHROW(pair.init(path));
  CHECK_NOTHROW(pair.establish(path));
  CHECK(error_of([&] { pair.init(path); }, &message) == EINVAL);  // a queue pair is established once
  CHECK_THAT(message, ibtest::contains("ibv_modify_qp QP ") && ibtest::contains(" of rxe0 to INIT: Invalid argument"));
}

TEST_CASE("verbs, GMP: a request by GID is answered, with GRH both ways") {
  Bench bench({}, mad::open_verbs);
  VendorServer server(bench.loop, bench.there);
  const Result<Reply> reply = bench.loop.run(ask(bench.rpc, bench.path(), {1, 2, 3, 0xff}));
  REQUIRE(reply);
  CHECK(std::ranges::equal(reply->payload().first(4), std::array{1, 2, 3, 0xff}));
  CHECK(reply->source.has_grh);
  CHECK(reply->source.sgid == bench.there.default_gid());
  CHECK(reply->source.dgid == bench.here.default_gid());
  CHECK(reply->source.hop_limit > 0);
  CHECK(reply->source.sqpn == 1);
  const path::Path back = reply->source.path(bench.here, ibtest::vendor_class);
  CHECK(back.ib().dgid == bench.here.default_gid());
  CHECK(back.ib().pkey == default_pkey);
  CHECK(server.requests == 1);
  CHECK(load_be<std::uint32_t>(reinterpret_cast<const std::uint8_t*>(&server.requester.qpn)) > 1);
  CHECK(std::ranges::equal(server.requester.gid, bench.here.default_gid().bytes));
}

TEST_CASE("verbs, GMP: all 64 bits of a transaction ID come back") {
  Bench bench;
  VendorServer server(bench.loop, bench.there);
  Notes notes;
  const auto channel = mad::open_verbs(bench.here);
  channel->attach(notes, bench.loop);
  CHECK(channel->tid_mask() == ~std::uint64_t{0});
  CHECK_FALSE(channel->does_rmpp(mad::mgmt_class::sa));
  CHECK(channel->max_in_flight() == 512);
  const path::Path path = bench.path();
  auto packet = to_mad(vendor_get(path, {}));
  store_be(&packet[8], std::uint64_t{0xfedcba9876543210});
  channel->send(packet, path, 1s);
  bench.loop.run(wait_until([&] { return notes.replies > 0; }, 5s));
  REQUIRE(notes.replies == 1);
  CHECK(notes.bytes.size() == mad::packet_size);
  CHECK(mad::HeaderView(notes.bytes).transaction_id() == 0xfedcba9876543210);
  CHECK(notes.source.sgid == bench.there.default_gid());
}

TEST_CASE("verbs, GMP: the kernel's own agent answers with a status, at this port too") {
  Bench bench({}, mad::open_verbs);
  for (const path::Path& path : {bench.path(), bench.path_to(bench.here.default_gid())}) {
    const Result<pm::PortCounters> counters = bench.loop.run(bench.rpc.try_performance_get<pm::PortCounters>(path));
    REQUIRE_FALSE(counters);
    CHECK(counters.error().status() == 0x000c);
  }
}

TEST_CASE("verbs, GMP: what is not answered is asked again, then given up") {
  Bench bench({}, mad::open_verbs);
  VendorServer server(bench.loop, bench.there);
  server.hold();
  path::Path path = bench.path();
  path.ib().timeout = 300ms;
  path.ib().retries = 2;
  const async::Time began = bench.loop.now();
  const Result<Reply> reply = bench.loop.run(ask(bench.rpc, path, {}));
  REQUIRE_FALSE(reply);
  CHECK(dynamic_cast<const mad::MadTimeout*>(&reply.error()) != nullptr);
  CHECK(bench.loop.now() - began >= 900ms);
  CHECK(bench.loop.now() - began < 4s);
  CHECK(server.requests == 3);
}

TEST_CASE("verbs, GMP: 2000 requests under a window of 600 each get their own answer") {
  Bench bench(mad::RpcLimits::outstanding(600), mad::open_verbs);
  VendorServer server(bench.loop, bench.there);
  path::Path path = bench.path();
  path.ib().timeout = 3s;
  path.ib().retries = 5;
  unsigned right = 0;
  bench.loop.run(ask_many(bench.rpc, path, 2000, right));
  CHECK(right == 2000);
  CHECK(bench.rpc.stats()->invalid == 0);
  CHECK(bench.rpc.stats()->unexpected == 0);
}

TEST_CASE("verbs, GMP: more sends at once than the queue has room for all leave") {
  Bench bench;
  VendorServer server(bench.loop, bench.there);
  Notes notes;
  const auto channel = mad::open_verbs(bench.here);
  channel->attach(notes, bench.loop);
  const path::Path path = bench.path();
  for (std::uint64_t tid = 1; tid <= 400; ++tid) {  // fewer than QP1's receive buffers
    auto packet = to_mad(vendor_get(path, {}));
    store_be(&packet[8], tid);
    channel->send(packet, path, 1s);
  }
  bench.loop.run(wait_until([&] { return notes.replies >= 400; }, 10s));
  CHECK(server.requests == 400);
  CHECK(notes.replies == 400);
  CHECK(notes.failures == 0);
}

TEST_CASE("verbs, GMP: what cannot be sent says why and ends that request only") { ibtest::check_what_can_not_be_sent(mad::open_verbs); }

TEST_CASE("verbs: SMPs are refused in one line, or go by umad where both are used") {
  Bench bench({}, mad::open_verbs);
  path::Path local = path::IbDrPath(&bench.here);
  CHECK(message_of([&] { (void)bench.loop.run(bench.rpc.subn_get<smp::NodeInfo>(local)); }) ==
        "SMPs do not travel over verbs: rxe0/1 sends them by umad only\n");
  Bench both({}, open_by_verbs);
  CHECK_THAT(message_of([&] { (void)both.loop.run(both.rpc.subn_get<smp::NodeInfo>(local)); }),
             ibtest::starts_with("rxe0/1 is a RoCE port"));
  VendorServer server(both.loop, both.there);
  CHECK(both.loop.run(ask(both.rpc, both.path(), {})));  // GMPs still go
}

TEST_CASE("verbs, server: requests to the queue pair's number are served, by umad and by verbs") {
  Bench bench({}, mad::open_verbs);
  Qpn number;
  {
    VendorServer there(bench.loop, bench.there);
    number = queue_pair_of(bench, there);
  }
  mad::Server server(bench.rpc);
  mad::Service service;
  service.mgmt_class = ibtest::vendor_class;
  service.oui = ibtest::vendor_oui;
  server.serve(service);
  server.on(ibtest::vendor_class, mad::method::get, 0x10, [&](const mad::Incoming& incoming) {
    std::vector<std::uint8_t> payload(4);
    std::ranges::copy(incoming.payload().first(4), payload.rbegin());
    server.send_reply(incoming, payload);
  });
  path::Path path = bench.path();
  path.ib().end_port = &bench.there;
  std::swap(path.ib().sgid, path.ib().dgid);
  path.ib().dqpn = number;
  for (const auto& open : {Bench::Open{mad::open_umad}, Bench::Open{mad::open_verbs}}) {
    mad::Rpc client(bench.loop, open(bench.there));
    const Result<Reply> reply = bench.loop.run(ask(client, path, {1, 2, 3, 4}));
    REQUIRE(reply);
    CHECK(std::ranges::equal(reply->payload().first(4), std::array{4, 3, 2, 1}));
    CHECK(reply->source.sqpn == number.value);
  }
  CHECK(server.counts().answered == 2);
}

TEST_CASE("verbs, as a user: one line says what is missing, and umad's error stands where neither can be used") {
  const sys::DeviceList devices = sys::DeviceList::read();
  const sys::EndPort& here = devices.find_end_port("rxe0/1");
  CHECK(message_of([&] { mad::open_verbs(here); }) ==
        "rxe0/1 cannot send GMPs by verbs: the kernel grants the Q_Key of QP1 only to programs with CAP_NET_RAW, such as those of root\n");
  CHECK_THAT(message_of([&] { open_what_works(here); }), ibtest::starts_with("No permission to use /dev/infiniband/umad0"));
}

TEST_CASE("verbs, with CAP_NET_RAW: a user who may not open umad asks all the same") {
  Bench bench({}, open_what_works);
  const Result<pm::PortCounters> counters = bench.loop.run(bench.rpc.try_performance_get<pm::PortCounters>(bench.path()));
  REQUIRE_FALSE(counters);
  CHECK(counters.error().status() == 0x000c);
  CHECK_THAT(message_of([&] { mad::open_umad(bench.here); }), ibtest::starts_with("No permission to use /dev/infiniband/umad0"));
}

TEST_CASE("verbs, with CAP_NET_RAW: a queue pair that is refused ends what it was for, each time, and nothing else") {
  Bench bench({}, mad::open_verbs);
  sys::EndPort port = bench.here;
  port.gsi_port = &port;
  port.pkeys = {default_pkey, Pkey{0x8001}};
  Notes notes;
  const auto channel = mad::open_verbs(port);
  channel->attach(notes, bench.loop);
  rlimit limit{};
  REQUIRE(::getrlimit(RLIMIT_MEMLOCK, &limit) == 0);
  limit.rlim_cur = 900 << 10;  // bytes: the buffers of the two queue pairs that there are, and not of a third
  REQUIRE(::setrlimit(RLIMIT_MEMLOCK, &limit) == 0);
  path::Path path = bench.path();
  path.ib().pkey = port.pkeys[1];
  const auto packet = to_mad(vendor_get(path, {}));
  for (int i = 0; i < 3; ++i) {
    std::string message;
    CHECK(error_of([&] { channel->send(packet, path, 1s); }, &message) == ENOMEM);
    CHECK_THAT(message, ibtest::contains("ulimit -l"));
  }
  CHECK(channel->max_in_flight() == 512);
  path.ib().pkey = default_pkey;
  CHECK(error_of([&] { channel->send(packet, path, 1s); }) == 0);
  CHECK(notes.failures == 0);
}
