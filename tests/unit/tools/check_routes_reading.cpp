// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// What check_routes reads, how often, and of whom: adaptive routing, nodes that do not answer, and switches that lie about their tables.
#include <fmt/format.h>

#include <map>
#include <nlohmann/json.hpp>
#include <random>
#include <string>

#include "iba-gen/mlx.hpp"
#include "iba/text.hpp"
#include "support/catch.hpp"
#include "support/fake_sa.hpp"
#include "support/program.hpp"
#include "support/temporary_directory.hpp"

namespace tools_check_routes_reading_tests {

using namespace ib;
using ibtest::contains;
using ibtest::FakeFabric;
using ibtest::ibtool;
using ibtest::Outcome;
using nlohmann::json;

namespace {

using Words = std::vector<std::string>;

constexpr FakeFabric::NodeId spine = 0, leaf0 = 1, leaf1 = 4;
constexpr std::uint16_t group = 0xc005;
constexpr std::size_t data_at = 64;  // of an SMP

/// A spine (LID 1), two leaves (2 and 5), two hosts on each (3 and 4, 6 and 7), all of them in a multicast group.
struct Tree {
  FakeFabric fabric = FakeFabric::fat_tree(2, 1, 2);
  std::map<std::uint16_t, std::size_t> requests;  ///< SMPs by attribute

  Tree() {
    for (const FakeFabric::NodeId id : {spine, leaf0, leaf1}) fabric.node(id).switch_info.multicast_fdb_cap = 64;
    fabric.node(leaf0).mft[group] = fabric.node(leaf1).mft[group] = {1, 2, 3};
    fabric.node(spine).mft[group] = {1, 2};
    change([](std::uint16_t, FakeFabric::Answer&) {});
  }
  /// Changes each answer to an SMP, by attribute.
  void change(std::function<void(std::uint16_t attribute, FakeFabric::Answer& answer)> how) {
    fabric.network.tamper = [this, how = std::move(how)](Bytes request, std::optional<FakeFabric::Answer> answer) {
      const auto attribute = load_be<std::uint16_t>(&request[16]);
      if (mad::is_smp(request[1])) ++requests[attribute];
      std::vector<FakeFabric::Answer> answers;
      if (!answer) return answers;
      how(attribute, *answer);
      answers.push_back(std::move(*answer));
      return answers;
    };
  }
  Outcome check(Words words = {}) {
    words.insert(words.begin(), {"check_routes", "--discovery=DR"});
    requests.clear();
    const ibtest::FakeSa sa(fabric);  // which has no multicast groups
    Outcome outcome = ibtool(fabric, words);
    fabric.network.gmp = nullptr;
    return outcome;
  }
  json found(Words words = {}) {
    words.emplace_back("--json");
    const Outcome outcome = check(words);
    INFO(outcome.out << outcome.err);
    return json::parse(outcome.out);
  }
};

}  // namespace

TEST_CASE("check_routes: each table is requested once, and nothing beyond the sweep and the tables") {
  Tree tree;
  ibtool(tree.fabric, {"ibnetdiscover", "--discovery=DR"});
  const std::map<std::uint16_t, std::size_t> sweep = std::exchange(tree.requests, {});
  CHECK(tree.check().status == 0);
  std::map<std::uint16_t, std::size_t> plan = sweep;
  plan[smp::LinearForwardingTable::attribute_id] = 3;
  plan[smp::MulticastForwardingTable::attribute_id] = 3 * 2;
  plan[mlx::AdaptiveRoutingInfo::attribute_id] = 3;
  CHECK(tree.requests == plan);
  plan.erase(smp::MulticastForwardingTable::attribute_id);
  CHECK(tree.check({"--unicast"}).status == 0);
  CHECK(tree.requests == plan);
}

TEST_CASE("check_routes: switches with adaptive routing on are named, and where that is not known it is said") {
  Tree tree;
  CHECK_THAT(tree.check().out, !contains("adaptive"));
  CHECK(tree.found()["adaptive_routing"].empty());
  tree.fabric.node(leaf0).adaptive_routing = tree.fabric.node(leaf1).adaptive_routing = true;
  tree.fabric.node(spine).adaptive_routing = false;
  const Outcome told = tree.check();
  CHECK(told.status == 0);
  CHECK_THAT(told.out, contains("Static tables only: adaptive routing is on at 2 of 3 switches ('leaf0', 'leaf1'), which send packets "
                                "other ways too.\n"));
  json on = tree.found()["adaptive_routing"];
  REQUIRE(on.size() == 2);
  CHECK(on[0]["node_guid"] == to_text(tree.fabric.node(leaf0).info.node_guid));
  CHECK(on[0]["is_on"] == true);

  tree.fabric.node(leaf0).faults.ignores = mlx::AdaptiveRoutingInfo::attribute_id;
  tree.fabric.node(leaf1).adaptive_routing = false;
  const Outcome unread = tree.check();
  CHECK(unread.status == 0);
  CHECK(unread.err_after_wait().empty());
  CHECK_THAT(unread.out, contains("Static tables only: whether adaptive routing is on is not known at 1 of 3 switches.\n"));
  on = tree.found()["adaptive_routing"];
  REQUIRE(on.size() == 1);
  CHECK(on[0]["is_on"].is_null());
}

TEST_CASE("check_routes: a snapshot holds whether adaptive routing is on") {
  Tree tree;
  const ibtest::TemporaryDirectory directory;
  tree.fabric.node(spine).adaptive_routing = true;
  const std::string file = directory.file("snapshot");
  const Outcome taken = ibtool(tree.fabric, {"snapshot", file, "--only", "lft,mft"});
  INFO(taken.err);
  REQUIRE(taken.status == 0);
  const json live = tree.found();
  tree.requests.clear();
  CHECK(json::parse(ibtool(tree.fabric, {"check_routes", "--json", "--from", file}).out)["adaptive_routing"] == live["adaptive_routing"]);
  CHECK(tree.requests.empty());
}

TEST_CASE("check_routes: of links in Initialize the subnet manager is named, not the cable") {
  Tree tree;
  tree.change([](std::uint16_t attribute, FakeFabric::Answer& answer) {
    constexpr std::size_t state_at = data_at + 32;
    constexpr std::uint8_t state_mask = 0x0f, active = 4, initialize = 2;
    if (attribute == smp::PortInfo::attribute_id && (answer[state_at] & state_mask) == active) answer[state_at] ^= active ^ initialize;
  });
  const Outcome told = tree.check();
  INFO(told.out << told.err);
  CHECK(told.status == 1);
  CHECK_THAT(told.out,
             contains("  dead_port: ") && contains("waits for a subnet manager to make it Active") && !contains("Look at the cable"));
}

TEST_CASE("check_routes: routes by a switch that does not answer are not known, and no finding") {
  Tree tree;
  tree.fabric.node(spine).faults.silent = true;
  const Outcome told = tree.check();
  INFO(told.out << told.err);
  CHECK(told.status == 4);
  // The sweep ends at the leaf: its other host alone is known.
  CHECK_THAT(told.out, contains("Unicast: 2 pairs from 2 host ports to 2 LIDs: all arrive."));
  CHECK_THAT(told.out, !contains("dead_port") && contains("Credit loops: none is possible among the known routes, whichever SL is used"));

  FakeFabric two = FakeFabric::fat_tree(2, 2, 2);  // by one of two spines
  two.node(0).faults.silent = true;
  const Outcome open = ibtool(two, {"check_routes", "--discovery=DR"});
  INFO(open.out << open.err);
  CHECK(open.status == 4);
  CHECK_THAT(open.out, contains("of ") && contains("it is not known") && contains("  not read: what is behind port "));
  CHECK_THAT(open.out, !contains("dead_port") && contains("Credit loops: not known: forwarding tables were not read.\n"));

  FakeFabric one;  // hosts at a switch that answers all but its table: of no route it is known that it is short
  const auto hub = one.add_switch(0x100, 4, "hub");
  for (unsigned port = 1; port <= 2; ++port) one.link(hub, port, one.add_ca(0x200 + 0x10U * port, 1, "host"), 1);
  one.assign_lids();
  one.attach(1);
  one.node(hub).faults.ignores = smp::LinearForwardingTable::attribute_id;
  const Outcome none = ibtool(one, {"check_routes", "--discovery=DR"});
  INFO(none.out << none.err);
  CHECK_THAT(none.out, contains("\nHops: none: no pair is known to arrive.\n") && !contains("no route longer"));
}

TEST_CASE("check_routes: switches that lie about the size of their tables cost no more than the largest tables") {
  Tree tree;
  smp::SwitchInfo& info = tree.fabric.node(spine).switch_info;
  info.linear_fdb_cap = info.linear_fdb_top = info.multicast_fdb_cap = info.multicast_fdb_top = 0xffff;
  tree.fabric.node(leaf0).switch_info.linear_fdb_cap = 0;
  tree.fabric.node(leaf1).switch_info.multicast_fdb_top = 5;
  const Outcome told = tree.check();
  INFO(told.out << told.err);
  CHECK(told.status == 1);  // a leaf without a table has no entries
  CHECK_THAT(told.out, contains("no_entry: "));
  CHECK(tree.requests[smp::LinearForwardingTable::attribute_id] == 768 + 1);
  CHECK(tree.requests[smp::MulticastForwardingTable::attribute_id] == 512 + 2 + 2);
}

TEST_CASE("check_routes: tables full of ports that no switch has lose all packets between leaves, and nothing else") {
  Tree tree;
  tree.change([](std::uint16_t attribute, FakeFabric::Answer& answer) {
    const bool is_table = attribute == smp::LinearForwardingTable::attribute_id || attribute == smp::MulticastForwardingTable::attribute_id;
    if (is_table) std::fill(answer.begin() + data_at, answer.begin() + data_at + 64, std::uint8_t{0xf9});
  });
  const json found = tree.found();
  CHECK(found["status"] == 1);
  CHECK(found["unicast"]["arrived_count"] == 0);
  for (const json& finding : found["unicast"]["findings"]) CHECK(finding["fault"] == "no_entry");
  for (const json& finding : found["multicast"]["findings"]) CHECK(finding["lids"].size() <= 64);
}

TEST_CASE("check_routes: an answer counts for the block that was requested, whatever block it claims to be") {
  Tree tree;
  tree.change([](std::uint16_t attribute, FakeFabric::Answer& answer) {
    if (attribute == smp::LinearForwardingTable::attribute_id || attribute == smp::MulticastForwardingTable::attribute_id)
      store_be(&answer[20], std::uint32_t{0xffffffff});
  });
  CHECK(tree.check().status == 0);
}

TEST_CASE("check_routes: no answer about tables can end or hold up the program") {
  std::mt19937 random(11);
  for (unsigned round = 0; round < 60; ++round) {
    CAPTURE(round);
    Tree tree;
    for (const FakeFabric::NodeId id : {spine, leaf0, leaf1}) {
      tree.fabric.node(id).switch_info.multicast_fdb_top = static_cast<std::uint16_t>(random());
      tree.fabric.node(id).switch_info.default_multicast_primary_port = static_cast<std::uint8_t>(random());
    }
    tree.change([&random](std::uint16_t attribute, FakeFabric::Answer& answer) {
      const bool is_table = attribute == smp::LinearForwardingTable::attribute_id ||
                            attribute == smp::MulticastForwardingTable::attribute_id ||
                            attribute == smp::SLToVLMappingTable::attribute_id || attribute == mlx::AdaptiveRoutingInfo::attribute_id;
      if (!is_table) return;
      // Small numbers are ports that the switch has, so that packets go round.
      for (std::size_t at = data_at; at < data_at + 64; ++at) {
        if (random() % 4 != 0) answer[at] = static_cast<std::uint8_t>(random() % (random() % 8 == 0 ? 256 : 4));
      }
    });
    const Outcome told = tree.check({"--sl", "0-15", "--load", "--switches"});
    INFO(told.out << told.err);
    CHECK((told.status == 0 || told.status == 1 || told.status == 4));
    CHECK(tree.requests[smp::SLToVLMappingTable::attribute_id] <= 3U * 4 * 4);
  }
}

}  // namespace tools_check_routes_reading_tests
