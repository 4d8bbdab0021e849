// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// umad on a real kernel: agents and their errors, requests by GID between two ports, what the kernel reports when nothing
// answers, many requests at once, a port that goes away. Runs in the guest; each case is a test of its own there.
#include <sys/resource.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>

#include "iba-gen/pm.hpp"
#include "kernel/bench.hpp"
#include "path/parse.hpp"
#include "sa/resolve.hpp"
#include "support/catch.hpp"

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
using sys::UmadPort;

namespace {

/// Seconds of processor time that this process has used.
double cpu_seconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& t) { return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) / 1e6; };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

}  // namespace

TEST_CASE("umad: one program serves a method of a class, and another may after it") {
  Bench bench;
  auto first = std::make_unique<UmadPort>(bench.here, false);
  UmadPort second(bench.here, false);
  first->register_agent(VendorServer::agent());
  std::string message;
  CHECK(error_of([&] { second.register_agent(VendorServer::agent()); }, &message) == EINVAL);
  CHECK_THAT(message, ibtest::contains("management class 0x32") && ibtest::contains("/dev/infiniband/umad0"));
  sys::AgentRequest client = VendorServer::agent();
  client.methods = {};
  CHECK(error_of([&] { second.register_agent(client); }) == 0);
  first.reset();
  CHECK(error_of([&] { second.register_agent(VendorServer::agent()); }) == 0);
}

TEST_CASE("umad: an open device has room for 32 agents") {
  Bench bench;
  UmadPort port(bench.here, false);
  sys::AgentRequest client = VendorServer::agent();
  client.methods = {};
  int registered = 0, code = 0;
  while (registered < 100 && (code = error_of([&] { port.register_agent(client); })) == 0) ++registered;
  CHECK(registered == 32);
  CHECK(code == ENOMEM);
}

TEST_CASE("umad: SMPs are refused on RoCE, by the kernel and before") {
  Bench bench;
  UmadPort port(bench.here, false);
  sys::AgentRequest smp;
  smp.mgmt_class = mad::mgmt_class::smp;
  std::string message;
  CHECK(error_of([&] { port.register_agent(smp); }, &message) == EPROTONOSUPPORT);
  CHECK_THAT(message, ibtest::contains("management class 0x01"));
  CHECK_THROWS_WITH(UmadPort(bench.here, true), ibtest::starts_with("rxe0/1 is a RoCE port"));
}

TEST_CASE("umad: a request by GID is answered, with GRH both ways") {
  Bench bench;
  VendorServer server(bench.loop, bench.there);
  const Result<Reply> reply = bench.loop.run(ask(bench.rpc, bench.path(), {1, 2, 3, 0xff}));
  REQUIRE(reply);
  CHECK(std::ranges::equal(reply->payload().first(4), std::array{1, 2, 3, 0xff}));
  CHECK(reply->source.has_grh);
  CHECK(reply->source.sgid == bench.there.default_gid());
  CHECK(reply->source.sqpn == 1);
  const path::Path back = reply->source.path(bench.here, ibtest::vendor_class);
  CHECK(back.ib().dgid == bench.here.default_gid());
  CHECK(back.ib().pkey == default_pkey);
  // What the server saw.
  CHECK(server.requests == 1);
  CHECK(server.requester.grh_present == 1);
  CHECK(std::ranges::equal(server.requester.gid, bench.here.default_gid().bytes));
  CHECK(server.requester.hop_limit == 64);
}

TEST_CASE("umad: a path that says no hop limit arrives at the next port") {
  Bench bench;
  VendorServer server(bench.loop, bench.there);
  path::Path path = bench.path();
  path.ib().hop_limit = 0;
  path.ib().sgid.reset();
  path.ib().traffic_class = 0x20;
  REQUIRE(bench.loop.run(ask(bench.rpc, path, {})));
  CHECK(server.requester.traffic_class == 0x20);
}

TEST_CASE("umad: a GID as a user types it is all that a target needs, its own port's too") {
  Bench bench;
  VendorServer server(bench.loop, bench.there);
  path::ParseOptions options;
  options.devices = &bench.devices;
  options.default_end_port = &bench.here;
  path::Path typed = *path::parse_target("fe80::ff:fe00:2", options).path;
  typed.ib().dqpn = typed.ib().sqpn = Qpn{1};
  const path::Path path = bench.loop.run(sa::PathResolver(bench.rpc, 0).resolve(typed));
  CHECK(path::complete(path));
  CHECK(bench.loop.run(ask(bench.rpc, path, {})));
  CHECK(server.requests == 1);
  VendorServer own(bench.loop, bench.here);
  CHECK(bench.loop.run(ask(bench.rpc, bench.path_to(bench.here.default_gid()), {})));
  CHECK(own.requests == 1);
}

TEST_CASE("umad: the kernel's own agent answers with a status") {
  Bench bench;
  const path::Path path = bench.path();
  const Result<pm::PortCounters> counters = bench.loop.run(bench.rpc.try_performance_get<pm::PortCounters>(path));
  REQUIRE_FALSE(counters);
  CHECK(counters.error().status() == 0x000c);  // IBA 13.4.7: method and attribute are not supported
  CHECK(dynamic_cast<const mad::MadStatusError*>(&counters.error()) != nullptr);
}

TEST_CASE("umad: what is not answered is reported by the kernel, try by try") {
  Bench bench;
  VendorServer server(bench.loop, bench.there);
  server.hold();
  path::Path path = bench.path();
  path.ib().timeout = 300ms;
  path.ib().retries = 2;
  const async::Time began = bench.loop.now();
  const Result<Reply> reply = bench.loop.run(ask(bench.rpc, path, {}));
  const async::Duration took = bench.loop.now() - began;
  REQUIRE_FALSE(reply);
  CHECK(dynamic_cast<const mad::MadTimeout*>(&reply.error()) != nullptr);
  CHECK(took >= 900ms);
  CHECK(took < 4s);
  CHECK(server.requests == 3);
  CHECK(bench.rpc.stats()->timeouts == 3);
}

TEST_CASE("umad: a report of no answer is status 110 and the request's header") {
  Bench bench;
  VendorServer server(bench.loop, bench.there);
  server.hold();
  Notes notes;
  const auto channel = mad::open_umad(bench.here);
  channel->attach(notes, bench.loop);
  REQUIRE(channel->reports_timeouts());
  const path::Path path = bench.path();
  auto packet = to_mad(vendor_get(path, {}, 0x1234));
  store_be(&packet[8], std::uint64_t{0xabcd1234});
  channel->send(packet, path, 200ms);
  bench.loop.run(wait_until([&] { return notes.error != 0; }, 5s));
  CHECK(notes.error == ETIMEDOUT);
  CHECK(notes.replies == 0);
  REQUIRE(notes.bytes.size() >= mad::header_size);
  const mad::HeaderView header(notes.bytes);
  CHECK(header.attribute_id() == 0x1234);
  CHECK((header.transaction_id() & channel->tid_mask()) == 0xabcd1234);
}

TEST_CASE("umad: 600 requests are on their way at once") {
  constexpr unsigned count = 600;
  Bench bench;
  VendorServer server(bench.loop, bench.there);
  server.hold();
  Notes notes;
  const auto channel = mad::open_umad(bench.here);
  channel->attach(notes, bench.loop);
  const path::Path path = bench.path();
  // Sent and answered in steps, for QP1's receive buffers are 512; but all 600 wait for their answers at one time.
  constexpr unsigned step = 50;
  for (unsigned i = 0; i < count; ++i) {
    auto packet = to_mad(vendor_get(path, {}));
    store_be(&packet[8], std::uint64_t{i + 1});
    channel->send(packet, path, 40s);
    if ((i + 1) % step == 0) bench.loop.run(wait_until([&] { return server.requests == i + 1; }, 5s));
  }
  CHECK(notes.replies == 0);
  for (unsigned i = step; i <= count; i += step) {
    server.release(step);
    bench.loop.run(wait_until([&] { return notes.replies >= static_cast<int>(i) || notes.error != 0; }, 5s));
  }
  CHECK(server.requests == count);
  CHECK(notes.error == 0);
  CHECK(notes.replies == count);
}

// At this width replies may get lost, for QP1's receive buffers are 512 and a busy guest is slow to give them back.
TEST_CASE("umad: 2000 requests under a window of 600 each get their own answer, lost ones by asking again") {
  Bench bench(mad::RpcLimits::outstanding(600));
  VendorServer server(bench.loop, bench.there);
  path::Path path = bench.path();
  path.ib().timeout = 3s;
  path.ib().retries = 5;
  unsigned right = 0;
  bench.loop.run(ask_many(bench.rpc, path, 2000, right));
  CHECK(right == 2000);
  CHECK(server.requests >= 2000);
  CHECK(bench.rpc.stats()->invalid == 0);
  CHECK(bench.rpc.stats()->unexpected == 0);
}

TEST_CASE("umad: what cannot be sent says why and ends that request only") { ibtest::check_what_can_not_be_sent(mad::open_umad); }

TEST_CASE("umad, as a user: without it the device and the remedy are named") {
  const sys::DeviceList devices = sys::DeviceList::read();
  std::string message;
  CHECK(error_of([&] { mad::open_umad(devices.find_end_port("rxe0/1")); }, &message) == EACCES);
  CHECK_THAT(message, ibtest::contains("No permission to use /dev/infiniband/umad0: run as root, or let udev give the device"));
  CHECK_THAT(message, ibtest::contains("open /dev/infiniband/umad0: Permission denied"));
}

namespace {

/// Takes `device` away, from another process, while the loop waits.
async::Task<> remove_device(std::string device, int& status) {
  async::Loop& loop = co_await async::current_loop;
  co_await loop.sleep_for(300ms);
  status = std::system(("rdma link del " + device).c_str());
}

async::Task<> ask_and_remove(Bench& bench, path::Path path, std::string device, int& status, std::exception_ptr& error) {
  async::TaskGroup group(bench.loop);
  group.spawn(remove_device(std::move(device), status));
  try {
    const Result<Reply> reply = co_await ask(bench.rpc, path, {});
  } catch (...) {
    error = std::current_exception();
  }
  co_await group.join();
}

}  // namespace

TEST_CASE("umad, at the end: a port that disappears ends what waits for it, at once and for good") {
  Bench bench;
  VendorServer server(bench.loop, bench.there);
  server.hold();
  path::Path path = bench.path();
  path.ib().timeout = 20s;
  int status = -1;
  std::exception_ptr error;
  const async::Time began = bench.loop.now();
  bench.loop.run(ask_and_remove(bench, path, "rxe0", status, error));
  CHECK(bench.loop.now() - began < 5s);
  CHECK(status == 0);
  std::string message;
  REQUIRE(error);
  CHECK(error_of([&] { std::rethrow_exception(error); }, &message) == EIO);
  CHECK_THAT(message, ibtest::contains("/dev/infiniband/umad0"));
  // The descriptor stays readable for ever; the loop must not turn because of it.
  const double used = cpu_seconds();
  bench.loop.run(wait_until([] { return false; }, 1s));
  CHECK(cpu_seconds() - used < 0.5);
  CHECK(error_of([&] { (void)bench.loop.run(ask(bench.rpc, path, {})); }) == EIO);
}
