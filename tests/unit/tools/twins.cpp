// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Every command in both dialects on a fabric in which two switches claim one GUID, and two hosts another one; and what compares such a
// fabric with an earlier one of it.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cerrno>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "sample_lines.hpp"
#include "support/catch.hpp"
#include "support/fake_pma.hpp"
#include "support/fake_sa.hpp"
#include "support/program.hpp"
#include "support/temporary_directory.hpp"
#include "unit/tools/health_fabric.hpp"

namespace tools_twins_tests {

using namespace ib;
using ibtest::contains;
using ibtest::diags;
using ibtest::FakeFabric;
using ibtest::ibtool;
using ibtest::Line;
using nlohmann::json;

namespace {

/// Two switches (LIDs 1 and 2) that are linked, the host of the test (3) and another one (4); a twin of the second switch (5), and one of
/// the other host (6), which is linked to it.
struct Site {
  FakeFabric fabric;
  FakeFabric::NodeId near = fabric.add_switch(0x100, 6, "near"), far = fabric.add_switch(0x200, 4, "far");
  ibtest::FakeSa sa{fabric};
  FakeFabric::NodeId here = fabric.add_ca(0x300, 1, "here"), other = fabric.add_ca(0x400, 2, "other");
  FakeFabric::NodeId far_twin = fabric.add_switch(0x200, 4, "far twin"), other_twin = fabric.add_ca(0x400, 2, "other twin");
  std::vector<std::unique_ptr<ibtest::FakePma>> agents;
  ibtest::TemporaryDirectory directory;
  std::string said;  ///< by the last run of checks()

  Site() {
    fabric.link(near, 1, here, 1);
    fabric.link(near, 2, far, 2);
    fabric.link(near, 3, far, 3);
    fabric.link(far, 4, other, 1);
    fabric.link(near, 4, far_twin, 1);
    fabric.link(far_twin, 3, other_twin, 1);
    fabric.assign_lids();
    fabric.attach(here);
    for (const auto node : {other, other_twin}) {
      fabric.node(node).sm_info.emplace();
      for (unsigned port = 1; port <= 2; ++port) fabric.node(node).ports.at(port).info.capability_mask |= smp::capability_mask::is_sm;
    }
    fabric.node(near).mft[0xc001] = {1, 2};
    for (const auto& [node, first, ports] :
         {std::tuple{near, 0U, 7U}, {far, 0U, 5U}, {other, 1U, 2U}, {far_twin, 0U, 5U}, {other_twin, 1U, 2U}})
      agents.push_back(std::make_unique<ibtest::FakePma>(fabric, node, first, ports));
  }

  ibtest::health::Meanwhile clock{};  // of snapshots and of what is compared with them later
  ibtest::Outcome health(Line words) {
    words.insert(words.begin(), "health");
    words.emplace_back("--json");
    return ibtool(fabric, words, {.clock = &clock});
  }
  std::multiset<std::string> checks(Line words) {
    const ibtest::Outcome outcome = health(std::move(words));
    said = outcome.out + outcome.err;
    INFO(said);
    std::multiset<std::string> ids;
    const json found = json::parse(outcome.out);
    for (const json& finding : found["findings"]) ids.insert(finding["check"].get<std::string>());
    return ids;
  }
  std::string snapshot(const std::string& name) {
    const std::string file = directory.file(name);
    const auto done = ibtool(fabric, {"snapshot", file}, {.clock = &clock});
    clock.advance(std::chrono::seconds(10));
    INFO(done.err);
    CHECK((done.status == 0 || done.status == 4));
    return file;
  }
  std::string listing(const std::string& name) {
    const std::string file = directory.file(name);
    std::ofstream(file) << ibtool(fabric, {"ibnetdiscover"}).out;
    return file;
  }
};

void check_run(const Line& words, const ibtest::Outcome& done, std::set<int> known) {
  INFO(fmt::format("{}", fmt::join(words, " ")) << '\n' << done.out.substr(0, 2000) << done.err.substr(0, 2000));
  CHECK(known.contains(done.status));
  for (const char* word : {"std::", "vector::_M_", "basic_string::", "map::at", "bad_alloc", "waits for something"})
    CHECK(done.err.find(word) == std::string::npos);
}

}  // namespace

TEST_CASE("every command line is run on a fabric with twins") {
  for (const auto& [arguments, words] : ibtest::our_lines()) {
    Site site;
    check_run(words, ibtool(site.fabric, words), {0, 1, 2, 3, 4});
  }
  for (const auto& [arguments, words] : ibtest::diags_lines()) {
    Site site;
    std::set<int> known{0, 1, 2, 255};
    if (words[0] == "saquery") known.insert({EIO, EINVAL, ENONET, ETIMEDOUT});
    check_run(words, diags(site.fabric, words), std::move(known));
  }
}

TEST_CASE_METHOD(Site, "twins: a fabric is as it was, whatever compares it") {
  const std::string before = snapshot("before"), text = listing("text");
  CHECK(ibtool(fabric, {"ibnetdiscover"}).out.find("other twin") != std::string::npos);
  for (const std::string& file : {before, text}) {
    const auto same = ibtool(fabric, {"subnet_diff", file});
    INFO(same.out << same.err);
    CHECK_THAT(same.out, contains("Current subnet has 6 nodes, reference subnet has 6 nodes\n"));
    CHECK_THAT(same.out, contains("Current subnet has 6 links, reference subnet has 6 links\n") && !contains(" more "));
  }
  CHECK(ibtool(fabric, {"subnet_diff", text, text}).status == 0);
  CHECK(ibtool(fabric, {"ibnetdiscover", "--diff", before}).out.empty());
  for (const char* check : {"node-gone", "node-new", "node-renamed", "link-gone", "link-new", "link-moved", "changed"})
    CHECK(checks({"--baseline", before}).count(check) == 0);
}

TEST_CASE_METHOD(Site, "twins: what happened to one of them is said of that one") {
  const std::string before = snapshot("before"), text = listing("text");
  SECTION("the cable to the first one goes, and its twin stays") {
    fabric.set_link(far, 4, false);
    const auto found = json::parse(health({"--baseline", before}).out)["findings"];
    std::vector<std::string> gone;
    for (const json& finding : found) {
      if (finding["check"] == "node-gone") gone.push_back(finding["ends"][0]["node_description"].get<std::string>());
    }
    CHECK(gone == std::vector<std::string>{"other"});
    for (const std::string& file : {before, text}) {
      const auto differs = ibtool(fabric, {"subnet_diff", file});
      CHECK(differs.status == 1);
      CHECK_THAT(differs.out, contains("Reference subnet has 1 more nodes than the current subnet:\n   0000:0000:0000:0400\n"));
    }
    CHECK_THAT(ibtool(fabric, {"ibnetdiscover", "--diff", before}).out, contains("other") && !contains("other twin"));
  }
  SECTION("the cable to the twin goes") {
    fabric.set_link(far_twin, 3, false);
    const auto ids = checks({"--baseline", before});
    INFO(said);
    CHECK(ids.count("node-gone") == 1);
  }
  SECTION("the twin has moved") {
    fabric.node(far_twin).ports[3].peer.reset();
    fabric.node(other_twin).ports[1].peer.reset();
    fabric.link(near, 6, other_twin, 1);
    const auto ids = checks({"--baseline", before});
    CHECK(ids.count("node-gone") == 0);
    CHECK(ids.count("node-new") == 0);
  }
  SECTION("the twin switch goes, with the host behind it") {
    fabric.set_link(near, 4, false);
    const auto ids = checks({"--baseline", before});
    INFO(said);
    CHECK(ids.count("region-gone") == 1);
    CHECK(ids.count("node-gone") == 0);
  }
  // The window of --since goes from the snapshot to now, and no counter of a twin is compared with that of the other one.
  agents[2]->count(1, "symbol_error_counter") = 70;
  CHECK(checks({"--since", before}).count("symbol-errors") == 0);
}

TEST_CASE_METHOD(Site, "twins: rounds of --repeat, in which a cable goes and comes") {
  const auto rounds = ibtool(fabric, {"health", "--repeat", "--interval", "1", "--count", "2", "--json"});
  INFO(rounds.out << rounds.err);
  CHECK(rounds.status == 1);
  const json readings = json::parse(rounds.out)["readings"];
  REQUIRE(readings.size() == 2);
  constexpr std::string_view of_baseline[] = {"node-gone", "node-new", "link-gone", "link-new", "link-moved", "changed"};
  for (const json& finding : readings[1]["findings"])
    CHECK(std::ranges::find(of_baseline, finding["check"].get<std::string>()) == std::end(of_baseline));
}

TEST_CASE_METHOD(Site, "twins: iblinkinfo of a LID shows the switch with that LID, also where routes from a LID are not answered") {
  for (const bool combined : {true, false}) {
    fabric.network.combined_routes = combined;
    CHECK_THAT(ibtool(fabric, {"iblinkinfo", "2"}).out, contains("'far':") && !contains("'far twin':"));
    const auto twin = ibtool(fabric, {"iblinkinfo", std::to_string(fabric.node(far_twin).ports.at(0).info.lid.value)});
    INFO(twin.err);
    CHECK_THAT(twin.out, contains("'far twin':") && !contains("'far':"));
  }
}

TEST_CASE_METHOD(Site, "twins: a GUID that two nodes have names both where one is read, and is refused where one is set") {
  for (const Line& words : {Line{"ibprintca", "0x400"}, {"ibprintswitch", "0x200"}}) {
    const auto read = ibtool(fabric, words);
    INFO(fmt::format("{}", fmt::join(words, " ")) << read.out << read.err);
    CHECK(read.status == 3);
    CHECK_THAT(read.err,
               contains("Several nodes claim the GUID ") && contains(" twin' (LID ") && contains("give a LID or a directed route"));
  }
  const std::size_t sets = fabric.sets.size();
  const auto set = ibtool(fabric, {"set_port_state", "--disable", "0000:0000:0000:0200@4", "--discovery=DR"});
  INFO(set.out << set.err);
  CHECK(set.status == 2);
  CHECK_THAT(set.err, contains("Several nodes claim the GUID 0000:0000:0000:0200, ") && !contains("Could not find path"));
  CHECK(fabric.sets.size() == sets);
}

}  // namespace tools_twins_tests
