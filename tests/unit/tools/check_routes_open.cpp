// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// What check_routes must not call whole: groups that no switch knows, multicast tables that nobody read, members and end ports that cannot
// be found, files that break off or that contradict each other.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "iba/text.hpp"
#include "support/catch.hpp"
#include "support/fake_sa.hpp"
#include "support/program.hpp"
#include "support/temporary_directory.hpp"

namespace tools_check_routes_open_tests {

using namespace ib;
using ibtest::contains;
using ibtest::FakeFabric;
using ibtest::ibtool;
using ibtest::Outcome;
using nlohmann::json;

namespace {

using Words = std::vector<std::string>;

constexpr FakeFabric::NodeId spine = 0, leaf0 = 1, host0 = 2, leaf1 = 4, host2 = 5;
constexpr std::uint16_t group = 0xc005;

/// A spine (LID 1), two leaves (2 and 5), two hosts on each (3 and 4, 6 and 7). The SA names members of groups.
struct Tree {
  FakeFabric fabric = FakeFabric::fat_tree(2, 1, 2);
  ibtest::FakeSa sa{fabric};
  ibtest::TemporaryDirectory directory;

  Tree() {
    for (const FakeFabric::NodeId id : {spine, leaf0, leaf1}) fabric.node(id).switch_info.multicast_fdb_cap = 64;
  }
  /// Entries of a tree that has all hosts.
  void grow() {
    fabric.node(leaf0).mft[group] = fabric.node(leaf1).mft[group] = {1, 2, 3};
    fabric.node(spine).mft[group] = {1, 2};
  }
  struct Named {
    Guid port_guid;
    std::uint8_t join_state = 1;
    std::uint64_t of = 1;  ///< of the MGID
  };
  void name_members(std::vector<Named> members) {
    sa.lie = [members = std::move(members)](std::uint16_t attribute, std::vector<ibtest::FakeSa::Record>& records) {
      if (attribute != sa::MCMemberRecord::attribute_id) return;
      for (const Named& member : members) {
        sa::MCMemberRecord record;
        record.mgid = Gid::from(GidPrefix{0xff12401b00000000}, Guid{member.of});
        record.port_gid = Gid::from(GidPrefix{0xfe80000000000000}, member.port_guid);
        record.mlid = Lid{group};
        record.join_state = member.join_state;
        ibtest::FakeSa::Record bytes(sa::MCMemberRecord::info().bytes);
        record.pack(bytes);
        records.push_back(bytes);
      }
    };
  }
  Guid guid(FakeFabric::NodeId id) { return fabric.port_guid(id, 1); }
  Outcome check(Words words = {}, int status = 0) {
    words.insert(words.begin(), {"check_routes", "--discovery=DR"});
    Outcome outcome = ibtool(fabric, words);
    INFO(fmt::format("{}\n", fmt::join(words, " ")) << outcome.out << outcome.err);
    CHECK(outcome.status == status);
    return outcome;
  }
  json found(Words words = {}, int status = 0) {
    words.emplace_back("--json");
    const Outcome outcome = check(words, status);
    INFO(outcome.out << outcome.err);
    return json::parse(outcome.out);
  }
  std::string file(const std::string& name, const Words& words) { return file(name, ibtool(fabric, words).out); }
  std::string file(const std::string& name, const std::string& text) {
    std::ofstream(directory.file(name)) << text;
    return directory.file(name);
  }
  std::string topology() { return file("topology", Words{"ibnetdiscover", "--discovery=DR"}); }
  std::string linear() { return file("linear", Words{"dump_lfts", "--discovery=DR"}); }
};

}  // namespace

TEST_CASE("check_routes: a group of the SA that no switch knows reaches no member") {
  Tree tree;
  tree.name_members({{tree.guid(host0)}, {tree.guid(host2)}});
  const json multicast = tree.found({}, 1)["multicast"];
  CHECK(multicast["mlid_count"] == 1);
  REQUIRE(multicast["findings"].size() == 1);
  CHECK(multicast["findings"][0]["fault"] == "not_reached");
  CHECK(multicast["findings"][0]["pair_count"] == 2);
  tree.name_members({{tree.guid(host0)}});
  CHECK(tree.found()["multicast"]["findings"].empty());
  tree.sa.lie = nullptr;
  CHECK_THAT(tree.check().out, contains("Multicast: no groups.\n"));
  tree.sa.silent = true;
  CHECK_THAT(tree.check({}, 4).out,
             contains("Multicast: no groups in the tables; the groups of the subnet administrator are not known: No subnet administrator "
                      "answers at LID 1 (MCMemberRecord: 4 tries in "));
  tree.check({"--unicast"});
}

TEST_CASE("check_routes: one port in two groups of one MLID is one member, and unknown ports are counted") {
  Tree tree;
  tree.grow();
  tree.fabric.node(leaf1).mft[group] = {2, 3};  // the first host there only sends
  tree.name_members({{tree.guid(host0)}, {tree.guid(host0), 1, 2}, {tree.guid(host2), 4}, {Guid{0x123456}}, {Guid{}}});
  const json multicast = tree.found()["multicast"];
  CHECK(multicast["member_count"] == 2);
  CHECK(multicast["unresolved_count"] == 1);
  CHECK_THAT(tree.check().out, contains("  not checked: 1 member that the subnet administrator names"));
  tree.name_members({{tree.guid(host0)}, {tree.guid(host2), 4}, {tree.guid(host2), 1, 2}});
  CHECK(tree.found({}, 1)["multicast"]["findings"][0]["pair_count"] == 1);  // in the other group it receives
}

TEST_CASE("check_routes: an entry for a port that the switch does not have names it") {
  Tree tree;
  tree.grow();
  tree.fabric.node(leaf0).mft[group] = {1, 2, 3, 9};
  const json finding = tree.found({}, 1)["multicast"]["findings"][0];
  CHECK(finding["fault"] == "no_entry");
  CHECK(finding["port_num"] == 9);
  CHECK_THAT(tree.check({}, 1).out, contains("names port 9, which the switch does not have."));
}

TEST_CASE("check_routes: the verdict on credit loops says that a group that makes no tree is left out") {
  FakeFabric fabric = FakeFabric::fat_tree(2, 2, 2);
  for (const FakeFabric::NodeId id : {0U, 1U, 2U, 5U}) {
    fabric.node(id).switch_info.multicast_fdb_cap = 64;
    fabric.node(id).mft[group] = id < 2 ? std::set<unsigned>{1, 2} : std::set<unsigned>{1, 2, 3, 4};  // by both spines
  }
  const Outcome told = ibtool(fabric, {"check_routes", "--discovery=DR"});
  INFO(told.out << told.err);
  CHECK(told.status == 1);
  CHECK_THAT(told.out, contains("\nCredit loops with multicast, of the groups that are trees: none is possible, whichever SL is used"));
}

TEST_CASE("check_routes: without multicast tables in its files multicast is skipped, and open where it is requested") {
  Tree tree;
  tree.grow();
  const Words files{"--topology", tree.topology(), "--lfts", tree.linear()};
  CHECK_THAT(tree.check(files).out, contains("all arrive.\n") && contains("Multicast: skipped: what was given has no multicast tables.\n"));
  const json skipped = tree.found(files);
  CHECK(skipped.at("multicast").is_null());
  CHECK(skipped["credit_loops"]["verdict"] == "free");
  Words asked = files;
  asked.emplace_back("--multicast");
  const json open = tree.found(asked, 4)["multicast"];
  CHECK(open["credit_loops"]["verdict"] == "not_read");
  CHECK(open["unread_switch_count"] == 3);
  CHECK_THAT(tree.check(asked, 4).out, contains("Multicast: not read: the multicast tables of all switches, 3"));
  Words unicast = files;
  unicast.emplace_back("--unicast");
  CHECK_THAT(tree.check(unicast).out, !contains("Multicast"));

  // Where the fabric can be requested, its multicast tables are read.
  const json live = tree.found({"--lfts", files[3]})["multicast"];
  CHECK(live["mlid_count"] == 1);
  CHECK(live["unread_switch_count"] == 0);
  CHECK(live["credit_loops"]["verdict"] == "free");

  // One table of the three is not there: the group is not whole.
  Words some = files;
  std::string text = ibtool(tree.fabric, {"dump_mfts", "--discovery=DR"}).out;
  const std::size_t second = text.find("Multicast mlids", 10);
  REQUIRE(second != std::string::npos);
  some.insert(some.end(), {"--lfts", tree.file("some", text.substr(second))});
  CHECK(tree.found(some, 4)["multicast"]["unread_switch_count"] == 1);
  CHECK_THAT(tree.check(some, 4).out, contains("  not read: the multicast tables of 1 of 3 switches.\n") && !contains("by trees"));
}

TEST_CASE("check_routes: opensm.mcfdbs leaves out switches without entries, unless it breaks off") {
  Tree tree;
  const Words files{"--topology", tree.topology(), "--lfts", tree.linear()};
  const auto with = [&](const std::string& rows) {
    const std::uint64_t guid = tree.fabric.node(leaf0).info.node_guid.value;
    Words words = files;
    words.insert(words.end(), {"--lfts", tree.file("mcfdbs", fmt::format("\nSwitch {:#018x}\nLID    : Out Port(s)\n{}", guid, rows))});
    return words;
  };
  const json whole = tree.found(with("0xC005 : 0x001  0x002  \n"))["multicast"];
  CHECK(whole["unread_switch_count"] == 0);
  CHECK(whole["member_count"] == 2);
  const json torn = tree.found(with("0xC005 : 0x001  0x002  \n0xC006 : 0x00"), 4)["multicast"];
  CHECK(torn["unread_switch_count"] == 3);
  CHECK(torn["mlid_count"] == 1);
}

TEST_CASE("check_routes: a multicast table that was not read and to which nothing leads leaves the verdict open") {
  Tree tree;
  tree.fabric.node(leaf0).mft[group] = {1, 2};
  tree.fabric.node(leaf1).faults.ignores = smp::MulticastForwardingTable::attribute_id;
  const json found = tree.found({}, 4);
  CHECK(found["multicast"]["credit_loops"]["verdict"] == "not_read");
  CHECK(found["multicast"]["unread_switch_count"] == 1);
  CHECK(found["credit_loops"]["verdict"] == "free");
}

TEST_CASE("check_routes: a snapshot without multicast tables still gives the unicast result") {
  Tree tree;
  tree.grow();
  const std::string file = tree.directory.file("snapshot");
  REQUIRE(ibtool(tree.fabric, {"snapshot", file, "--only", "lft"}).status == 0);
  CHECK_THAT(tree.check({"--from", file}).out, contains("all arrive.\n") && contains("Multicast: skipped: "));
  CHECK_THAT(tree.check({"--from", file, "--multicast"}, 4).out, contains("Multicast: not read: the multicast tables of all switches, 3"));
}

TEST_CASE("check_routes: where no end port has a LID, nothing is proven") {
  Tree tree;
  for (FakeFabric::NodeId id = 0; id < tree.fabric.size(); ++id) {
    if (!tree.fabric.node(id).is_switch()) tree.fabric.node(id).ports[1].info.lid = Lid{};
  }
  const json found = tree.found({"--unicast"}, 4);
  CHECK(found["unicast"]["no_lid_count"] == 4);
  CHECK(found["unicast"]["pair_count"] == 0);
  CHECK_THAT(
      tree.check({"--unicast"}, 4).out,
      contains("to 0 LIDs: nothing to check.\n  not read: 4 end ports with an Active link: they have no LID") && !contains("all arrive"));
}

TEST_CASE("check_routes: switches without a LID send nothing") {
  Tree tree;
  tree.fabric.node(spine).ports[0].info.lid = Lid{};
  const json found = tree.found({"--unicast", "--switches"});
  CHECK(found["unicast"]["source_count"] == 4 + 2);
  CHECK(found["unicast"]["pair_count"] == 6 * 5);
  CHECK_THAT(tree.check({"--unicast", "--switches"}).out, contains("from 4 host ports and 2 switches to 6 LIDs"));
}

TEST_CASE("check_routes: the cost of a cause is reported in one line, however many LIDs it has") {
  FakeFabric fabric = FakeFabric::fat_tree(2, 1, 30);
  for (const FakeFabric::NodeId id : {spine, leaf0}) {
    std::vector<std::uint8_t>& lft = fabric.node(id).lft;
    for (std::size_t lid = 3; lid < lft.size(); lid += 2) lft[lid] = 255;
  }
  const Outcome told = ibtool(fabric, {"check_routes", "--discovery=DR", "--unicast"});
  INFO(told.out);
  CHECK(told.status == 1);
  CHECK_THAT(told.out, contains(" more (--json) ("));
}

TEST_CASE("check_routes: a switch with tables in two files is remarked on") {
  Tree tree;
  const std::string linear = tree.linear();
  const std::string again = tree.file("again", ibtool(tree.fabric, {"dump_lfts", "--discovery=DR"}).out);
  const Outcome told = tree.check({"--unicast", "--topology", tree.topology(), "--lfts", linear, "--lfts", again});
  CHECK_THAT(told.err, contains("again:1: this switch and 2 more are in a file before this one too: what this file has counts"));
  CHECK_THAT(tree.check({"--unicast", "--topology", tree.topology(), "--lfts", linear}).err, !contains("before"));
}

TEST_CASE("check_routes: packets on a VL that the port does not have are dropped, and wait for nothing") {
  FakeFabric ring;
  for (unsigned at = 0; at < 3; ++at) ring.add_switch(0x100 + at * 0x10U, 3, fmt::format("ring{}", at));
  for (unsigned at = 0; at < 3; ++at) {
    ring.link(at, 1, ring.add_ca(0x1000 + at * 0x10U, 1, "host"), 1);
    ring.link(at, 2, (at + 1) % 3, 3);
  }
  ring.assign_lids();
  ring.attach(3);
  for (unsigned at = 0; at < 3; ++at) {
    for (unsigned to = 0; to < 3; ++to) ring.node(at).lft[ring.node(3 + to).ports[1].info.lid.value] = to == at ? 1 : 2;
  }
  const auto verdict = [&ring] {
    return json::parse(ibtool(ring, {"check_routes", "--discovery=DR", "--unicast", "--sl", "2", "--json"}).out)["credit_loops"]["verdict"];
  };
  CHECK(verdict() == "found");  // on VL 2
  ring.node(0).ports[2].info.operational_vls = smp::VLCap::vl0_1;
  CHECK(verdict() == "free_for_used_sls");
}

TEST_CASE("check_routes: a wrong node that claims the LID too is said to") {
  Tree tree;
  tree.fabric.node(host2 + 1).ports[1].info.lid = Lid{6};  // beside the host before it
  unsigned claims = 0;
  for (const std::uint8_t port : {std::uint8_t{1}, std::uint8_t{2}}) {
    tree.fabric.node(leaf1).lft[6] = port;
    const Outcome told = ibtool(tree.fabric, {"check_routes", "--discovery=DR", "--unicast"});
    INFO(told.out);
    CHECK_THAT(told.out, !contains("is out of date"));
    if (told.out.find("The port there claims this LID too") != std::string::npos) ++claims;
  }
  CHECK(claims == 1);  // packets arrive at the one that was found first
}

TEST_CASE("check_routes: a long circle is cut in text") {
  FakeFabric ring;
  constexpr unsigned size = 12;
  for (unsigned at = 0; at < size; ++at) ring.add_switch(0x100 + at * 0x10U, 3, fmt::format("ring{}", at));
  for (unsigned at = 0; at < 2; ++at) ring.link(at, 1, ring.add_ca(0x1000 + at * 0x10U, 1, "host"), 1);
  for (unsigned at = 0; at < size; ++at) ring.link(at, 2, (at + 1) % size, 3);
  ring.assign_lids();
  ring.attach(size);
  for (unsigned at = 0; at < size; ++at) {
    for (unsigned to = 0; to < 2; ++to) ring.node(at).lft[ring.node(size + to).ports[1].info.lid.value] = 2;
  }
  const Outcome told = ibtool(ring, {"check_routes", "--discovery=DR", "--unicast"});
  INFO(told.out);
  CHECK(told.status == 1);
  CHECK_THAT(told.out, contains("… 4 more (--json), and so on."));
}

}  // namespace tools_check_routes_open_tests
