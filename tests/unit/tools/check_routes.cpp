// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// check_routes on fabrics in memory: from switches, from a snapshot and from files; findings, verdicts and what they cost to read.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "iba/text.hpp"
#include "support/catch.hpp"
#include "support/fake_sa.hpp"
#include "support/program.hpp"
#include "support/stored_routes.hpp"
#include "support/temporary_directory.hpp"

namespace tools_check_routes_tests {

using namespace ib;
using ibtest::contains;
using ibtest::FakeFabric;
using ibtest::ibtool;
using ibtest::Outcome;
using nlohmann::json;

namespace {

using Words = std::vector<std::string>;

constexpr FakeFabric::NodeId spine = 0, leaf0 = 1, leaf1 = 4, host2 = 5;
constexpr std::uint16_t group = 0xc005;

json parsed(const Outcome& outcome) {
  INFO(outcome.out << outcome.err);
  return json::parse(outcome.out);
}

/// A spine (LID 1), two leaves (2 and 5), two hosts on each (3 and 4, 6 and 7), all of them in a multicast group.
struct Tree {
  FakeFabric fabric = FakeFabric::fat_tree(2, 1, 2);
  ibtest::TemporaryDirectory directory;

  Tree() {
    for (const FakeFabric::NodeId id : {spine, leaf0, leaf1}) fabric.node(id).switch_info.multicast_fdb_cap = 64;
    fabric.node(leaf0).mft[group] = fabric.node(leaf1).mft[group] = {1, 2, 3};
    fabric.node(spine).mft[group] = {1, 2};
  }
  Outcome check(Words words = {}, int status = 0) {
    words.insert(words.begin(), {"check_routes", "--discovery=DR"});
    std::optional<ibtest::FakeSa> sa;  // which has no multicast groups
    if (!fabric.network.gmp) sa.emplace(fabric);
    Outcome outcome = ibtool(fabric, words);
    if (sa) fabric.network.gmp = nullptr;
    INFO(fmt::format("{}\n", fmt::join(words, " ")) << outcome.out << outcome.err);
    CHECK(outcome.status == status);
    return outcome;
  }
  json found(Words words = {}, int status = 0) {
    words.emplace_back("--json");
    return parsed(check(words, status));
  }
  /// A file with what a command prints of the fabric.
  std::string file(const std::string& name, const Words& words) {
    const Outcome outcome = ibtool(fabric, words);
    REQUIRE(outcome.status == 0);
    return file(name, outcome.out);
  }
  std::string file(const std::string& name, const std::string& text) {
    std::ofstream(directory.file(name)) << text;
    return directory.file(name);
  }
  std::string guid(FakeFabric::NodeId id) { return to_text(fabric.node(id).info.node_guid); }
};

/// Switches in a ring, one host on each, at port 1; port 2 leads to the next switch, port 3 to the one before. Packets go forwards. The
/// host of switch n has the LID 10 + n.
struct Ring : Tree {
  explicit Ring(unsigned size = 3) {
    fabric = FakeFabric();
    std::vector<FakeFabric::NodeId> switches;
    for (unsigned at = 0; at < size; ++at) switches.push_back(fabric.add_switch(0x100 + at * 0x10U, 3, fmt::format("ring{}", at)));
    for (unsigned at = 0; at < size; ++at) {
      const auto host = fabric.add_ca(0x1000 + at * 0x10U, 1, fmt::format("host{}", at));
      fabric.link(switches[at], 1, host, 1);
      fabric.link(switches[at], 2, switches[(at + 1) % size], 3);
    }
    fabric.assign_lids();
    fabric.attach(size);
    for (unsigned at = 0; at < size; ++at) {
      for (unsigned to = 0; to < size; ++to) fabric.node(at).lft[lid(to)] = to == at ? 1 : 2;
    }
  }
  std::uint16_t lid(unsigned of) { return fabric.node(fabric.size() / 2 + of).ports[1].info.lid.value; }
  std::uint64_t guid_of_host(unsigned of) { return fabric.node(fabric.size() / 2 + of).info.node_guid.value; }
  /// The SLs of all pairs in ibdmchk's form: 1 for ways that pass from the last switch to the first one.
  std::string levels() {
    std::string text;
    const unsigned size = static_cast<unsigned>(fabric.size() / 2);
    for (unsigned from = 0; from < size; ++from) {
      for (unsigned to = 0; to < size; ++to) {
        if (from != to) text += fmt::format("{:#018x} {} {}\n", guid_of_host(from), lid(to), to < from ? 1 : 0);
      }
    }
    return text;
  }
};

}  // namespace

TEST_CASE("check_routes: the result for a healthy fabric has a few lines") {
  Tree tree;
  const Outcome told = tree.check();
  CHECK_THAT(told.out, contains("Unicast: 12 pairs from 4 host ports to 4 LIDs: all arrive.\n"));
  CHECK_THAT(told.out, contains("Hops: from port to port 2: 4, 4: 8 (links: pairs), no route longer than the shortest.\n"));
  CHECK_THAT(told.out, contains("Credit loops: none is possible, whichever SL is used (12 channels, 14 edges).\n"));
  CHECK_THAT(told.out, contains("Multicast: 1 MLID with 4 members: all reach each other, by trees.\n"));
  CHECK(std::ranges::count(told.out, '\n') < 10);
  CHECK(told.err_after_wait().empty());
}

TEST_CASE("check_routes: JSON of a healthy fabric") {
  Tree tree;
  const json found = tree.found({"--load"});
  CHECK(found["unicast"]["lid_count"] == 4);
  CHECK(found["unicast"]["source_count"] == 4);
  CHECK(found["unicast"]["arrived_count"] == 12);
  CHECK(found["unicast"]["findings"].empty());
  CHECK(found["hop_histogram"] == json::parse(R"([{"hop_count": 2, "pair_count": 4}, {"hop_count": 4, "pair_count": 8}])"));
  CHECK(found["credit_loops"]["verdict"] == "free");
  CHECK(found["multicast"]["mlid_count"] == 1);
  CHECK(found["multicast"]["credit_loops"]["verdict"] == "free");
  CHECK(found["load"]["links"].size() == 12);
  CHECK(found["load"]["switch_links"]["greatest"] == 4);
  CHECK(found["load"]["switch_links"]["unused"] == 0);
  CHECK(found["load"]["tiers"].size() == 2);
  CHECK_FALSE(tree.found().contains("load"));
}

TEST_CASE("check_routes: --switches adds switches at both ends, --unicast and --multicast leave the other out") {
  Tree tree;
  CHECK(tree.found({"--switches"})["unicast"]["pair_count"] == 7 * 6);
  CHECK_FALSE(tree.found({"--unicast"}).contains("multicast"));
  const json groups = tree.found({"--multicast"});
  CHECK_FALSE(groups.contains("unicast"));
  CHECK(groups["multicast"]["member_count"] == 4);
}

TEST_CASE("check_routes: a lost entry is one finding, with its LIDs, an example, and what fixes it") {
  Tree tree;
  tree.fabric.node(spine).lft[6] = 255;
  tree.fabric.node(spine).lft[7] = 200;
  const Outcome told = tree.check({}, 1);
  CHECK_THAT(told.out,
             contains("8 arrive, 4 are lost.\n  no_entry: ") && contains(" has no entry for LIDs 6, 7 (") && contains("ibroute 1;"));
  const json found = tree.found({}, 1);
  REQUIRE(found["unicast"]["findings"].size() == 1);
  const json& finding = found["unicast"]["findings"][0];
  CHECK(finding["fault"] == "no_entry");
  CHECK(finding["node_guid"] == tree.guid(spine));
  CHECK(finding["lids"] == json::parse("[6, 7]"));
  CHECK(finding["pair_count"] == 4);
  CHECK(finding["example"]["dlid"] == 6);
  CHECK(found["status"] == 1);
}

TEST_CASE("check_routes: each kind of fault") {
  Tree tree;
  SECTION("a dead port") {
    tree.fabric.node(leaf1).switch_info.linear_fdb_top = 63;
    tree.fabric.node(spine).lft[6] = 7;
    const json finding = tree.found({}, 1)["unicast"]["findings"][0];
    CHECK((finding["fault"] == "dead_port" || finding["fault"] == "no_entry"));
  }
  SECTION("a loop") {
    tree.fabric.node(spine).lft[6] = 1;
    CHECK_THAT(tree.check({}, 1).out, contains("  loop: LID 6 (") && contains(" in a circle: "));
    CHECK(tree.found({}, 1)["unicast"]["findings"][0]["cycle"].size() == 2);
  }
  SECTION("a wrong node") {
    tree.fabric.node(leaf1).lft[6] = 2;
    CHECK_THAT(tree.check({}, 1).out, contains("  wrong_node: port 2 of ") && contains("LID 6"));
  }
  SECTION("a multicast port without a link, and a forgotten leaf") {
    tree.fabric.node(spine).mft[group] = {1};
    const json found = tree.found({}, 1);
    REQUIRE(found["multicast"]["findings"].size() == 1);
    CHECK(found["multicast"]["findings"][0]["fault"] == "not_reached");
    CHECK(found["multicast"]["findings"][0]["lids"] == json::parse("[49157]"));
    CHECK_THAT(tree.check({}, 1).out, contains("  not_reached: of MLID 0xc005 4 pairs of members get nothing"));
  }
}

TEST_CASE("check_routes: a table that was not read leaves pairs open, and is no finding") {
  Tree tree;
  tree.fabric.node(leaf1).faults.ignores = smp::LinearForwardingTable::attribute_id;
  const json found = tree.found({}, 4);
  CHECK(found["unicast"]["findings"].empty());
  REQUIRE(found["unicast"]["not_read"].size() == 1);
  CHECK(found["unicast"]["not_read"][0]["node_guid"] == tree.guid(leaf1));
  CHECK(found["unicast"]["unknown_count"] == 4 + 2 + 4);
  CHECK(found["credit_loops"]["verdict"] == "not_read");
  CHECK_THAT(tree.check({}, 4).out, contains("Credit loops: not known: forwarding tables were not read.\n"));
  // The routes that are not known may use any link.
  const std::string text = tree.check({"--load"}, 4).out;
  CHECK_THAT(text,
             contains("Load: of the 2 routes that are known, links between switches carry 0 to 0 in one direction, 0.0 on average.\n"));
  CHECK_THAT(text, !contains("carry nothing") && !contains("; most"));
  const json load = tree.found({"--load"}, 4)["load"]["switch_links"];
  for (const char* key : {"least", "greatest", "mean", "unused"}) CHECK(load[key].is_null());
}

TEST_CASE("check_routes: a ring has credit loops with one SL, and none with SLs that change") {
  Ring ring;
  CHECK(ring.found({}, 1)["credit_loops"]["verdict"] == "possible");
  const json found = ring.found({"--sl", "2"}, 1);
  CHECK(found["credit_loops"]["verdict"] == "found");
  REQUIRE(found["credit_loops"]["loops"].size() == 1);
  const json& loop = found["credit_loops"]["loops"][0];
  REQUIRE(loop["channels"].size() == 3);
  REQUIRE(loop["witnesses"].size() == 3);
  CHECK(loop["channels"][0]["port_num"] == 2);
  CHECK(loop["channels"][0]["vl"] == 2);
  CHECK_THAT(ring.check({"--sl", "2"}, 1).out,
             contains("Credit loops: found: ") && contains("port 2 of ") && contains(" VL 2, held by packets from LID "));
  const std::string levels = ring.file("psl", ring.levels());
  CHECK(ring.found({"--psl", levels})["credit_loops"]["verdict"] == "free_for_used_sls");
  CHECK_THAT(ring.check({"--psl", levels}).out, contains("none is possible with the SLs in use"));
}

TEST_CASE("check_routes: the SLs of the SA, one table for each source") {
  Ring ring;
  ibtest::FakeSa sa(ring.fabric);
  CHECK(ring.found({"--ask-sa"}, 1)["credit_loops"]["verdict"] == "found");  // SL 0 for all
  std::size_t tables = 0;
  for (const auto& query : sa.asked) {
    if (query.attribute != sa::PathRecord::attribute_id) continue;
    ++tables;
    CHECK((query.component_mask & 8) != 0);  // the SGID
  }
  CHECK(tables == 3);
  sa.path_lie = [&sa](sa::PathRecord& path) {
    const Gid from = sa::PathRecord::unpack(sa.asked.back().record).sgid;  // hosts have GUIDs in the order of the ring
    path.sl = path.dgid.guid() < from.guid() ? 1 : 0;
  };
  CHECK(ring.found({"--ask-sa"})["credit_loops"]["verdict"] == "free_for_used_sls");
}

TEST_CASE("check_routes: where the SA does not answer, the SLs are not known, and all else is") {
  Ring ring;
  ibtest::FakeSa sa(ring.fabric);
  sa.silent = true;
  const Outcome told = ring.check({"--ask-sa"}, 1);
  CHECK_THAT(told.out, contains("all arrive") && contains("Credit loops: possible: the SLs of 6 pairs are not known"));
  CHECK_THAT(told.err, contains("E: The SLs of some pairs, or of all, are not known: "));
  sa.silent = false;
  sa.status = 0x0200;  // it refuses
  CHECK(ring.found({"--ask-sa"}, 1)["credit_loops"]["verdict"] == "possible");
}

TEST_CASE("check_routes: SLtoVL tables are read only for ports in circles") {
  Ring ring;
  std::vector<std::uint32_t> asked;
  ring.fabric.network.tamper = [&asked](Bytes request, std::optional<FakeFabric::Answer> answer) -> std::vector<FakeFabric::Answer> {
    if (load_be<std::uint16_t>(&request[16]) == smp::SLToVLMappingTable::attribute_id)
      asked.push_back(load_be<std::uint32_t>(&request[20]));
    if (!answer) return {};
    return {*answer};
  };
  ring.check({"--sl", "0"}, 1);
  std::ranges::sort(asked);
  CHECK(asked == std::vector<std::uint32_t>{0x102, 0x102, 0x102, 0x302, 0x302, 0x302});
  asked.clear();
  ring.fabric.node(1).faults.status = mad::status::invalid_attribute_or_modifier;
  ring.fabric.node(1).faults.status_attribute = smp::SLToVLMappingTable::attribute_id;
  CHECK(ring.found({"--sl", "0"}, 4)["credit_loops"]["verdict"] == "not_read");
  CHECK(asked.size() == 6);  // once, though multicast is judged, too
  asked.clear();
  ring.fabric.node(1).lft[ring.lid(0)] = 3;  // no way passes all of the ring any more
  ring.check();
  CHECK(asked.empty());
}

TEST_CASE("check_routes: --sa takes no table for zeros of which the SA has no record") {
  Ring ring;
  ibtest::FakeSa sa(ring.fabric);  // it has no SLtoVL mapping tables: zeros would join all SLs on one VL
  const json open = parsed(ibtool(ring.fabric, {"check_routes", "--sa", "--sl", "0-3", "--json"}));
  CHECK(open["credit_loops"]["verdict"] == "not_read");
  CHECK(open["unicast"]["arrived_count"] == 6);
  const Outcome told = ibtool(ring.fabric, {"check_routes", "--sa", "--sl", "0-3"});
  CHECK(told.status == 4);
  CHECK_THAT(told.err, contains("The SA has no ") && contains("SLToVLMappingTableRecord of "));

  sa.lie = [](std::uint16_t attribute, std::vector<ibtest::FakeSa::Record>& records) {
    if (attribute == sa::LinearForwardingTableRecord::attribute_id) records.erase(records.begin());
  };
  const json lost = parsed(ibtool(ring.fabric, {"check_routes", "--sa", "--json"}));
  CHECK(lost["unicast"]["findings"].empty());
  CHECK(lost["unicast"]["not_read"].size() == 1);
  CHECK(lost["credit_loops"]["verdict"] == "not_read");
}

TEST_CASE("check_routes: files give what the fabric gives, without InfiniBand") {
  Tree tree;
  tree.fabric.node(spine).lft[6] = 1;
  const std::string topology = tree.file("topology", Words{"ibnetdiscover", "--discovery=DR"});
  const std::string linear = tree.file("linear", Words{"dump_lfts", "--discovery=DR"});
  const std::string multicast = tree.file("multicast", Words{"dump_mfts", "--discovery=DR"});
  const json live = tree.found({"--load"}, 1);
  tree.fabric.node(spine).faults.silent = true;
  const json stored = tree.found({"--load", "--topology", topology, "--lfts", linear, "--lfts", multicast}, 1);
  for (const char* key : {"hop_histogram", "load", "credit_loops"}) CHECK(stored[key] == live[key]);
  CHECK(stored["unicast"]["findings"][0]["lids"] == live["unicast"]["findings"][0]["lids"]);
  CHECK(stored["multicast"]["mlid_count"] == 1);
}

TEST_CASE("check_routes: of a LID that a file lists twice the last counts, and a line says so") {
  Tree tree;
  const std::string topology = tree.file("topology", Words{"ibnetdiscover", "--discovery=DR"});
  std::string text = ibtool(tree.fabric, {"dump_lfts", "--discovery=DR"}).out;
  const std::size_t row = text.find("\n     6 ");
  INFO(text);
  REQUIRE(row != std::string::npos);
  text.insert(row + 1, "     6 009 : (unknown node and type)\n");
  const Outcome told = tree.check({"--unicast", "--topology", topology, "--lfts", tree.file("linear", text)});
  CHECK_THAT(told.err, contains("linear:") && contains("twice"));
  CHECK_THAT(told.out, contains("all arrive"));
}

TEST_CASE("check_routes: a snapshot answers as the fabric does") {
  Ring ring;
  const std::string file = ring.directory.file("snapshot");
  const ibtest::FakeSa sa(ring.fabric);
  const Outcome taken = ibtool(ring.fabric, {"snapshot", file, "--skip", "counters,details"});
  INFO(taken.err);
  REQUIRE((taken.status == 0 || taken.status == 4));
  const json live = ring.found({"--sl", "0", "--load"}, 1);
  const json stored = ring.found({"--sl", "0", "--load", "--from", file}, 1);
  CHECK(stored["unicast"] == live["unicast"]);
  CHECK(stored["credit_loops"] == live["credit_loops"]);
  CHECK(stored["load"] == live["load"]);
}

TEST_CASE("check_routes: names from the fabric are escaped") {
  Tree tree;
  tree.fabric.node(spine).lft[6] = 255;
  tree.fabric.node(host2).description[0] = 0x1b;
  tree.fabric.node(spine).description[0] = 0x1b;
  const Outcome told = tree.check({}, 1);
  CHECK_THAT(told.out, contains("\\x1b"));
  CHECK(told.out.find('\x1b') == std::string::npos);
}

TEST_CASE("check_routes: options that exclude each other, and unexpected operands") {
  Tree tree;
  for (const Words& words : std::vector<Words>{{"--unicast", "--multicast"},
                                               {"--sl", "0", "--ask-sa"},
                                               {"--sl", "0", "--psl", "x"},
                                               {"--psl", "x", "--ask-sa"},
                                               {"--topology", "x"},
                                               {"--topology", "x", "--lfts", "x", "--from", "x"},
                                               {"--multicast", "--load"},
                                               {"--sl", "16"},
                                               {"--sl", "4-2"},
                                               {"--sl", ""},
                                               {"--lfts", "/nonexistent"},
                                               {"--psl", "/nonexistent"},
                                               {"more"}}) {
    const Outcome told = tree.check(words, 2);
    CHECK(told.out.empty());
    CHECK_FALSE(told.err.empty());
  }
}

TEST_CASE("check_routes: files with all that can be wrong") {
  Tree tree;
  const json found = tree.found(ibtest::stored_routes(), 1);
  const json& unicast = found["unicast"];
  REQUIRE(unicast["findings"].size() == 2);
  CHECK(unicast["findings"][0]["fault"] == "no_entry");
  CHECK(unicast["findings"][0]["lids"] == json::parse("[14]"));
  REQUIRE(unicast["not_read"].size() == 1);
  CHECK(unicast["not_read"][0]["node_guid"] == "0000:0000:0000:0013");
  CHECK(unicast["not_read"][0]["pair_count"] == 3 + 1);  // what host 3 sends, and what host 0 sends to it
  CHECK(unicast["unknown_count"] == 4);
  CHECK(found["credit_loops"]["verdict"] == "not_read");
  REQUIRE(found["credit_loops"]["loops"].size() == 1);
  CHECK(found["credit_loops"]["loops"][0]["channels"][0]["vl"].is_null());
  std::vector<std::string> faults;
  for (const json& row : found["multicast"]["findings"]) faults.push_back(row["fault"]);
  std::ranges::sort(faults);
  CHECK(faults == std::vector<std::string>{"loop", "not_reached"});
  const std::string text = tree.check(ibtest::stored_routes(), 1).out;
  CHECK_THAT(text, contains("not read: the table of 0000:0000:0000:0013 'ring3'"));
  CHECK_THAT(text, contains("Credit loops: not known: SLtoVL mapping tables, which decide, were not read.\n"));
  CHECK_THAT(text, contains("\nCredit loops with multicast, of the groups that are trees: not known: "));
  CHECK_THAT(
      text,
      contains(
          "that wait for each other; a shortest circle of them:\n    port 1 of 0000:0000:0000:0010 'ring0', held by packets from LID"));
}

}  // namespace tools_check_routes_tests
