// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Resolving paths with a scripted SA: what is asked, what is taken over, and how it fails.
#include "sa/resolve.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "async/group.hpp"
#include "iba-gen/sa.hpp"
#include "mad/rpc/rpc.hpp"
#include "support/catch.hpp"
#include "support/fake_clock.hpp"
#include "support/fake_fabric.hpp"
#include "support/fake_sa.hpp"

namespace sa_resolve_tests {

using namespace ib;
using ibtest::FakeFabric;

namespace {

constexpr std::size_t record_offset = 56;

struct Bench {
  Bench() {
    fabric.network.gmp = [this](Bytes request, const path::Path& path) -> std::optional<FakeFabric::Answer> {
      asked.assign(request.begin(), request.end());
      asked_path = path;
      if (silent) return std::nullopt;
      FakeFabric::Answer answer = ibtest::answer_to(request, status);
      record.pack(MutableBytes(answer).subspan(record_offset, sa::PathRecord::wire_size));
      return answer;
    };
    record.dgid = Gid::from(link_local_prefix, Guid{0x2c9030000014e1});
    record.sgid = fabric.end_port().gids[0];
    record.dlid = Lid{18};
    record.slid = Lid{1};
    record.p_key = 0xffff;
    record.sl = 3;
    record.mtu = smp::Mtu::mtu_2048;
    record.rate = sa::Rate::gbps_10;
    record.packet_life_time = 17;
  }
  path::Path resolve(const path::Path& path) { return loop.run(sa::PathResolver(rpc, 0).resolve(path)); }
  sa::Format query() const { return sa::Format::unpack(asked); }

  FakeFabric fabric = FakeFabric::fat_tree(2, 1, 2);
  ibtest::FakeClock clock;
  async::Loop loop{clock};
  mad::Rpc rpc{loop, fabric.open()};
  std::vector<std::uint8_t> asked;
  std::optional<path::Path> asked_path;
  sa::PathRecord record;
  std::uint16_t status = 0;
  bool silent = false;
};

path::IbPath to_gid(const Bench& bench, std::uint64_t guid) {
  path::IbPath path;
  path.end_port = &bench.fabric.end_port();
  path.dgid = Gid::from(link_local_prefix, Guid{guid});
  path.dqpn = path.sqpn = Qpn{0};
  path.qkey = 0;
  return path;
}

}  // namespace

TEST_CASE("a GID becomes a full path by one query for a reversible path") {
  Bench bench;
  path::IbPath wanted = to_gid(bench, 0x2c9030000014e1);
  wanted.m_key = 77;
  wanted.retries = 1;
  const path::Path path = bench.resolve(wanted);
  REQUIRE(bench.fabric.channel().sent == 1);
  const sa::Format query = bench.query();
  REQUIRE(query.method == mad::method::get);
  REQUIRE(query.attribute_id == 0x35);
  REQUIRE(query.component_mask == (1U << 2 | 1U << 3 | 1U << 11));  // DGID, SGID, Reversible (IBA table 178)
  const sa::PathRecord record = sa::PathRecord::unpack(Bytes(bench.asked).subspan(record_offset));
  REQUIRE(record.reversible == 1);
  REQUIRE(record.dgid == *wanted.dgid);
  REQUIRE(record.sgid == bench.fabric.end_port().gids[0]);
  REQUIRE(bench.asked_path->ib().dqpn == Qpn{1});
  REQUIRE(bench.asked_path->ib().qkey == path::qp1_qkey);

  const path::IbPath& got = path.ib();
  REQUIRE(got.dlid == Lid{18});
  REQUIRE(got.slid == Lid{1});
  REQUIRE(got.sl == 3);
  REQUIRE(got.mtu == 4);
  REQUIRE(got.rate == 3);
  REQUIRE(got.packet_life_time == std::uint8_t{17});
  REQUIRE_FALSE(got.has_grh);
  REQUIRE(got.dqpn == Qpn{0});
  REQUIRE(got.m_key == 77);
  REQUIRE(got.retries == 1);
}

TEST_CASE("a path to a LID is queried by the LID, and a hop limit means a GRH") {
  Bench bench;
  path::IbPath wanted = to_gid(bench, 0);
  wanted.dgid.reset();
  wanted.dlid = Lid{18};
  bench.record.hop_limit = 64;
  bench.record.flow_label = 0x12345;
  const path::Path path = bench.resolve(wanted);
  REQUIRE(bench.query().component_mask == (1U << 4 | 1U << 3 | 1U << 11));
  REQUIRE(path.ib().has_grh);
  REQUIRE(path.ib().hop_limit == 64);
  REQUIRE(path.ib().flow_label == 0x12345);
}

TEST_CASE("an address that the SA does not know is PathNotFound, and the note says which") {
  Bench bench;
  bench.status = 0x0300;
  try {
    bench.resolve(to_gid(bench, 0x18));
    FAIL("resolved");
  } catch (const sa::PathNotFound& error) {
    const std::vector<std::string> lines = error.lines(0);
    REQUIRE(lines.size() == 2);
    REQUIRE(lines[0] == "The SA gives no path to GID fe80::18");
    REQUIRE(lines[1] == "The SA has no PathRecord that matches");
  }
}

TEST_CASE("other errors keep their kind and get the same note") {
  Bench bench;
  bench.status = 0x0400;
  REQUIRE_THROWS_AS(bench.resolve(to_gid(bench, 0x18)), mad::SaError);
  bench.silent = true;
  try {
    bench.resolve(to_gid(bench, 0x18));
    FAIL("resolved");
  } catch (const mad::MadTimeout& error) {
    REQUIRE_THAT(error.what(), ibtest::starts_with("The SA gives no path to GID fe80::18"));
    REQUIRE_THAT(error.message(), ibtest::contains("No subnet administrator answers at LID "));
  }
}

TEST_CASE("an impossible path in the SA's answer is refused") {
  Bench bench;
  bench.record.dlid = Lid{0xc001};
  REQUIRE_THROWS_AS(bench.resolve(to_gid(bench, 0x18)), Error);
}

TEST_CASE("a port without a subnet manager says so") {
  Bench bench;
  bench.rpc.sa_path().ib().dlid = Lid{};
  REQUIRE_THROWS_WITH(bench.resolve(to_gid(bench, 0x18)), "No subnet administrator is known: the SM LID of fake0/1 is 0");
  REQUIRE(bench.fabric.channel().sent == 0);
}

TEST_CASE("on RoCE a GID is all that is needed, and a LID is not an address") {
  Bench bench;
  sys::Device device;
  device.name = "roce0";
  sys::EndPort port;
  port.device = &device;
  port.number = 1;
  port.link_layer = sys::LinkLayer::ethernet;
  const Gid other{{0x20, 0x01, 0x0d, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 5}};
  port.gids = {Gid::from(link_local_prefix, Guid{1}), other};
  path::IbPath wanted = to_gid(bench, 0x2c9030000014e1);
  wanted.end_port = &port;
  const path::Path path = bench.resolve(wanted);
  REQUIRE(bench.fabric.channel().sent == 0);
  REQUIRE(complete(path));
  REQUIRE(path.ib().has_grh);
  REQUIRE(path.ib().sgid == port.gids[0]);
  REQUIRE(path.ib().dgid == wanted.dgid);
  REQUIRE(path.ib().hop_limit == 64);

  wanted.dgid = Gid::from(other.prefix(), Guid{9});
  REQUIRE(bench.resolve(wanted).ib().sgid == other);
  wanted.dgid.reset();
  wanted.dlid = Lid{18};
  REQUIRE_THROWS_WITH(bench.resolve(wanted), ibtest::starts_with("roce0/1 is a RoCE port (Ethernet), which has neither LIDs"));
}

TEST_CASE("a path to another destination, or in another partition, than requested is an error; another prefix of the port is not") {
  Bench bench;
  path::IbPath wanted = to_gid(bench, 0x2c9030000014e1);
  const path::Path path = bench.resolve(wanted);
  CHECK(path.ib().expected_node_guid == Guid{0x2c9030000014e1});
  bench.record.dgid = Gid::from(GidPrefix{0xfec0000000000000}, Guid{0x2c9030000014e1});
  CHECK(bench.resolve(wanted).ib().dlid == Lid{18});
  bench.record.dgid = Gid::from(link_local_prefix, Guid{0x2c9030000014e2});
  const auto complaint = [&](const path::IbPath& to, const sa::PathWanted& properties = {}) {
    try {
      bench.loop.run(sa::PathResolver(bench.rpc, 0).resolve(to, properties));
    } catch (const Error& error) {
      std::string text;
      for (const std::string& line : error.lines(0)) text += line + '\n';
      return text;
    }
    return std::string("none");
  };
  CHECK_THAT(complaint(wanted), ibtest::contains("The SA answered with a path to fe80::2c:9030:0:14e2, not to"));
  path::IbPath by_lid = wanted;
  by_lid.dgid.reset();
  by_lid.dlid = Lid{18};
  CHECK(bench.resolve(by_lid).ib().expected_node_guid == Guid{});
  by_lid.dlid = Lid{19};
  CHECK_THAT(complaint(by_lid), ibtest::contains("The SA answered with a path to LID 18, not to LID 19"));
  by_lid.dlid = Lid{18};
  sa::PathWanted partition;
  partition.properties.p_key(0x7fff);
  CHECK(bench.loop.run(sa::PathResolver(bench.rpc, 0).resolve(by_lid, partition)).ib().pkey == Pkey{0xffff});
  bench.record.p_key = 0x8001;
  CHECK_THAT(complaint(by_lid, partition), ibtest::contains("The SA answered with a path with P_Key 0x8001, not 0x7fff"));
}

TEST_CASE("properties of the path are components of the query, and one need not be reversible") {
  Bench bench;
  sa::PathWanted wanted;
  wanted.reversible = false;
  wanted.properties.p_key(0x8001).sl(5);
  bench.record.p_key = 0x8001;
  bench.loop.run(sa::PathResolver(bench.rpc, 0).resolve(to_gid(bench, 0x2c9030000014e1), wanted));
  REQUIRE(bench.query().component_mask == (1U << 2 | 1U << 3 | 1U << 13 | 1U << 15));  // DGID, SGID, P_Key, SL
  const sa::PathRecord record = sa::PathRecord::unpack(Bytes(bench.asked).subspan(record_offset));
  REQUIRE(record.reversible == 0);
  REQUIRE(record.p_key == 0x8001);
  REQUIRE(record.sl == 5);
}

TEST_CASE("a path for GMPs goes from QP1 to QP1 with the SL of the SA; a complete path needs no query") {
  Bench bench;
  path::IbPath wanted = to_gid(bench, 0x2c9030000014e1);
  wanted.dqpn.reset(), wanted.sqpn.reset(), wanted.qkey.reset();
  const path::Path path = bench.loop.run(sa::PathResolver(bench.rpc, 0).mad_path(wanted));
  REQUIRE(path.ib().sl == 3);
  REQUIRE(path.ib().dqpn == Qpn{1});
  REQUIRE(path.ib().sqpn == Qpn{1});
  REQUIRE(path.ib().qkey == path::qp1_qkey);
  REQUIRE(bench.loop.run(sa::PathResolver(bench.rpc, 0).mad_path(path)) == path);
  REQUIRE(bench.fabric.channel().sent == 1);
}

namespace {

using ibtest::FakeSa;

/// A fabric with an SA of its own: two leaves, one spine, four hosts; this is host 3, the CA of GUID 0x100000.
struct WithSa {
  std::size_t asked_for_paths() const {
    return std::count_if(sa.asked.begin(), sa.asked.end(),
                         [](const FakeSa::Query& query) { return query.attribute == sa::PathRecord::attribute_id; });
  }
  path::Path to_lid(std::uint16_t lid) const {
    path::IbPath path;
    path.end_port = &fabric.end_port();
    path.dlid = Lid{lid};
    return path;
  }

  FakeFabric fabric = FakeFabric::fat_tree(2, 1, 2);
  FakeSa sa{fabric};
  ibtest::FakeClock clock;
  async::Loop loop{clock};
  mad::Rpc rpc{loop, fabric.open()};
  sa::PathResolver resolver{rpc};
};

async::Task<> ask(sa::PathResolver& resolver, path::Path target, std::vector<std::string>& results) {
  try {
    const path::Path path = co_await resolver.mad_path(target);
    results.push_back(to_text(path));
  } catch (const sa::PathNotFound&) {
    results.emplace_back("not found");
  }
}

async::Task<> request_all(sa::PathResolver& resolver, std::vector<path::Path> targets, std::vector<std::string>& results) {
  async::Loop& loop = co_await async::current_loop;
  async::TaskGroup group(loop);
  for (const path::Path& target : targets) group.spawn(ask(resolver, target, results));
  co_await group.join();
}

}  // namespace

namespace {

async::Task<path::Path> find_lid_7(path::Path target, std::string /*why*/) {
  target.ib().dlid = Lid{7};
  co_return target;
}

}  // namespace

TEST_CASE("where the SA is silent, GMPs to a LID use SL 0, and the SA is queried once") {
  Bench bench;
  bench.silent = true;
  sa::PathResolver resolver(bench.rpc);
  path::IbPath to;
  to.end_port = &bench.fabric.end_port();
  to.dlid = Lid{18};
  const path::Path path = bench.loop.run(resolver.gmp_path(to, {}, false, nullptr));
  CHECK(to_text(path) == fmt::format("Path {} -> 18 SL=0 PKey=0xffff DQPN=1", bench.fabric.end_port().lid.value));
  CHECK_FALSE(resolver.why_no_sa().value_or("").empty());
  CHECK_FALSE(bench.asked.empty());
  bench.asked.clear();
  CHECK(bench.loop.run(resolver.gmp_path(to, {}, false, nullptr)) == path);
  CHECK(bench.asked.empty());
}

TEST_CASE("a GID to which the SA knows no path is searched for SMPs only") {
  Bench bench;
  bench.status = 0x0300;  // no records
  sa::PathResolver resolver(bench.rpc);
  const path::Path to = to_gid(bench, 0x2c9030000014e1);
  CHECK(bench.loop.run(resolver.path_to_gid(to, "", find_lid_7)).ib().dlid == Lid{7});
  CHECK_THROWS_AS(bench.loop.run(resolver.path_to_gid(to, "", nullptr)), sa::PathNotFound);
  CHECK_THROWS_WITH(bench.loop.run(resolver.gmp_path(to, {}, false, find_lid_7)), ibtest::contains("the SA gives no path to it from here"));
  CHECK_FALSE(resolver.why_no_sa());
  CHECK_THROWS_AS(bench.loop.run(resolver.gmp_path(to, {}, true, nullptr)), UsageError);
}

TEST_CASE("a directed route becomes a LID path through link records only") {
  WithSa with;
  path::IbDrPath route(&with.fabric.end_port());
  route = *route.advance(1)->advance(2);
  const path::Path path = with.loop.run(with.resolver.mad_path(route));
  REQUIRE(to_text(path) == "Path 3 -> 4 SL=2 PKey=0xffff DQPN=1");
  for (std::size_t node = 0; node <= with.fabric.size(); ++node) REQUIRE(with.fabric.requests_to(node) == 0);
}

TEST_CASE("where the SA does not know a link, the LID comes from the node at the end") {
  WithSa with;
  with.sa.lie = [](std::uint16_t attribute, std::vector<FakeSa::Record>& records) {
    if (attribute == sa::LinkRecord::attribute_id) records.clear();
  };
  path::IbDrPath route(&with.fabric.end_port());
  route = *route.advance(1)->advance(2);
  REQUIRE(with.loop.run(with.resolver.mad_path(route)).ib().dlid == Lid{4});
  route = *route.advance(1);  // routes do not go through end nodes
  REQUIRE_THROWS_AS(with.loop.run(with.resolver.mad_path(route)), mad::SaError);
}

TEST_CASE("many tasks that want a path to one destination cause one query, and later tasks none") {
  WithSa with;
  std::vector<std::string> results;
  with.loop.run(request_all(with.resolver, std::vector(50, with.to_lid(6)), results));
  REQUIRE(results == std::vector<std::string>(50, "Path 3 -> 6 SL=2 PKey=0xffff DQPN=1"));
  REQUIRE(with.asked_for_paths() == 1);
  with.loop.run(request_all(with.resolver, {with.to_lid(6), with.to_lid(7)}, results));
  REQUIRE(with.asked_for_paths() == 2);
  with.resolver.clear();
  with.loop.run(request_all(with.resolver, {with.to_lid(6)}, results));
  REQUIRE(with.asked_for_paths() == 3);
}

TEST_CASE("waiting tasks share an error, and a later task queries again") {
  WithSa with;
  std::vector<std::string> results;
  with.loop.run(request_all(with.resolver, std::vector(20, with.to_lid(99)), results));
  REQUIRE(results == std::vector<std::string>(20, "not found"));
  REQUIRE(with.asked_for_paths() == 1);
  with.loop.run(request_all(with.resolver, {with.to_lid(99)}, results));
  REQUIRE(with.asked_for_paths() == 2);
}

TEST_CASE("memory is bounded") {
  WithSa with;
  sa::PathResolver small(with.rpc, 2);
  std::vector<std::string> results;
  const auto asked_with = [&](std::uint16_t lid) {
    const std::size_t before = with.asked_for_paths();
    with.loop.run(request_all(small, {with.to_lid(lid)}, results));
    return with.asked_for_paths() - before;
  };
  REQUIRE(asked_with(1) + asked_with(2) == 2);
  REQUIRE(asked_with(2) + asked_with(1) == 0);
  REQUIRE(asked_with(4) == 1);
  REQUIRE(asked_with(1) + asked_with(4) == 1);
}

namespace {

async::Task<> cancel_the_first(WithSa& with, std::vector<std::string>& results) {
  async::Loop& loop = co_await async::current_loop;
  auto first = std::make_unique<async::TaskGroup>(loop);
  async::TaskGroup others(loop);
  first->spawn(ask(with.resolver, with.to_lid(6), results));
  others.spawn(ask(with.resolver, with.to_lid(6), results));
  others.spawn(ask(with.resolver, with.to_lid(6), results));
  co_await loop.sleep_for(std::chrono::microseconds(1));  // all have asked, nobody has an answer
  first.reset();
  co_await others.join();
}

}  // namespace

TEST_CASE("when the querying task is cancelled, another one queries in its place") {
  WithSa with;
  std::vector<std::string> results;
  with.loop.run(cancel_the_first(with, results));
  REQUIRE(results == std::vector<std::string>(2, "Path 3 -> 6 SL=2 PKey=0xffff DQPN=1"));
  REQUIRE(with.asked_for_paths() == 2);
}

}  // namespace sa_resolve_tests
