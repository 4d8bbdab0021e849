// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The server side on a channel whose network leads back to it, so that client and server share one channel; and what
// it makes of requests that nobody should send.
#include "mad/server.hpp"

#include <random>

#include "iba-gen/ofa.hpp"
#include "support/catch.hpp"
#include "support/fake_channel.hpp"
#include "support/fake_clock.hpp"

namespace mad_server_tests {

using namespace ib;
using namespace ib::mad;
using namespace std::chrono_literals;
using ibtest::FakeChannel;
using Mad = std::vector<std::uint8_t>;

namespace {

constexpr std::uint8_t sysstat_class = ofa::SysStatPing::mgmt_class;
constexpr std::uint32_t openib_oui = ofa::SysStatPing::vendor_oui;

/// A host that serves pings. What it sends to its own LID arrives; answers to others end up in `sent`.
struct Bench : ibtest::FakeHost {
  Bench() {
    channel = new FakeChannel(port, [this](FakeChannel& c, Bytes mad, const path::Path& path, async::Duration timeout) {
      if (path.ib().dlid == port.lid) {
        c.source.slid = path.ib().slid;
        c.source.sqpn = 1;
        c.deliver({mad.begin(), mad.end()}, 1ms);
      } else {
        sent.push_back({mad.begin(), mad.end()});
        sent_on.push_back(path);
        REQUIRE(timeout == 0ns);
      }
    });
    rpc = std::make_unique<Rpc>(loop, std::unique_ptr<Channel>(channel));
    server = std::make_unique<Server>(*rpc);
    server->serve(service_of<ofa::SysStatPing>());
    server->on<ofa::SysStatPing>(method::get, [](const ofa::SysStatPing& ping, const Incoming&) { return ping; });
  }

  /// The answer to `mad` from LID 9, nothing where none is sent.
  std::optional<Mad> answer(Mad mad, Source source = {}) {
    sent.clear();
    sent_on.clear();
    source.slid = Lid{9};
    if (source.sqpn == 0) source.sqpn = 1;
    channel->source = source;
    channel->deliver(std::move(mad), 1ms);
    loop.run(pause());
    REQUIRE(sent.size() <= 1);
    return sent.empty() ? std::nullopt : std::optional(sent[0]);
  }
  Task<> pause() { co_await loop.sleep_for(10ms); }

  ibtest::FakeClock clock;
  async::Loop loop{clock};
  std::vector<Mad> sent;
  std::vector<path::Path> sent_on;
  FakeChannel* channel;
  std::unique_ptr<Rpc> rpc;
  std::unique_ptr<Server> server;
};

Mad ping(std::uint64_t cookie = 0x1122334455667788U) {
  const path::Path nowhere = path::IbPath();
  std::array<std::uint8_t, 8> payload{};
  store_be(payload.data(), cookie);
  auto mad = to_mad({.path = nowhere,
                     .mgmt_class = sysstat_class,
                     .attribute_id = ofa::SysStatPing::attribute_id,
                     .payload = payload,
                     .oui = openib_oui});
  store_be(&mad[8], std::uint64_t{0xabcdef0012345678U});
  return mad;
}

std::uint16_t status_of(const std::optional<Mad>& mad) {
  REQUIRE(mad);
  return HeaderView(*mad).raw_status();
}

Task<ofa::SysStatPing> ask(Rpc& rpc, path::Path path, std::uint64_t cookie) {
  ofa::SysStatPing request;
  request.cookie = cookie;
  std::array<std::uint8_t, ofa::SysStatPing::wire_size> bytes{};
  request.pack(bytes);
  const std::vector<std::uint8_t> reply = co_await taken(rpc.try_get(path, ofa::SysStatPing::info(), 0, bytes));
  co_return ofa::SysStatPing::unpack(reply);
}

path::Path to_self(const Bench& bench) {
  path::IbPath path;
  path.end_port = &bench.port;
  path.dlid = path.slid = bench.port.lid;
  path.dqpn = path.sqpn = Qpn{1};
  return path;
}

}  // namespace

TEST_CASE("a host sends requests to itself: client and server share a channel") {
  Bench bench;
  REQUIRE(bench.channel->services.size() == 1);
  CHECK(bench.channel->services[0].mgmt_class == 0x33);
  CHECK(bench.channel->services[0].oui == 0x1405);
  CHECK(bench.loop.run(ask(*bench.rpc, to_self(bench), 77)).cookie == 77);
  CHECK(bench.server->counts().answered == 1);
  CHECK(bench.rpc->stats()->unexpected == 0);
}

TEST_CASE("An answer repeats its request's header and goes back the way that it came") {
  Bench bench;
  Source source;
  source.sl = 3;
  source.pkey_index = 1;
  source.sqpn = 0x123;
  source.dlid_bits = 0;
  source.has_grh = true;
  source.sgid = Gid::from(link_local_prefix, Guid{0x99});
  source.dgid = bench.port.gids[0];
  source.hop_limit = 7;
  source.flow_label = 0xabc;
  Mad request = ping();
  store_be(&request[20], std::uint32_t{42});
  const auto answer = bench.answer(request, source);
  REQUIRE(answer);
  Mad expected = request;
  expected[3] = 0x81;
  CHECK(*answer == expected);
  const path::IbPath& path = bench.sent_on[0].ib();
  CHECK(path.dlid == Lid{9});
  CHECK(path.slid == Lid{1});
  CHECK(path.sl == 3);
  CHECK(path.dqpn == Qpn{0x123});
  CHECK(path.qkey == path::qp1_qkey);
  CHECK(path.pkey == Pkey{0x8001});
  CHECK(path.has_grh);
  CHECK(path.dgid == source.sgid);
  CHECK(path.sgid == bench.port.gids[0]);
  CHECK(path.hop_limit == 255);
}

TEST_CASE("Requests that cannot be served are refused as IBA 13.4.7 says") {
  Bench bench;
  const auto changed = [](std::size_t at, std::uint8_t value) {
    Mad mad = ping();
    mad[at] = value;
    return mad;
  };
  CHECK(status_of(bench.answer(changed(0, 2))) == status::bad_version);
  CHECK(status_of(bench.answer(changed(2, 9))) == status::bad_version);
  CHECK(status_of(bench.answer(changed(3, method::set))) == status::unsupported_method);
  CHECK(status_of(bench.answer(changed(17, 0x77))) == status::unsupported_method_attribute);
  const auto refusal = bench.answer(changed(3, method::set));
  CHECK((*refusal)[3] == method::get_resp);  // the answer to Set
  CHECK(bench.server->counts().refused == 5);
}

TEST_CASE("A handler refuses by throwing") {
  Bench bench;
  std::vector<std::string> reports;
  bench.server->set_reporter([&](const Error& error) { reports.push_back(error.message()); });
  bench.server->on<ofa::SysStatPing>(method::get, [](const ofa::SysStatPing&, const Incoming& incoming) -> ofa::SysStatPing {
    throw incoming.error(status::invalid_attribute_or_modifier, "no pings on Sundays");
  });
  CHECK(status_of(bench.answer(ping())) == status::invalid_attribute_or_modifier);
  CHECK(reports == std::vector<std::string>{"no pings on Sundays"});
  bench.server->on<ofa::SysStatPing>(method::get,
                                     [](const ofa::SysStatPing&, const Incoming&) -> ofa::SysStatPing { throw Error("something else"); });
  CHECK(status_of(bench.answer(ping())) == status::unsupported_method_attribute);
}

TEST_CASE("A handler may answer later") {
  Bench bench;
  std::optional<Incoming> kept;
  bench.server->on(sysstat_class, method::get, ofa::SysStatPing::attribute_id, [&](const Incoming& incoming) { kept = incoming; });
  CHECK_FALSE(bench.answer(ping()));
  REQUIRE(kept);
  bench.server->send_reply(*kept, ofa::SysStatPing{.cookie = 5}, {.status = 0, .attribute_modifier = 6});
  REQUIRE(bench.sent.size() == 1);
  CHECK(HeaderView(bench.sent[0]).attribute_modifier() == 6);
  CHECK(bench.sent[0][47] == 5);
}

TEST_CASE("Nothing is said to answers, to methods without one, to strangers and to broken MADs") {
  Bench bench;
  const auto silent = [&](std::size_t at, std::uint8_t value) {
    Mad mad = ping();
    mad[at] = value;
    return !bench.answer(mad);
  };
  CHECK(silent(3, 0x81));                  // an answer
  CHECK(silent(3, 0xff));                  // an answer with a method that is none
  CHECK(silent(3, method::send));          // no answer is expected
  CHECK(silent(3, method::trap));          //
  CHECK(silent(3, method::trap_repress));  //
  CHECK(silent(1, 0x32));                  // another class
  CHECK(silent(39, 0x06));                 // another OUI
  for (const std::size_t size : {0, 1, 23, 24, 39, 257, 5000}) {
    Mad mad = ping();
    mad.resize(size);
    CHECK_FALSE(bench.answer(mad));
  }
  CHECK(bench.answer(ping()));  // it still serves
}

TEST_CASE("A server survives any bytes, and says no more than one answer to each") {
  Bench bench;
  std::mt19937 random(7);
  for (int i = 0; i < 2000; ++i) {
    Mad mad = ping();
    for (int k = 0; k < 8; ++k) mad[random() % 48] = static_cast<std::uint8_t>(random());
    const bool was_answer = HeaderView(mad).is_response();
    const auto answer = bench.answer(mad);
    if (answer) {
      CHECK_FALSE(was_answer);
      CHECK(HeaderView(*answer).is_response());
    }
  }
  CHECK(bench.answer(ping()));
}

TEST_CASE("A send that fails is reported, and the server goes on") {
  Bench bench;
  int reports = 0;
  bench.server->set_reporter([&](const Error&) { ++reports; });
  Source source;
  source.has_grh = true;
  source.pkey_index = 999;              // beyond the table
  CHECK(bench.answer(ping(), source));  // the fake channel minds nothing of that
  auto* old = bench.channel;
  old->refuse_sends = EINVAL;
  CHECK_FALSE(bench.answer(ping()));
  CHECK(reports == 1);
  old->refuse_sends = 0;
  CHECK(bench.answer(ping()));
}

TEST_CASE("A server runs until it is stopped or its device goes") {
  Bench bench;
  struct Later final : async::Timer {
    std::function<void()> what;
    void expired() override { what(); }
  } later;
  later.what = [&] { bench.server->stop(); };
  bench.loop.arm(later, bench.loop.now() + 5s);
  bench.loop.run(bench.server->run());

  Bench other;
  later.what = [&] { other.channel->break_down(EIO); };
  other.loop.arm(later, other.loop.now() + 5s);
  CHECK_THROWS_AS(other.loop.run(other.server->run()), SysError);
}

TEST_CASE("Any exception of a handler refuses one request, and the server goes on") {
  Bench bench;
  std::vector<std::string> reported;
  bench.server->set_reporter([&reported](const Error& error) { reported.push_back(error.message()); });
  const auto throws = [&bench](auto thrown) {
    bench.server->on(sysstat_class, method::get, ofa::SysStatPing::attribute_id, [thrown](const Incoming&) { throw thrown; });
    CHECK(status_of(bench.answer(ping())) == status::unsupported_method_attribute);
  };
  throws(std::invalid_argument("the payload is too long"));
  throws(Error("no luck"));
  throws(7);
  REQUIRE(reported.size() == 3);
  CHECK(reported[0] == "A request cannot be answered: the payload is too long");
  CHECK(reported[1] == "no luck");
  CHECK(reported[2] == "A request cannot be answered, for a reason unknown");
  CHECK(bench.server->counts().refused == 3);
  bench.server->on<ofa::SysStatPing>(method::get, [](const ofa::SysStatPing& incoming, const Incoming&) { return incoming; });
  CHECK(status_of(bench.answer(ping())) == 0);
}

}  // namespace mad_server_tests
