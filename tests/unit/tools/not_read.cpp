// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// What commands say of what they could not read: of switches that do not answer, and of snapshots that do not have it.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <nlohmann/json.hpp>

#include "iba-gen/pm.hpp"
#include "iba-gen/smp.hpp"
#include "iba/text.hpp"
#include "support/catch.hpp"
#include "support/counting_fabric.hpp"
#include "support/fake_fabric.hpp"
#include "support/fake_sa.hpp"
#include "support/program.hpp"
#include "support/temporary_directory.hpp"

namespace tools_not_read_tests {

using namespace ib;
using ibtest::contains;
using ibtest::diags;
using ibtest::FakeFabric;
using ibtest::ibtool;
using nlohmann::json;

namespace {

constexpr FakeFabric::NodeId spine = 0, leaf0 = 1, leaf1 = 4;
constexpr std::uint16_t group = 0xc005;

/// A spine (LID 1), two leaves (2 and 5), two hosts on each (3 and 4, 6 and 7). The program runs at host 0 (LID 3).
struct Site {
  FakeFabric fabric = FakeFabric::fat_tree(2, 1, 2);
  ibtest::FakeSa sa{fabric};
  ibtest::TemporaryDirectory directory;

  Site() {
    for (const FakeFabric::NodeId id : {spine, leaf0, leaf1}) fabric.node(id).switch_info.multicast_fdb_cap = 64;
    fabric.node(leaf0).mft[group] = {1, 2, 3};
    fabric.node(spine).mft[group] = {1, 2};
    fabric.node(leaf1).mft[group] = {1, 3};
  }
  /// A snapshot without some parts.
  std::string snapshot(const std::string& skipped) {
    std::string file = directory.file("without-" + skipped);
    CHECK(ibtool(fabric, {"snapshot", file, "--skip", skipped}).status == 0);
    return file;
  }
  json parsed(std::vector<std::string> words, int status) {
    words.emplace_back("--json");
    const ibtest::Outcome outcome = ibtool(fabric, std::move(words));
    INFO(outcome.out << outcome.err);
    CHECK(outcome.status == status);
    return json::parse(outcome.out);
  }
};

/// The number of lines of errors.
std::size_t errors_of(const std::string& text) {
  std::size_t found = 0;
  for (std::size_t at = text.find("E: "); at != std::string::npos; at = text.find("\nE: ", at + 1)) ++found;
  return found;
}

}  // namespace

TEST_CASE("ibtracert: a table that was not read is not a table without an entry") {
  Site s;
  s.fabric.node(spine).faults.ignores = smp::LinearForwardingTable::attribute_id;
  const auto told = ibtool(s.fabric, {"ibtracert", "6"});
  CHECK(told.status == 4);
  CHECK_THAT(told.err, contains("Where ") && contains(" sends LID 6 is not known: ") && !contains("has no entry"));
  CHECK_THAT(told.out, contains("[3] -> Switch "));
  const json found = s.parsed({"ibtracert", "6"}, 4);
  CHECK(found["traces"][0]["end"] == "not_read");
  CHECK(found["traces"][0]["hops"].size() == 2);
  // The way back begins where the way there breaks off.
  const auto back = ibtool(s.fabric, {"ibtracert", "6", "3"});
  CHECK(back.status == 3);
  CHECK_THAT(back.err, contains("The way to the source ") && contains(" is not known: ") && !contains("There is no way"));
  const auto theirs = diags(s.fabric, {"ibtracert", "3", "6"});
  CHECK(theirs.status == 255);
  CHECK_THAT(theirs.err, contains("can't find a route from src to dest: Where ") && contains("sends LID 6 is not known"));
}

TEST_CASE("ibtracert: a switch whose SwitchInfo was not read") {
  Site s;
  s.fabric.node(spine).faults.ignores = smp::SwitchInfo::attribute_id;
  CHECK(s.parsed({"ibtracert", "6"}, 4)["traces"][0]["end"] == "not_read");
  CHECK(s.parsed({"ibtracert", "-m", "0xc005", "6"}, 4)["traces"][0]["end"] == "not_read");
}

TEST_CASE("ibtracert: a multicast tree that is not wholly known") {
  Site s;
  s.fabric.node(spine).faults.ignores = smp::MulticastForwardingTable::attribute_id;
  const auto told = ibtool(s.fabric, {"ibtracert", "-m", "0xc005", "6"});
  CHECK(told.status == 4);
  CHECK_THAT(told.err, contains("Where the group is sent by ") && contains(" is not known: "));
  CHECK(s.parsed({"ibtracert", "-m", "0xc005", "6"}, 4)["traces"][0]["end"] == "not_read");
  CHECK(ibtool(s.fabric, {"ibtracert", "-m", "0xc005", "4"}).status == 0);  // this branch is known
  s.fabric.node(spine).faults.ignores = 0;
  s.fabric.node(leaf1).faults.silent = true;
  CHECK(s.parsed({"ibtracert", "-m", "0xc005", "6"}, 4)["traces"][0]["end"] == "not_read");
  s.fabric.node(leaf1).faults.silent = false;
  CHECK(s.parsed({"ibtracert", "-m", "0xc005", "7"}, 1)["traces"][0]["end"] == "no_way");  // all is known, and it is no member
  s.fabric.node(leaf0).faults.ignores = smp::MulticastForwardingTable::attribute_id;
  CHECK(s.parsed({"ibtracert", "-m", "0xc005", "0,1", "3"}, 4)["traces"][0]["end"] == "not_read");
}

TEST_CASE("check_lft_balance: tables that were not read are not judged") {
  Site s;
  for (const unsigned lid : {3, 4, 6, 7}) s.fabric.node(spine).lft[lid] = 1;  // all to one leaf
  s.fabric.network.lid_routing = false;
  CHECK(ibtool(s.fabric, {"check_lft_balance", "--discovery=DR"}).status == 1);
  const auto table = ibtool(
      s.fabric, {"check_lft_balance", "--discovery=DR", "--columns", "node_description,balanced,routed_lids", "--sort=-routed_lids"});
  CHECK(table.status == 1);
  CHECK_THAT(table.out, ibtest::starts_with("NODE ") && contains("no           4\n"));
  s.fabric.node(spine).faults.ignores = smp::LinearForwardingTable::attribute_id;
  const auto told = ibtool(s.fabric, {"check_lft_balance", "--discovery=DR", "-a"});
  CHECK(told.status == 4);
  CHECK_THAT(told.out, !contains("Unbalanced"));
  const json found = s.parsed({"check_lft_balance", "--discovery=DR"}, 4);
  REQUIRE(found["switches"].size() == 3);
  unsigned unknown = 0;
  for (const json& row : found["switches"]) {
    if (!row["balanced"].is_null()) continue;
    ++unknown;
    CHECK(row["ports"].is_null());
    CHECK(row["node_guid"] == to_text(s.fabric.node(spine).info.node_guid));
  }
  CHECK(unknown == 1);
}

TEST_CASE("check_lft_balance: a switch that sends LIDs to nodes that did not answer is not judged by the others") {
  constexpr FakeFabric::NodeId host2 = 5, host3 = 6;
  for (const FakeFabric::NodeId silent : {host2, host3}) {
    Site s;
    for (const unsigned lid : {3, 4, 6, 7}) s.fabric.node(spine).lft[lid] = 1;
    s.fabric.node(spine).lft[silent + 1U] = 2;
    CHECK(ibtool(s.fabric, {"check_lft_balance", "--discovery=DR"}).status == 1);
    s.fabric.node(silent).faults.silent = true;
    const auto told = ibtool(s.fabric, {"check_lft_balance", "--discovery=DR", "-a"});
    INFO(told.out << told.err);
    CHECK(told.status == 4);
    CHECK_THAT(told.out, !contains("Unbalanced"));
    s.fabric.node(spine).lft[silent + 1U] = 255;  // the subnet manager has seen that it is gone
    CHECK(ibtool(s.fabric, {"check_lft_balance", "--discovery=DR"}).status == 1);
  }
}

TEST_CASE("dump_fts: what was not read is null") {
  Site s;
  s.fabric.node(leaf1).faults.ignores = smp::SwitchInfo::attribute_id;
  json found = s.parsed({"dump_fts", "--discovery=DR"}, 4);
  REQUIRE(found["switches"].size() == 3);
  for (const json& row : found["switches"]) {
    const bool is_silent = row["node_guid"] == to_text(s.fabric.node(leaf1).info.node_guid);
    for (const char* key : {"capacity", "top", "routes"}) CHECK(row[key].is_null() == is_silent);
  }
  found = s.parsed({"dump_mfts", "--discovery=DR"}, 4);
  for (const json& row : found["switches"]) {
    const bool is_silent = row["node_guid"] == to_text(s.fabric.node(leaf1).info.node_guid);
    for (const char* key : {"capacity", "groups", "default_out_ports"}) CHECK(row[key].is_null() == is_silent);
  }
  const auto text = ibtool(s.fabric, {"dump_fts", "--discovery=DR"});
  CHECK_THAT(text.out, contains(": not read\n") && !contains("\n0 valid lids dumped"));
}

TEST_CASE("a snapshot without tables: one line says what it was taken without") {
  Site s;
  const std::string file = s.snapshot("lft,mft");
  const std::string said = fmt::format("E: The snapshot '{}' has no ", file);
  for (const std::vector<std::string>& words : std::vector<std::vector<std::string>>{{"ibtracert", "6"},
                                                                                     {"ibtracert", "6", "3"},
                                                                                     {"ibtracert", "-m", "0xc005", "6"},
                                                                                     {"check_lft_balance"},
                                                                                     {"dump_fts"},
                                                                                     {"dump_mfts"},
                                                                                     {"ibroute", "2"},
                                                                                     {"ibroute", "-M", "2"},
                                                                                     {"ibfindnodesusing", "2", "3"}}) {
    std::vector<std::string> line = words;
    line.insert(line.begin() + 1, {"--from", file});
    const auto told = ibtool(s.fabric, line);
    INFO(fmt::format("{}\n", fmt::join(line, " ")) << told.out << told.err);
    CHECK(told.status == 3);
    CHECK_THAT(told.err, contains("has no ") && contains("take one without --skip "));
    CHECK(errors_of(told.err) == 1);
    CHECK_THAT(told.out, !contains("dumped") && !contains("Switch Port Usage"));
  }
}

TEST_CASE("a snapshot without counters and without tables of the SA: one line for each cause") {
  ibtest::CountingFabric s;
  const ibtest::TemporaryDirectory directory;
  const auto snapshot = [&](const std::string& skipped) {
    std::string file = directory.file("without-" + skipped);
    CHECK(ibtool(s.fabric, {"snapshot", file, "--skip", skipped}).status == 0);
    return file;
  };
  std::string file = snapshot("counters,details,sa");
  for (const char* command : {"ibdatacounters", "ibqueryerrors"}) {
    const auto told = ibtool(s.fabric, {command, "--from", file});
    INFO(told.out << told.err);
    CHECK(told.status == 3);
    CHECK(errors_of(told.err) == 1);
    CHECK_THAT(told.err, contains("take one without --skip counters"));
  }
  const auto errors = ibtool(s.fabric, {"ibcheckerrors", "--up", "--from", file});
  CHECK(errors.status == 4);
  INFO(errors.err);
  CHECK(errors_of(errors.err) == 2);  // the SA's tables, and the counters
  file = snapshot("sa");
  const auto state = ibtool(s.fabric, {"ibcheckstate", "--up", "--from", file});
  INFO(state.out << state.err);
  CHECK(state.status == 4);
  CHECK_THAT(state.out, !contains("FAILED") && contains("0 ports with bad state found"));
  CHECK(errors_of(state.err) == 1);
  CHECK_THAT(state.err, contains("take one without --skip sa"));
  const json found = json::parse(ibtool(s.fabric, {"ibcheckstate", "--up", "--json", "--from", file}).out);
  REQUIRE(found["unreachable"].size() == 1);
  CHECK(found["unreachable"][0]["reason"] == "not_read");
}

TEST_CASE("a silent SA is one cause: nodes whose records were not read are not judged") {
  ibtest::CountingFabric s;
  s.sa.silent = true;
  for (const char* command : {"ibcheckstate", "ibcheckwidth", "ibchecknet", "ibcheckerrors"}) {
    const auto told = ibtool(s.fabric, {command, "--up"});
    INFO(command << '\n' << told.out << told.err);
    CHECK(told.status == 4);
    CHECK_THAT(told.out, !contains("FAILED") && contains("## Summary: 0 nodes checked, 0 bad nodes found\n"));
    CHECK_THAT(told.err, contains(": nodes are not checked") && !contains("W: SL 0"));
    CHECK(errors_of(told.err) == 1);
    const json found = json::parse(ibtool(s.fabric, {command, "--up", "--json"}).out);
    for (const json& row : found["checks"]) CHECK(row["check"] != "node");
    REQUIRE(found["unreachable"].size() == 1);
    CHECK(found["unreachable"][0]["reason"] == "no_answer");
  }
}

TEST_CASE("ibfindnodesusing: a link whose other end does not answer is a link") {
  Site s;
  constexpr FakeFabric::NodeId host1 = 3;
  s.fabric.node(host1).faults.silent = true;
  const auto told = ibtool(s.fabric, {"ibfindnodesusing", "2", "2"});
  CHECK(told.status == 3);
  CHECK_THAT(told.err, contains("E: Port 2 has a link, and it is not known what is behind it\n"));
}

TEST_CASE("ibfindnodesusing: of a switch that does not answer PortInfo it is not known whether a port has a link") {
  Site s;
  s.fabric.node(leaf0).faults.ignores = smp::PortInfo::attribute_id;
  const auto told = ibtool(s.fabric, {"ibfindnodesusing", to_text(s.fabric.node(leaf0).info.node_guid), "2", "--discovery=DR"});
  CHECK(told.status == 3);
  CHECK_THAT(told.err, contains("E: It is not known whether port 2 has a link: its PortInfo was not read\n"));
  CHECK_THAT(told.err, contains(" about PortInfo of ports 0-") && !contains("No link"));
}

TEST_CASE("a snapshot without counters: a check of one port has no verdict") {
  ibtest::CountingFabric s;
  const ibtest::TemporaryDirectory directory;
  const std::string file = directory.file("without-counters");
  CHECK(ibtool(s.fabric, {"snapshot", file, "--skip", "counters,details"}).status == 0);
  for (const char* command : {"ibcheckerrs", "ibdatacounts"}) {
    const auto told = ibtool(s.fabric, {command, "1", "2", "--skip-sl", "--from", file});
    INFO(told.out << told.err);
    CHECK(told.status == 3);
    CHECK(told.out.empty());
    CHECK(errors_of(told.err) == 1);
  }
}

TEST_CASE("failures about all ports, and about the tables of a switch, name no port") {
  Site s;
  s.fabric.node(leaf1).faults.ignores = smp::LinearForwardingTable::attribute_id;
  const auto tables = ibtool(s.fabric, {"dump_fts"});
  CHECK_THAT(tables.err, contains("about LinearForwardingTable.") && !contains("port"));
  json found = s.parsed({"dump_fts"}, 4);
  REQUIRE(found["unreachable"].size() == 1);
  CHECK(found["unreachable"][0]["port_num"].is_null());
  ibtest::CountingFabric f;
  f.pma.service().faults.status = 0x1c;
  f.pma.service().faults.status_attribute = pm::PortCountersExt::attribute_id;
  for (const char* command : {"ibqueryerrors", "ibdatacounters"}) {
    const auto counters = ibtool(f.fabric, {command});
    CHECK(counters.status == 4);
    CHECK_THAT(counters.err, contains("refuses to report its ") && !contains("port 0") && !contains("port 255"));
    found = json::parse(ibtool(f.fabric, {command, "--json"}).out);
    REQUIRE(found["unreachable"].size() == 1);
    CHECK(found["unreachable"][0]["port_num"].is_null());
  }
}

}  // namespace tools_not_read_tests
