// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// GMPs by one channel, SMPs and served classes by another. A program that serves over the two is what requests come to.
#include "mad/channel/open.hpp"

#include "iba-gen/ofa.hpp"
#include "iba-gen/pm.hpp"
#include "iba-gen/smp.hpp"
#include "mad/server.hpp"
#include "support/catch.hpp"
#include "support/fake_channel.hpp"
#include "support/fake_clock.hpp"

namespace mad_split_tests {

using namespace ib;
using namespace ib::mad;
using namespace std::chrono_literals;
using ibtest::FakeChannel;

namespace {

using Mad = std::vector<std::uint8_t>;

/// A host whose two channels answer nothing and keep what they sent.
struct Bench : ibtest::FakeHost {
  explicit Bench(OpenChannel open) {
    auto gmps = std::make_unique<FakeChannel>(port, keep(by_verbs));
    gmps->mask = ~std::uint64_t{0};
    gmps->reports = false;
    verbs = gmps.get();
    if (!open) open = [this](const sys::EndPort& end_port) { return open_umad(end_port); };
    rpc = std::make_unique<Rpc>(loop, make_split_channel(std::move(gmps), open));
    server = std::make_unique<Server>(*rpc);
  }
  Bench() : Bench(OpenChannel()) {}

  std::unique_ptr<Channel> open_umad(const sys::EndPort& end_port) {
    auto opened = std::make_unique<FakeChannel>(end_port, keep(by_umad));
    opened->source.slid = Lid{9};
    opened->source.sqpn = 1;
    umad = opened.get();
    return opened;
  }
  static FakeChannel::Network keep(std::vector<Mad>& sent) {
    return [&sent](FakeChannel&, Bytes mad, const path::Path&, async::Duration) { sent.emplace_back(mad.begin(), mad.end()); };
  }
  path::Path path() const {
    path::IbPath path;
    path.end_port = &port;
    path.slid = port.lid;
    path.dlid = Lid{9};
    path.timeout = 1s;
    path.retries = 0;
    return path;
  }
  /// Has `request` come to QP1.
  void take(Mad request) {
    umad->deliver(std::move(request), 1ms);
    loop.run(pause());
  }
  async::Task<> pause() { co_await loop.sleep_for(5s); }

  ibtest::FakeClock clock;
  async::Loop loop{clock};
  std::vector<Mad> by_verbs, by_umad;
  FakeChannel *verbs{}, *umad{};
  std::unique_ptr<Rpc> rpc;
  std::unique_ptr<Server> server;
};

Mad ping(const path::Path& path) {
  const std::array<std::uint8_t, 8> cookie{1, 2, 3};
  const auto mad = to_mad({.path = path,
                           .mgmt_class = ofa::SysStatPing::mgmt_class,
                           .attribute_id = ofa::SysStatPing::attribute_id,
                           .payload = cookie,
                           .oui = ofa::SysStatPing::vendor_oui});
  return {mad.begin(), mad.end()};
}

}  // namespace

TEST_CASE("Served requests arrive and are answered through umad, all other traffic goes through verbs") {
  Bench bench;
  CHECK(bench.umad == nullptr);
  bench.server->serve(service_of<ofa::SysStatPing>());
  REQUIRE(bench.umad != nullptr);
  REQUIRE(bench.umad->services.size() == 1);
  CHECK(bench.umad->services[0].mgmt_class == ofa::SysStatPing::mgmt_class);
  CHECK(bench.verbs->services.empty());
  bench.server->on<ofa::SysStatPing>(method::get, [](const ofa::SysStatPing& request, const Incoming&) { return request; });
  bench.take(ping(bench.path()));
  REQUIRE(bench.by_umad.size() == 1);
  CHECK(HeaderView(bench.by_umad[0]).is_response());
  CHECK(bench.server->counts().answered == 1);

  CHECK_FALSE(bench.loop.run(bench.rpc->try_performance_get<pm::PortCounters>(bench.path())));
  CHECK(bench.by_verbs.size() == 1);
  CHECK_FALSE(bench.loop.run(bench.rpc->try_get(bench.path(), ofa::SysStatPing::info())));  // of a served class: one way for both
  CHECK(bench.by_umad.size() == 2);
  CHECK(bench.by_verbs.size() == 1);
}

TEST_CASE("the first SMP opens umad, and the window comes from verbs") {
  Bench bench;
  CHECK_FALSE(bench.loop.run(bench.rpc->try_subn_get<smp::NodeInfo>(path::IbDrPath(&bench.port))));
  REQUIRE(bench.umad != nullptr);
  CHECK_FALSE(bench.by_umad.empty());
  CHECK(bench.by_verbs.empty());
  auto gmps = std::make_unique<FakeChannel>(bench.port, nullptr);
  gmps->most_in_flight = 77;
  const auto channel = make_split_channel(std::move(gmps), nullptr);
  CHECK(channel->max_in_flight() == 77);
  CHECK(channel->tid_mask() == 0xffffffffU);
}

TEST_CASE("where umad cannot be opened, serving is refused in one line, and requests go on") {
  Bench bench([](const sys::EndPort&) -> std::unique_ptr<Channel> {
    SysError error(EACCES, "open", "/dev/infiniband/umad0");
    error.note("No permission to use /dev/infiniband/umad0: run as root");
    throw error;
  });
  try {
    bench.server->serve(service_of<ofa::SysStatPing>());
    FAIL("served");
  } catch (const Error& error) {
    CHECK(error.lines(0) == std::vector<std::string>{"fake0/1 cannot serve: requests come to its QP1, which only umad reaches. No "
                                                     "permission to use /dev/infiniband/umad0: run as root"});
    CHECK(error.exit_status() == Exit::failed);
  }
  CHECK_FALSE(bench.loop.run(bench.rpc->try_get(bench.path(), ofa::SysStatPing::info())));
  CHECK(bench.by_verbs.size() == 1);
}

}  // namespace mad_split_tests
