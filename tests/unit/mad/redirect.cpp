// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Class agents that send their requesters elsewhere (IBA 13.5.2): once, in a row, in a circle, to nowhere.
#include "mad/rpc/rpc.hpp"

#include <functional>
#include <map>

#include "iba-gen/pm.hpp"
#include "iba-gen/sa.hpp"
#include "support/catch.hpp"
#include "support/fake_channel.hpp"
#include "support/fake_clock.hpp"

namespace mad_redirect_tests {

using namespace ib;
using namespace ib::mad;
using namespace std::chrono_literals;
using ibtest::answer_to;
using ibtest::FakeChannel;

namespace {

/// A network in which agents are LIDs. Those in `redirects` answer with that ClassPortInfo, those in `dead` not at all.
struct Bench : ibtest::FakeHost {
  Bench() {
    auto network = [this](FakeChannel& channel, Bytes mad, const path::Path& path, async::Duration) { carry(channel, mad, path); };
    rpc = std::make_unique<Rpc>(loop, std::make_unique<FakeChannel>(port, network));
  }

  void carry(FakeChannel& channel, Bytes mad, const path::Path& path) {
    asked.push_back(path);
    const std::uint16_t lid = path.ib().dlid.value;
    if (dead == lid) return;
    const auto redirect = redirects.find(lid);
    std::vector<std::uint8_t> answer = answer_to(mad, redirect != redirects.end() ? status::redirect : std::uint16_t{0});
    const MutableBytes data = MutableBytes(answer).subspan(data_area(mad[1]).offset);
    if (redirect != redirects.end()) {
      store_be(&answer[16], attribute_id);
      redirect->second.pack(data);
    } else if (mad[1] == mgmt_class::sa) {
      sa::PathRecord record;
      record.dgid = sa::PathRecord::unpack(mad.subspan(data_area(mad[1]).offset)).dgid;
      record.dlid = Lid{77};
      record.sl = 6;
      if (lie) lie(record);
      record.pack(data);
    } else {
      data[1] = static_cast<std::uint8_t>(lid);  // PortSelect, as a mark
    }
    channel.deliver(std::move(answer), 1ms);
  }

  static ClassPortInfo to(std::uint16_t lid, std::uint32_t qp = 1) {
    ClassPortInfo info;
    info.redirect_lid = Lid{lid};
    info.redirect_qp = qp;
    info.redirect_p_key = 0x8001;
    info.redirect_q_key = 0x1234;
    info.redirect_sl = 4;
    return info;
  }

  path::Path path(std::uint16_t lid) const { return to_lid(lid, 1, 1s, 1); }
  /// Asks LID `lid`: the mark of the agent that answered.
  Task<Result<pm::PortCounters>> ask(path::Path path) { co_return co_await rpc->try_performance_get<pm::PortCounters>(path); }
  unsigned answered_by(std::uint16_t lid) {
    asked.clear();
    auto result = loop.run(ask(path(lid)));
    return std::move(result).take().port_select;
  }
  std::string failure_of(std::uint16_t lid) {
    asked.clear();
    const auto result = loop.run(ask(path(lid)));
    REQUIRE_FALSE(result);
    return result.error().message();
  }

  ibtest::FakeClock clock;
  async::Loop loop{clock};
  std::unique_ptr<Rpc> rpc;
  std::map<std::uint16_t, ClassPortInfo> redirects;
  std::vector<path::Path> asked;
  std::function<void(sa::PathRecord&)> lie;  // of the SA
  std::uint16_t dead = 0;
  std::uint16_t attribute_id = mad::attribute_id::class_port_info;
};

}  // namespace

TEST_CASE("a request follows a redirect, with all that it says, and later ones go there at once") {
  Bench bench;
  bench.redirects[5] = Bench::to(9, 0x123);
  CHECK(bench.answered_by(5) == 9);
  REQUIRE(bench.asked.size() == 2);
  const path::IbPath& path = bench.asked[1].ib();
  CHECK(path.dlid == Lid{9});
  CHECK(path.dqpn == Qpn{0x123});
  CHECK(path.qkey == 0x1234U);
  CHECK(path.pkey == Pkey{0x8001});
  CHECK(path.sl == 4);
  CHECK_FALSE(path.has_grh);
  CHECK(bench.answered_by(5) == 9);
  CHECK(bench.asked.size() == 1);
  CHECK(bench.answered_by(6) == 6);  // another node's agent
}

TEST_CASE("the answer may keep the attribute of its request") {
  Bench bench;
  bench.attribute_id = pm::PortCounters::attribute_id;
  bench.redirects[5] = Bench::to(9);
  CHECK(bench.answered_by(5) == 9);
}

TEST_CASE("several redirects in a row, but not without end") {
  Bench bench;
  for (std::uint16_t lid = 10; lid < 13; ++lid) bench.redirects[lid] = Bench::to(static_cast<std::uint16_t>(lid + 1));
  CHECK(bench.answered_by(10) == 13);
  bench.redirects[13] = Bench::to(14);
  CHECK(bench.answered_by(10) == 14);
  Bench other;
  for (std::uint16_t lid = 10; lid < 99; ++lid) other.redirects[lid] = Bench::to(static_cast<std::uint16_t>(lid + 1));
  CHECK_THAT(other.failure_of(10), ibtest::contains("too many"));
  CHECK(other.asked.size() == 1 + most_redirects);
}

TEST_CASE("redirects in a circle end") {
  Bench bench;
  bench.redirects[5] = Bench::to(5);
  CHECK_THAT(bench.failure_of(5), ibtest::contains("it leads back"));
  bench.redirects[5] = Bench::to(6);
  bench.redirects[6] = Bench::to(5);
  CHECK_THAT(bench.failure_of(5), ibtest::contains("it leads back"));
  CHECK(bench.asked.size() == 2);
}

TEST_CASE("nonsense is an error") {
  Bench bench;
  const auto failure = [&](auto change) {
    ClassPortInfo info = Bench::to(9);
    change(info);
    bench.redirects[5] = info;
    return bench.failure_of(5);
  };
  CHECK_THAT(failure([](ClassPortInfo& i) { i.redirect_lid = Lid{}; }), ibtest::contains("neither a LID nor a GID"));
  CHECK_THAT(failure([](ClassPortInfo& i) { i.redirect_lid = Lid{0xc000}; }), ibtest::contains("LID 49152 is not a unicast LID"));
  CHECK_THAT(failure([](ClassPortInfo& i) { i.redirect_qp = 0; }), ibtest::contains("QP 0"));
  CHECK_THAT(failure([](ClassPortInfo& i) { i.redirect_p_key = 0x8000; }), ibtest::contains("P_Key 0x8000"));
  CHECK_THAT(failure([](ClassPortInfo& i) { i.redirect_p_key = 0x7777; }), ibtest::contains("not available"));
}

TEST_CASE("a GID without a LID is resolved by the SA; one beyond a router needs a GRH") {
  Bench bench;
  ClassPortInfo info = Bench::to(0);
  info.redirect_gid = Gid::from(GidPrefix{0xfec0000000000001U}, Guid{0x99});
  info.redirect_tc = 3;
  info.redirect_fl = 0x54321;
  bench.redirects[5] = info;
  CHECK(bench.answered_by(5) == 77);
  REQUIRE(bench.asked.size() == 3);
  const path::IbPath& path = bench.asked[2].ib();
  CHECK(path.sl == 6);
  CHECK(path.has_grh);
  CHECK(path.dgid == info.redirect_gid);
  CHECK(path.sgid == bench.port.gids[0]);
  CHECK(path.traffic_class == 3);
  CHECK(path.flow_label == 0x54321);
}

TEST_CASE("a path to another port than the redirect names is not taken") {
  Bench bench;
  ClassPortInfo info = Bench::to(0);
  info.redirect_gid = Gid::from(GidPrefix{0xfec0000000000001U}, Guid{0x99});
  bench.redirects[5] = info;
  SECTION("another GUID") {
    bench.lie = [](sa::PathRecord& record) { record.dgid = Gid::from(record.dgid.prefix(), Guid{0x98}); };
    CHECK_THAT(bench.failure_of(5), ibtest::contains("the SA answered with a path to fec0:0:0:1::98 "));
  }
  SECTION("no LID of a port") {
    bench.lie = [](sa::PathRecord& record) { record.dlid = Lid{0xc001}; };
    CHECK_THAT(bench.failure_of(5), ibtest::contains("the SA answered with a path to fec0:0:0:1::99 at LID 49153"));
  }
  REQUIRE(bench.asked.size() == 2);  // nothing was sent there
}

TEST_CASE("an agent that has left its place is looked for again") {
  Bench bench;
  bench.redirects[5] = Bench::to(9);
  CHECK(bench.answered_by(5) == 9);
  bench.dead = 9;
  bench.redirects[5] = Bench::to(8);
  CHECK(bench.answered_by(5) == 8);
  CHECK(bench.answered_by(5) == 8);
  CHECK(bench.asked.size() == 1);
}

TEST_CASE("the request to a busy agent is repeated, whatever else its status says") {
  Bench bench;
  unsigned answers = 0;
  bench.rpc = std::make_unique<Rpc>(
      bench.loop, std::make_unique<FakeChannel>(bench.port, [&](FakeChannel& channel, Bytes mad, const path::Path&, async::Duration) {
        channel.deliver(answer_to(mad, ++answers == 1 ? status::busy | status::redirect : 0), 1ms);
      }));
  CHECK(bench.answered_by(5) == 0);
  CHECK(answers == 2);
  CHECK(bench.rpc->stats()->retries_busy == 1);
}

TEST_CASE("a change is not redirected: the error says where it would have gone, whatever a Get learnt before") {
  Bench bench;
  const path::Path path = bench.path(5);
  const auto failure_of_change = [&](std::uint8_t mgmt_class, std::uint8_t method, std::uint16_t attribute) {
    bench.asked.clear();
    const Request request{.path = path,
                          .mgmt_class = mgmt_class,
                          .class_version = class_version_of(mgmt_class),
                          .method = method,
                          .attribute_id = attribute,
                          .payload = {}};
    const auto result = bench.loop.run(bench.rpc->try_call(request));
    REQUIRE_FALSE(result);
    REQUIRE(bench.asked.size() == 1);
    CHECK(bench.asked[0].ib().dlid == Lid{5});
    return result.error().message();
  };
  const auto told = ibtest::contains("The agent redirects to LID 9 QP 291: a change goes to no other node, and nothing was changed");
  SECTION("a Set") {
    for (const bool learnt : {false, true}) {
      INFO(learnt);
      bench.redirects[5] = Bench::to(9, 0x123);
      if (learnt) CHECK(bench.answered_by(5) == 9);
      CHECK_THAT(failure_of_change(mgmt_class::performance, method::set, pm::PortCounters::attribute_id), told);
    }
  }
  SECTION("a SubnAdmDelete") {
    constexpr std::uint8_t sa_class = 3, sa_delete = 0x15;  // IBA 15.2.2
    for (const bool learnt : {false, true}) {
      INFO(learnt);
      bench.redirects[5] = Bench::to(9, 0x123);
      if (learnt) {
        const auto read = attribute_request(path, sa::PathRecord::info(), method::get);
        CHECK(bench.loop.run(bench.rpc->try_call(read)));
      }
      CHECK_THAT(failure_of_change(sa_class, sa_delete, sa::ServiceRecord::attribute_id), told);
    }
  }
}

}  // namespace mad_redirect_tests
