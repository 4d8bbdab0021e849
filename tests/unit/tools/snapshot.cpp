// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// ibtool snapshot on a fabric in memory: what it reads and says, parts, silent nodes, wrong words, files that can not be written.
#include "snapshot/snapshot.hpp"

#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "iba-gen/pm.hpp"
#include "iba-gen/smp.hpp"
#include "iba/queries.hpp"
#include "snapshot/part_requests.hpp"
#include "support/catch.hpp"
#include "support/counting_fabric.hpp"
#include "support/fake_clock.hpp"
#include "support/program.hpp"
#include "support/small_fabric.hpp"
#include "support/temporary_directory.hpp"
#include "tools/perfquery/readings.hpp"

namespace tools_snapshot_tests {

using namespace ib;
using ibtest::contains;
using ibtest::ibtool;
using ibtest::Outcome;
using nlohmann::json;

namespace {

struct Bench : ibtest::CountingFabric {
  Outcome take(std::vector<std::string> words) {
    words.insert(words.begin(), {"snapshot", file});
    return ibtool(fabric, std::move(words));
  }
  json taken(std::vector<std::string> words) {
    words.emplace_back("--json");
    const Outcome outcome = take(std::move(words));
    INFO(outcome.out << outcome.err);
    return json::parse(outcome.out);
  }
  bool has_part(std::string_view name) const { return snapshot::Snapshot(file).has_part(name); }

  ibtest::TemporaryDirectory directory;
  std::string file = directory.file("now");
};

std::vector<std::string> names_of(const json& document) {
  std::vector<std::string> names;
  for (const json& part : document.at("parts")) names.push_back(part.at("part"));
  return names;
}

snapshot::AnswerKey counters_of(subnet::NodeIndex node, std::uint8_t port) {
  return {.mgmt_class = 4, .attribute = pm::PortCounters::attribute_id, .node = node, .selector = port};
}

}  // namespace

TEST_CASE_METHOD(Bench, "a snapshot holds all parts, and the last line says what was read") {
  pma.count(3, "symbol_error_counter") = 7;
  const Outcome outcome = take({});
  CHECK(outcome.err.empty());
  CHECK(outcome.status == 0);
  CHECK_THAT(outcome.out,
             ibtest::starts_with("3 nodes, 8 ports, ") && contains(" answers in " + file + ", ") && ibtest::ends_with(" kB\n"));
  struct stat about {};
  REQUIRE(::stat(file.c_str(), &about) == 0);
  CHECK((about.st_mode & 0777U) == 0600U);
  snapshot::Snapshot stored(file);
  for (const snapshot::PartInfo& part : snapshot::all_parts) CHECK(stored.has_part(part.name) == is_usual(part.part));
  const subnet::SweptSubnet kept = stored.read_fabric(&fabric.end_port());
  const subnet::Subnet& subnet = kept.subnet;
  REQUIRE(subnet.nodes().size() == 3);
  const auto answer = stored.find(counters_of(subnet.find_node(Guid{0x100}), 3));
  REQUIRE(answer);
  std::vector<std::uint8_t> payload = answer->payload;
  payload.resize(pm::PortCounters::wire_size);
  CHECK(pm::PortCounters::unpack(payload).symbol_error_counter == 7);
}

TEST_CASE_METHOD(Bench, "each part says what was requested and what came of it") {
  pma.unsupported.insert(pm::PortXmitDataSL::attribute_id);
  const json document = taken({});
  CHECK(document["file"] == file);
  CHECK(document["file_bytes"] == std::filesystem::file_size(file));
  CHECK(document["node_count"] == 3);
  CHECK(document["port_count"] == 8);
  CHECK(document["unreachable"].empty());
  CHECK(document["status"] == 0);
  std::vector<std::string> all;
  for (const snapshot::PartInfo& part : snapshot::all_parts) {
    if (is_usual(part.part)) all.emplace_back(part.name);
  }
  CHECK(names_of(document) == all);
  for (const json& part : document["parts"]) {
    CAPTURE(part.dump());
    CHECK(part["failures"] == 0);
    if (part["part"] == "sl2vl") CHECK((part["planned"] == 28 && part["answered"] == 28 && part["refused"] == 0));
    // The switch has no AdaptiveRoutingInfo.
    if (part["part"] == "lft") CHECK((part["planned"] == 2 && part["answered"] == 1 && part["refused"] == 1));
    // One PMA lacks an attribute of 18, and says so once for its six PortSelects.
    if (part["part"] == "details") CHECK(part["planned"] == 18 * 17);
    if (part["part"] == "details") CHECK(part["answered"].get<int>() + part["refused"].get<int>() == 18 * 17 - 5);
  }
}

TEST_CASE_METHOD(Bench, "parts are chosen by --only, --skip and --also") {
  CHECK(names_of(taken({"--only", "lft", "--also", "phy"})) == std::vector<std::string>{"topology", "lft", "phy"});
  CHECK(names_of(taken({"--only", "lft,counters"})) == std::vector<std::string>{"topology", "lft", "counters"});
  CHECK(has_part("lft"));
  CHECK_FALSE(has_part("mft"));
  CHECK(pma.times(pm::PortCounters::attribute_id) == 6);
  CHECK(pma.times(pm::PortXmitDataSL::attribute_id) == 0);
  const auto rest = names_of(taken({"--skip", "details,sl2vl", "--skip=sa,counters"}));
  CHECK(std::ranges::find(rest, "counters") == rest.end());
  CHECK(std::ranges::find(rest, "details") != rest.end());  // the last of a repeated option wins
  CHECK(names_of(taken({"--only", "topology"})) == std::vector<std::string>{"topology"});
  CHECK(names_of(taken({"--only", "lft,mft", "--skip", "mft"})) == std::vector<std::string>{"topology", "lft"});
}

TEST_CASE_METHOD(Bench, "with -v a line for each part") {
  const Outcome outcome = take({"-v", "--only", "lft,sl2vl,sa"});
  CHECK_THAT(outcome.out,
             contains("lft         1 answer, 1 refused, 0.0 s\n") && contains("sl2vl       28 answers, 0.0 s\n") && contains(" tables"));
}

TEST_CASE_METHOD(Bench, "--stats prints the plan of each part") {
  CHECK_THAT(take({"--only", "sl2vl", "--stats"}).err, contains("mads planned: 28 for sl2vl\n"));
}

TEST_CASE_METHOD(Bench, "nodes that do not answer are listed once and counted, and the status is 4") {
  SECTION("a node") {
    fabric.node(other).faults.silent = true;
    const Outcome outcome = take({"--skip", "sa"});
    CHECK(outcome.status == 4);
    CHECK_THAT(outcome.err, contains("E: No answer from beyond 2 ports: port 2 of 0000:0000:0000:0100 'leaf', port 3 of "
                                     "0000:0000:0000:0100 'leaf'.\n"));
    CHECK(std::ranges::count(outcome.err, '\n') == 1);
    CHECK_THAT(outcome.out, ibtest::ends_with("; no answer from beyond 2 ports\n"));
  }
  SECTION("only its PMA") {
    other_pma.service().faults.silent = true;
    const json document = taken({"--skip", "sa"});
    CHECK(document["status"] == 4);
    CHECK(document["unreachable"].size() == 2);  // one agent a port
    const Outcome outcome = take({"--skip", "sa"});
    CHECK_THAT(outcome.out, ibtest::ends_with("; 1 node answered only in part\n"));
    CHECK(has_part("counters"));
  }
  SECTION("the SA") {
    sa.silent = true;
    const Outcome outcome = take({"--only", "lft,sa"});
    CHECK(outcome.status == 4);
    CHECK(outcome.err_after_wait() == "E: The subnet administrator does not answer.\n");
    CHECK_THAT(outcome.out, ibtest::ends_with("; not complete\n"));
    sa.asked.clear();
    take({"--only", "sa,counters"});
    CHECK(sa.asked.size() == 4);  // the tries of one query
    const Outcome live = ibtool(fabric, {"saquery", "NR"}), stored = ibtool(fabric, {"saquery", "NR", "--from", file});
    CHECK(live.status == 3);
    CHECK(stored.status == live.status);
    CHECK(stored.err == live.err_after_wait());
  }
}

TEST_CASE_METHOD(Bench, "a subnet manager that hangs: its SA is waited for once, and its SMInfo meanwhile") {
  fabric.node(leaf).sm_info.emplace();
  fabric.node(leaf).ports.at(0).info.capability_mask |= smp::capability_mask::is_sm;
  const auto took = [this] {
    ibtest::FakeClock clock;
    ibtest::Outside outside;
    outside.clock = &clock;
    const auto begin = clock.now();
    CHECK(ibtool(fabric, {"snapshot", file}, outside).status == 4);
    return clock.now() - begin;
  };
  sa.silent = true;
  const auto without_sa = took();
  fabric.node(leaf).faults.ignores = smp::SMInfo::attribute_id;
  CHECK(took() == without_sa);
}

TEST_CASE_METHOD(Bench, "a fabric without a subnet manager") {
  for (const auto id : {leaf, here, other}) {
    for (auto& port : fabric.node(id).ports) port.info.lid = port.info.master_sm_lid = Lid{};
  }
  fabric.attach(here);
  sa.silent = true;
  const Outcome outcome = take({});
  CHECK(outcome.status == 4);
  CHECK_THAT(outcome.err, contains("subnet administrator"));
}

TEST_CASE_METHOD(Bench, "wrong words") {
  const auto complaint = [&](std::vector<std::string> words) {
    const Outcome outcome = ibtool(fabric, std::move(words));
    CHECK(outcome.status == 2);
    CHECK(outcome.out.empty());
    return outcome.err;
  };
  CHECK_THAT(complaint({"snapshot"}), contains("FILE"));
  CHECK_THAT(complaint({"snapshot", file, "more"}), contains("more"));
  CHECK_THAT(complaint({"snapshot", file, "--only", "ltf"}), contains("a snapshot has no part 'ltf'") && contains("lft"));
  CHECK_THAT(complaint({"snapshot", file, "--skip", "lft,"}), contains("a snapshot has no part ''"));
  CHECK_THAT(complaint({"snapshot", file, "--skip", "topology"}), contains("always has the topology"));
  CHECK_THAT(complaint({"snapshot", file, "--sa"}), contains("--sa"));
  CHECK_FALSE(std::filesystem::exists(file));
}

TEST_CASE_METHOD(Bench, "a file that cannot be written is one line, and nothing is requested") {
  const auto complaint = [&](const std::string& name) {
    const Outcome outcome = ibtool(fabric, {"snapshot", name});
    CHECK(outcome.status != 0);
    CHECK(outcome.out.empty());
    CHECK(std::ranges::count(outcome.err, '\n') == 1);
    CHECK(fabric.node(leaf).answered == 0);
    return outcome.err;
  };
  CHECK_THAT(complaint("/nowhere/snapshot"), contains("/nowhere/snapshot"));
  std::ofstream(file) << "not a snapshot, and dear to somebody\n";
  complaint(file);
  std::string kept;
  std::getline(std::ifstream(file), kept);
  CHECK(kept == "not a snapshot, and dear to somebody");
}

TEST_CASE_METHOD(Bench, "a run that fails leaves the older snapshot as it was") {
  REQUIRE(take({"--only", "lft"}).status == 0);
  fabric.node(here).faults.silent = true;
  CHECK(take({}).status == 3);
  CHECK(has_part("lft"));
  CHECK_FALSE(has_part("counters"));
  CHECK_FALSE(std::filesystem::exists(file + ".new"));
}

TEST_CASE_METHOD(Bench, "a full disk") {
  const Outcome outcome = ibtool(fabric, {"snapshot", file}, {.full_disk = true});
  CHECK(outcome.status == 3);
  CHECK(has_part("topology"));  // what was read is there; only the last line is lost
}

TEST_CASE("every attribute that perfquery shows is one that a snapshot reads") {
  std::set<std::int32_t> read{pm::PortCounters::attribute_id, pm::PortCountersExt::attribute_id};
  for (const QueryInfo& query : all_queries())
    if (query.part == "details") read.insert(query.info->attribute_id);
  std::set<std::int32_t> shown;
  for (const auto& set : tools::perfquery::counter_sets()) shown.insert(set.info().attribute_id);
  CHECK(read == shown);
}

TEST_CASE_METHOD(Bench, "a key that was set is hidden offline as it was live, and with -K an error says that the file does not have it") {
  fabric.node(leaf).ports[2].info.m_key = 0x1122334455667788;
  const std::vector<std::string> words{"smpquery", "portinfo", "1", "2"};
  const auto with = [&words](std::vector<std::string> more) {
    std::vector<std::string> all = words;
    all.insert(all.end(), more.begin(), more.end());
    return all;
  };
  const Outcome live = ibtool(fabric, words), live_json = ibtool(fabric, with({"--json"})), shown = ibtool(fabric, with({"-K"}));
  CHECK_THAT(live.out, contains("<not displayed>"));
  CHECK_THAT(shown.out, contains("0x1122334455667788"));
  CHECK(take({}).status == 0);
  CHECK(ibtool(fabric, with({"--from", file})).out == live.out);
  CHECK(ibtool(fabric, with({"--from", file, "--json"})).out == live_json.out);
  const Outcome without = ibtool(fabric, with({"--from", file, "-K"}));
  CHECK_THAT(without.err, contains("was taken without -K: keys that are set are shown as zero"));
  CHECK_THAT(without.out, contains("Mkey:............................0x0000000000000000") && !contains("11223344"));
  CHECK(take({"-K"}).status == 0);
  CHECK(ibtool(fabric, with({"--from", file, "-K"})).out == shown.out);
  CHECK(ibtool(fabric, with({"--from", file})).out == live.out);
}

TEST_CASE_METHOD(Bench, "A snapshot of another fabric, or of nearly nothing, stays unless --force is given") {
  ibtest::TwoWayFabric two;
  REQUIRE(ibtool(two.fabric, {"snapshot", file, "--only", "topology"}).status == 0);
  ibtest::FakeFabric alone;
  alone.attach(alone.add_ca(0x900, 1, "alone"));
  const auto stored_nodes = [this] { return snapshot::Snapshot(file).node_guids().size(); };
  const Outcome refused = ibtool(alone, {"snapshot", file});
  CHECK(refused.status == 3);
  CHECK(refused.out.empty());
  CHECK(refused.err ==
        "E: '" + file + "' has 4 nodes, none of which is among the 1 node of this fabric: it is not replaced (--force replaces it)\n");
  CHECK(stored_nodes() == 4);
  CHECK(ibtool(alone, {"snapshot", file, "--force", "--only", "topology"}).status == 0);
  CHECK(stored_nodes() == 1);
  CHECK_FALSE(std::filesystem::exists(file + "~"));
}

TEST_CASE_METHOD(Bench, "A snapshot of which less than half was seen stays as FILE~") {
  take({});
  fabric.node(leaf).faults.silent = true;
  const Outcome outcome = take({"--only", "topology"});
  CHECK(outcome.status == 4);
  CHECK_THAT(outcome.err, contains("W: '" + file + "' has 3 nodes, only 1 of which was seen now: it is kept as '" + file + "~'\n"));
  CHECK(snapshot::Snapshot(file).node_guids().size() == 1);
  CHECK(snapshot::Snapshot(file + "~").node_guids().size() == 3);
}

TEST_CASE_METHOD(Bench, "Attributes that a snapshot lacks are reported without a warning about SLs") {
  REQUIRE(take({"--only", "topology"}).status == 0);
  for (const char* command : {"ibdatacounters", "ibqueryerrors"}) {
    const Outcome outcome = ibtool(fabric, {command, "--from", file});
    CAPTURE(command);
    CHECK_THAT(outcome.err, contains("has no part 'counters'"));
    CHECK_FALSE(contains("SL 0").match(outcome.err));
  }
}

TEST_CASE_METHOD(Bench, "A SwitchInfo that was not answered is said to be so, from a file as well") {
  fabric.node(leaf).faults.ignores = smp::SwitchInfo::attribute_id;
  CHECK(take({"--skip", "sa"}).status == 4);
  const Outcome outcome = ibtool(fabric, {"dump_lfts", "--from", file});
  CHECK(outcome.status == 4);
  CHECK_FALSE(contains("has no SwitchInfo").match(outcome.err));
  CHECK_THAT(outcome.err, contains("leaf") && contains("SwitchInfo"));
}

TEST_CASE_METHOD(Bench, "A switch that does not answer one table has the others in the file") {
  fabric.node(leaf).faults.ignores = smp::LinearForwardingTable::attribute_id;
  const json document = taken({"--skip", "sa"});
  CHECK(document["status"] == 4);
  CHECK(document["unreachable"].size() == 1);
  for (const json& part : document["parts"]) {
    CAPTURE(part.dump());
    CHECK(part["failures"] == (part["part"] == "lft" ? 1 : 0));
    if (part["part"] == "sl2vl") CHECK(part["answered"] == part["planned"]);
  }
}

}  // namespace tools_snapshot_tests
