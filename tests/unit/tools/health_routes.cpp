// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// health finds what check_routes finds: groups and credit loops too, live and in snapshots.
#include <fmt/format.h>

#include <algorithm>

#include "unit/tools/health_fabric.hpp"

namespace tools_health_routes_tests {

using namespace ib;
using ibtest::FakeFabric;
using ibtest::ibtool;
using ibtest::Outcome;
using ibtest::health::check;
using ibtest::health::Fabric;
using ibtest::health::Words;
using nlohmann::json;

namespace {

constexpr std::uint16_t group = 0xc002;

/// A fabric with a group of both hosts.
struct Grouped : Fabric {
  Grouped() {
    fabric.node(leaf).switch_info.multicast_fdb_cap = 64;
    fabric.node(leaf).mft[group] = {1, 2};
  }
  json judge(Words words = {}, int status = 0) {
    words.insert(words.end(), {"--interval", "0", "--only", "routes"});
    return found(words, status);
  }
  std::string snapshot(const std::string& parts) {
    std::string name = directory.file(parts);
    REQUIRE(ibtool(fabric, {"snapshot", name, "--only", parts}).status == 0);
    return name;
  }
};

/// Three switches in a ring, one host at port 1 of each; port 2 leads to the next switch, where all packets go. There is no SA.
struct Ring {
  FakeFabric fabric;
  ibtest::TemporaryDirectory directory;
  Ring() {
    for (unsigned at = 0; at < 3; ++at) fabric.add_switch(0x100 + at * 0x10U, 3, fmt::format("ring{}", at));
    for (unsigned at = 0; at < 3; ++at) {
      fabric.link(at, 1, fabric.add_ca(0x1000 + at * 0x10U, 1, fmt::format("host{}", at)), 1);
      fabric.link(at, 2, (at + 1) % 3, 3);
    }
    fabric.assign_lids();
    fabric.attach(3);
    for (unsigned at = 0; at < 3; ++at) {
      for (unsigned to = 0; to < 3; ++to) fabric.node(at).lft[fabric.node(3 + to).ports[1].info.lid.value] = to == at ? 1 : 2;
    }
  }
  /// All SLs go by one VL.
  void join_lanes() {
    for (unsigned at = 0; at < 3; ++at) {
      for (const unsigned in : {1U, 2U, 3U}) {
        for (const unsigned out : {1U, 2U, 3U}) fabric.node(at).sl_to_vl[{in, out}] = {};
      }
    }
  }
  json judge(Words words, int status) {
    words.insert(words.begin(), {"health", "--interval", "0", "--only", "routes", "--json"});
    const Outcome outcome = ibtool(fabric, words);
    INFO(outcome.out << outcome.err);
    CHECK(outcome.status == status);
    return json::parse(outcome.out);
  }
};

}  // namespace

TEST_CASE("health: what a group loses is found with --routes, or from a snapshot that has multicast tables") {
  Grouped f;
  CHECK(f.judge({"--routes"})["verdict"] == "healthy");
  f.fabric.node(f.leaf).mft[group] = {1, 2, 4};  // a port without a link
  const json live = f.judge({"--routes"}, 1);
  REQUIRE(live["findings"].size() == 1);
  CHECK(live["findings"][0]["level"] == "error");
  CHECK(live["findings"][0]["ends"][0]["port_num"] == 4);
  CHECK(f.judge({"--from", f.snapshot("lft,mft")}, 1)["findings"] == live["findings"]);

  const std::string unicast = f.snapshot("lft");
  const json healthy = f.judge({"--from", unicast});
  CHECK(check(healthy, "routes")["check_state"] == "done");
  const json open = f.judge({"--from", unicast, "--routes"}, 4);
  CHECK(open["verdict"] == "unknown");
  CHECK(check(open, "routes")["check_state"] == "not_read");
  CHECK(check(open, "routes")["reason"] == "the snapshot has no multicast tables");
}

TEST_CASE("health: members of groups come from the subnet administrator, with one request") {
  Grouped f;
  const auto name_members = [&f](std::vector<Guid> guids) {
    f.sa.lie = [guids = std::move(guids)](std::uint16_t attribute, std::vector<ibtest::FakeSa::Record>& records) {
      if (attribute != sa::MCMemberRecord::attribute_id) return;
      for (const Guid guid : guids) {
        sa::MCMemberRecord record;
        record.port_gid = Gid::from(GidPrefix{0xfe80000000000000}, guid);
        record.mlid = Lid{group};
        record.join_state = 1;
        ibtest::FakeSa::Record bytes(sa::MCMemberRecord::info().bytes);
        record.pack(bytes);
        records.push_back(bytes);
      }
    };
  };
  f.fabric.node(f.leaf).mft[group] = {1};
  const std::vector<Guid> both{f.fabric.port_guid(f.here, 1), f.fabric.port_guid(f.other, 1)};
  name_members(both);
  const json found = f.found({"--interval", "0", "--only", "routes,multicast-rate", "--routes"}, 1);
  REQUIRE(found["findings"].size() == 1);
  CHECK(found["findings"][0]["check"] == "routes");
  CHECK(found["findings"][0]["ends"][0]["node_description"] == "other");
  CHECK(std::ranges::count(f.sa.asked, sa::MCMemberRecord::attribute_id, &ibtest::FakeSa::Query::attribute) == 1);
  CHECK(f.judge({"--from", f.snapshot("lft,mft,sa")}, 1)["findings"] == found["findings"]);
  name_members({both[0]});
  CHECK(f.judge({"--routes"})["verdict"] == "healthy");
  f.sa.silent = true;
  CHECK(f.judge({"--routes"})["verdict"] == "healthy");  // members are taken from the tables
}

TEST_CASE("health: a credit loop is an error, a possible one a warning, and without SLtoVL mapping tables it is not read") {
  Ring ring;
  const json possible = ring.judge({"--routes"}, 1);
  REQUIRE(possible["findings"].size() == 1);
  CHECK(possible["findings"][0]["level"] == "warning");
  CHECK(possible["findings"][0]["confidence"] == "possible");
  CHECK(possible["findings"][0]["ends"].size() == 3);
  ring.join_lanes();
  const json found = ring.judge({"--routes"}, 1);
  REQUIRE(found["findings"].size() == 1);
  CHECK(found["findings"][0]["level"] == "error");

  const std::string whole = ring.directory.file("whole"), part = ring.directory.file("part");
  REQUIRE(ibtool(ring.fabric, {"snapshot", whole, "--only", "lft,sl2vl"}).status == 0);
  REQUIRE(ibtool(ring.fabric, {"snapshot", part, "--only", "lft"}).status == 0);
  CHECK(ring.judge({"--from", whole}, 1)["findings"] == found["findings"]);
  const json open = ring.judge({"--from", part}, 4);
  CHECK(open["findings"].empty());
  CHECK(check(open, "routes")["check_state"] == "not_read");

  ring.fabric.node(1).faults.ignores = smp::SLToVLMappingTable::attribute_id;
  CHECK(check(ring.judge({"--routes"}, 4), "routes")["check_state"] == "not_read");
}

TEST_CASE("health: --sa finds no credit loop, and no fault of a node, in tables of which the SA has no record") {
  Ring ring;
  ibtest::FakeSa sa(ring.fabric);  // it has no SLtoVL mapping tables
  const Outcome outcome = ibtool(ring.fabric, {"health", "--interval", "0", "--only", "routes,node-partial", "--routes", "--sa", "--json"});
  INFO(outcome.out << outcome.err);
  CHECK(outcome.status == 4);
  const json found = json::parse(outcome.out);
  CHECK(found["findings"].empty());
  CHECK(check(found, "routes")["check_state"] == "not_read");
}

TEST_CASE("health: a node whose requests, or whose answers, are lost on their way is not blamed for its silence") {
  for (const bool is_back : {false, true}) {
    ibtest::health::Fabric f;
    ibtest::FakeFabric::Node& leaf = f.fabric.node(f.leaf);
    const auto far = f.fabric.add_switch(0x900, 4, "far");
    const auto lost = f.fabric.add_ca(0x400, 1, "lost");
    f.fabric.link(f.leaf, 4, far, 1);
    f.fabric.link(far, 2, lost, 1);
    f.fabric.assign_lids();
    ibtest::run_pma(f.fabric, far);
    ibtest::run_pma(f.fabric, lost);
    const std::uint16_t to = f.fabric.node(lost).ports[1].info.lid.value, from = f.fabric.node(f.here).ports[1].info.lid.value;
    (is_back ? f.fabric.node(far).lft[from] : leaf.lft[to]) = 255;
    const json found = f.found({"--interval", "0"}, 1);
    INFO(found.dump(1));
    std::vector<std::string> ids;
    for (const json& finding : found["findings"]) ids.push_back(finding["check"]);
    CHECK(std::ranges::count(ids, "way-broken") == 1);
    CHECK(std::ranges::count(ids, "node-silent") == 0);
    for (const json& finding : found["findings"]) {
      if (finding["check"] == "way-broken")
        CHECK(finding["ends"][0]["node_guid"] == (is_back ? "0000:0000:0000:0900" : "0000:0000:0000:0100"));
    }
  }
}

}  // namespace tools_health_routes_tests
