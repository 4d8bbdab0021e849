// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Multicast groups: trees, and members that are reached or not.
#include "routing/multicast.hpp"

#include "support/catch.hpp"
#include "unit/routing/made_fabric.hpp"

namespace routing_multicast_tests {

using namespace ib;
using namespace ib::routing;
using ibtest::MadeFabric;

namespace {

constexpr Lid group{0xc003};
using Mlids = std::vector<std::uint16_t>;

/// Two leaves (0 and 1) and two spines (2 and 3), each leaf linked to each spine by ports 3 and 4; hosts 1 and 2 on leaf 0, 3 and 4 on
/// leaf 1. The group has all hosts, by spine 2.
struct Bench : MadeFabric {
  Bench() {
    for (int i = 0; i < 4; ++i) add_switch(5);
    for (unsigned leaf = 0; leaf < 2; ++leaf) {
      for (unsigned i = 0; i < 2; ++i) {
        add_host(leaf, i + 1, leaf * 2 + i + 1);
        link_switches(leaf, 3 + i, 2 + i, 1 + leaf);
      }
    }
    entries = {{0, {1, 2, 3}}, {1, {1, 2, 3}}, {2, {1, 2}}};
  }

  std::map<SwitchIndex, std::vector<unsigned>> entries;
  std::vector<SwitchIndex> unread;
  GroupMembers members;
};

struct Result {
  explicit Result(const Bench& bench)
      : network(bench.subnet), tables(network.switches().size()), known(bench.members), multicast(network, tables, &known) {
    for (SwitchIndex at = 0; at < network.switches().size(); ++at) {
      if (std::ranges::count(bench.unread, at) == 0) tables.set_known(at);
    }
    for (const auto& [at, ports] : bench.entries) {
      PortSet set;
      for (const unsigned port : ports) set.add(port);
      if (std::ranges::count(bench.unread, at) == 0) tables.add(at, group, set);
    }
    tables.finish();
    for (const Lid mlid : tables.groups()) multicast.add(mlid);
  }
  const Cause& only() const {
    REQUIRE(multicast.findings().size() == 1);
    return *multicast.findings()[0];
  }
  const Cause* find(Fault fault) const {
    for (const Cause* cause : multicast.findings()) {
      if (cause->fault == fault) return cause;
    }
    return nullptr;
  }

  Network network;
  MulticastTables tables;
  GroupMembers known;
  Multicast multicast;
};

}  // namespace

TEST_CASE("a tree reaches all members") {
  const Result result{Bench()};
  CHECK(result.multicast.groups() == 1);
  CHECK(result.multicast.members() == 4);
  CHECK(result.multicast.findings().empty());
  CHECK(result.multicast.is_tree(group));
}

TEST_CASE("a second way through the other spine makes no tree") {
  Bench bench;
  bench.entries[0].push_back(4);
  bench.entries[1].push_back(4);
  bench.entries[3] = {1, 2};
  const Result result(bench);
  CHECK(result.only().fault == Fault::loop);
  CHECK(result.only().lids == Mlids{group.value});
  CHECK(result.only().cycle.size() == 4);
  CHECK(result.only().cycle.front() == 0);
  CHECK_FALSE(result.multicast.is_tree(group));
}

TEST_CASE("two cables between two switches, both entries of a group, are a loop of two") {
  Bench bench;
  bench.link_switches(0, 5, 2, 5);
  bench.entries[0].push_back(5);
  bench.entries[2].push_back(5);
  CHECK(Result(bench).only().cycle == std::vector<SwitchIndex>{0, 2});
}

TEST_CASE("an entry for a port without a link, and one for a port that the switch does not have") {
  Bench bench;
  bench.entries[2].push_back(4);
  bench.entries[2].push_back(77);
  const Result result(bench);
  CHECK(result.multicast.findings().size() == 2);
  REQUIRE(result.find(Fault::dead_port) != nullptr);
  CHECK(result.find(Fault::dead_port)->port_id == result.network.port_id(2, 4));
  REQUIRE(result.find(Fault::no_entry) != nullptr);
  CHECK(result.find(Fault::no_entry)->port_id == result.network.port_id(2, 0));
  CHECK(result.find(Fault::no_entry)->missing_port == std::uint8_t{77});
}

TEST_CASE("a group with members and no entry at all: they get nothing, or it is not known") {
  Bench bench;
  bench.entries.clear();
  bench.members.members[group.value] = {{0, none}, {2, none}};
  Result result(bench);
  CHECK(result.multicast.groups() == 0);
  result.multicast.add(group);
  CHECK(result.only().fault == Fault::not_reached);
  CHECK(result.only().pairs == 2);

  bench.unread = {0};
  Result open(bench);
  open.multicast.add(group);
  REQUIRE(open.multicast.not_read().size() == 1);
  CHECK(open.multicast.not_read()[0]->pairs == 1);  // what host 1 sends
  CHECK(open.only().pairs == 1);

  bench.unread = {};
  bench.members.members[group.value] = {{0, none}};
  Result alone(bench);
  alone.multicast.add(group);
  CHECK(alone.multicast.findings().empty());
}

TEST_CASE("two ways into a switch whose own table was not read form no tree") {
  Bench bench;
  bench.unread = {2};
  CHECK(Result(bench).multicast.findings().empty());
  bench.entries[0].push_back(4);  // the leaves are joined by spine 3 already
  bench.entries[1].push_back(4);
  bench.entries[3] = {1, 2};
  const Result result(bench);
  CHECK(result.only().fault == Fault::loop);
  CHECK(result.only().cycle.size() == 4);
  CHECK_FALSE(result.multicast.is_tree(group));

  Bench cables;
  cables.link_switches(0, 5, 2, 5);
  cables.entries[0].push_back(5);
  cables.unread = {2};
  CHECK(Result(cables).only().cycle == std::vector<SwitchIndex>{0, 2});
}

TEST_CASE("behind a port whose other end did not answer members may be reached, or not: no finding") {
  Bench bench;
  bench.entries.erase(2);  // the tree is by spine 2, which did not answer: it is not in the model
  MadeFabric made;
  for (int i = 0; i < 2; ++i) made.add_switch(5);
  for (unsigned leaf = 0; leaf < 2; ++leaf) {
    for (unsigned i = 0; i < 2; ++i) made.add_host(leaf, i + 1, leaf * 2 + i + 1);
    made.set_port(made.switches[leaf], 3, 0);
  }
  static_cast<MadeFabric&>(bench) = made;
  const Result result(bench);
  CHECK(result.multicast.findings().empty());
  std::vector<PortId> ports;
  std::uint64_t pairs = 0;
  for (const Cause* cause : result.multicast.not_read()) {
    pairs += cause->pairs;
    if (cause->pairs == 0) ports.push_back(cause->port_id);
  }
  CHECK(pairs == 8);
  CHECK(ports == std::vector<PortId>{result.network.port_id(0, 3), result.network.port_id(1, 3)});
}

TEST_CASE("a leaf that the spine forgot gets nothing, and is heard") {
  Bench bench;
  bench.entries[2] = {1};
  const Result result(bench);
  CHECK(result.only().fault == Fault::not_reached);
  CHECK(result.only().pairs == 4);  // from 1 and 2 to 3 and 4
  REQUIRE(result.only().pairs > 0);
  CHECK(result.only().example.slid == Lid{1});
  CHECK(result.only().example.dlid == group);
  CHECK(result.network.is_host_port(result.only().port_id));
}

TEST_CASE("a leaf without an entry: packets end there") {
  Bench bench;
  bench.entries.erase(1);
  bench.members.members[group.value] = {{0, none}, {2, none}};
  const Result result(bench);
  REQUIRE(result.find(Fault::no_entry) != nullptr);
  CHECK(result.find(Fault::no_entry)->port_id == result.network.port_id(1, 0));
  REQUIRE(result.find(Fault::not_reached) != nullptr);
  CHECK(result.find(Fault::not_reached)->pairs == 2);
}

TEST_CASE("members come from the SA: a member without an entry is not reached, one that only sends need not be") {
  Bench bench;
  bench.entries[1] = {1, 3};  // without host 4
  bench.members.members[group.value] = {{0, none}, {1, none}, {2, none}, {3, none}};
  CHECK(Result(bench).only().pairs == 3);
  bench.members.members[group.value] = {{0, none}, {1, none}, {2, none}, {3, none, true, false}};
  CHECK(Result(bench).multicast.findings().empty());
}

TEST_CASE("port 0 of a switch is a member as a host is") {
  Bench bench;
  bench.set_switch_lid(2, 9);
  bench.entries[2].push_back(0);
  const Result result(bench);
  CHECK(result.multicast.members() == 5);
  CHECK(result.multicast.findings().empty());
}

TEST_CASE("a route through a table that was not read is unknown, and not a finding") {
  Bench bench;
  bench.unread = {2};
  const Result result(bench);
  CHECK(result.multicast.findings().empty());
  std::uint64_t pairs = 0;
  for (const Cause* cause : result.multicast.not_read()) pairs += cause->pairs;
  CHECK(pairs == 8);
}

}  // namespace routing_multicast_tests
