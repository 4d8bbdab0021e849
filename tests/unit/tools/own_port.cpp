// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The own end port that is not Active. Down: ibtool's commands say so in one line and ask nothing; health and the exporter have it as a
// finding. Initialize, Armed: SMPs go on. infiniband-diags' names know nothing of it.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "sample_lines.hpp"
#include "support/catch.hpp"
#include "support/fake_sysfs.hpp"
#include "support/program.hpp"
#include "support/small_fabric.hpp"
#include "support/temporary_directory.hpp"
#include "unit/tools/health_fabric.hpp"

namespace tools_own_port_tests {

using namespace ib;
using ibtest::contains;
using ibtest::diags;
using ibtest::ibtool;
using ibtest::Outcome;
using ibtest::Outside;
using ibtest::SmallFabric;
using ibtest::starts_with;
using nlohmann::json;

namespace {

using Words = std::vector<std::string>;

const std::string down = "fake0/1 is Down (physical state Polling): nothing beyond this host can be reached";

/// The small fabric, whose host has lost its cable, and a snapshot of the time before.
struct Cut : SmallFabric {
  Cut() {
    REQUIRE(ibtool(fabric, {"snapshot", before, "--only", "topology"}).status == 0);
    fabric.set_link(here, 1, false);
  }
  ibtest::TemporaryDirectory directory;
  std::string before = directory.file("before.ibss");

  std::string content(const std::string& file) const {
    std::ostringstream text;
    text << std::ifstream(file, std::ios::binary).rdbuf();
    return text.str();
  }
};

const Outside initialize{.port_state = "2: INIT"}, armed{.port_state = "3: ARMED"};

}  // namespace

TEST_CASE("own port: a command that looks beyond it says in one line that it is Down") {
  Cut cut;
  std::vector<Words> commands{{"ibping", "-S"}, {"ibsysstat", "-S"}, {"rdma_bw", "-p", "4445"}, {"ibtracert", "here", "other"}};
  for (const char* name : {"iblinkinfo", "ibqueryerrors", "perfquery"}) commands.push_back({name, "other"});
  for (const auto& [arguments, words] : ibtest::our_lines()) {
    if (!ibtest::has_sample("looks-here", words[0])) commands.push_back(words);
  }
  const std::size_t sets = cut.fabric.sets.size();
  for (const Words& words : commands) {
    const Outcome outcome = ibtool(cut.fabric, words);
    CAPTURE(words, outcome.out, outcome.err);
    CHECK(outcome.status == 3);
    CHECK(outcome.out.empty());
    const std::size_t last = outcome.err.find("E: ");
    CHECK(outcome.err.substr(std::min(last, outcome.err.size())) == "E: " + down + "\n");
    CHECK((last == 0 || outcome.err.starts_with("D: ")));  // with -v
  }
  CHECK(cut.fabric.sets.size() == sets);
  CHECK(json::parse(ibtool(cut.fabric, {"iblinkinfo", "--json"}).out)["error"] == down);
}

TEST_CASE("own port: the port at the other end is named where a stored fabric knows it, also before a name is looked up") {
  Cut cut;
  const std::string other_end = "; it was linked to port 1 of 'leaf 1' 0000:0000:0000:0100 (in '" + cut.before + "')\n";
  for (const Words& words : {Words{"health", "--baseline", cut.before}, {"health", "other", "--since", cut.before}}) {
    const Outcome outcome = ibtool(cut.fabric, words);
    CHECK(outcome.out.substr(0, outcome.out.find('\n')) == down + other_end.substr(0, other_end.size() - 1) + ".");
  }
  for (const Words& words : {Words{"ibqueryerrors", "other"}, {"check_routes"}, {"ibqueryerrors", "--refresh-cache"}}) {
    const Outcome outcome = ibtool(cut.fabric, words, {.cache = cut.before});
    CAPTURE(words, outcome.err);
    CHECK(outcome.status == 3);
    CHECK_THAT(outcome.err, contains("E: " + down + other_end));
  }
}

TEST_CASE("own port: what stays on this host and what is stored are as ever") {
  Cut cut;
  CHECK_THAT(ibtool(cut.fabric, {"smpquery", "-D", "NI", "0"}).out, contains("0000:0000:0000:0200"));
  CHECK_THAT(ibtool(cut.fabric, {"smpquery", "-D", "PI", "0", "1"}).out, contains("Down"));
  const Outcome reset = ibtool(cut.fabric, {"ibportstate", "-D", "0", "1", "enable"});
  CAPTURE(reset.err);
  CHECK(cut.fabric.sets.size() == 1);
  for (const Words& words : {Words{"ibstat"},
                             {"ibaddr"},
                             {"iblinkinfo", "--from", cut.before},
                             {"iblinkinfo", "--load-cache", cut.before},
                             {"health", "--from", cut.before, "--interval", "0", "--only", "link-slow"}}) {
    const Outcome outcome = ibtool(cut.fabric, words);
    CAPTURE(words, outcome.err);
    CHECK(outcome.status == 0);
    CHECK_THAT(outcome.err, !contains("fake0/1 is Down"));
  }
}

TEST_CASE("own port: infiniband-diags' names print what they would print without looking at it") {
  Cut cut;
  for (const Words& words : {Words{"iblinkinfo"},
                             {"ibnetdiscover"},
                             {"ibswitches"},
                             {"ibqueryerrors"},
                             {"ibtracert", "2", "3"},
                             {"sminfo"},
                             {"perfquery", "3"},
                             {"smpquery", "NI", "3"},
                             {"saquery", "NR"},
                             {"ibportstate", "-D", "0", "1"}}) {
    const Outcome looked = diags(cut.fabric, words), unaware = diags(cut.fabric, words, {.port_state = "4: ACTIVE"});
    CAPTURE(words);
    CHECK(looked.out == unaware.out);
    CHECK(looked.status == unaware.status);
    CHECK_THAT(looked.err, !contains("is Down"));
  }
}

TEST_CASE("own port: snapshot keeps yesterday's file") {
  Cut cut;
  const std::string yesterday = cut.content(cut.before);
  const Outcome outcome = ibtool(cut.fabric, {"snapshot", cut.before});
  CHECK(outcome.status == 3);
  CHECK_THAT(outcome.err, starts_with("E: " + down + "; it was linked to port 1 of 'leaf 1'"));
  CHECK(cut.content(cut.before) == yesterday);
  CHECK(ibtool(cut.fabric, {"snapshot", cut.directory.file("new")}).status == 3);
  CHECK_FALSE(std::filesystem::exists(cut.directory.file("new")));
}

TEST_CASE("own port: it is the only finding of health, whatever is requested") {
  Cut cut;
  const std::string state = cut.directory.file("state");
  for (const Words& more : {Words{},
                            {"other"},
                            {"nobody is called so"},
                            {"3"},
                            {"--interval", "0"},
                            {"--routes"},
                            {"--only", "sm-none"},
                            {"--sa"},
                            {"--nodes", "other"},
                            {"--port", "local"},
                            {"--port", "local", "--state", state},
                            {"--baseline", cut.before},
                            {"--load-cache", cut.before},
                            {"--cache", cut.before},
                            {"--fail-on", "error"}}) {
    Words words{"health", "--json"};
    words.insert(words.end(), more.begin(), more.end());
    const Outcome outcome = ibtool(cut.fabric, words);
    CAPTURE(words, outcome.out, outcome.err);
    CHECK(outcome.status == 1);
    const json found = json::parse(outcome.out);
    REQUIRE(found["findings"].size() == 1);
    const json& finding = found["findings"][0];
    CHECK(found["verdict"] == "findings");
    CHECK(finding["check"] == "own-port");
    CHECK(finding["level"] == "error");
    CHECK(finding["confidence"] == "sure");
    CHECK(finding["ends"][0]["node_guid"] == "0000:0000:0000:0200");
    CHECK(finding["ends"][0]["port_num"] == 1);
    CHECK_THAT(finding["text"].get<std::string>(),
               contains("portState is Down; portPhysicalState is Polling. It is fake0/1 of this host."));
    CHECK(finding["remedy"] == "Look at the cable at both ends, and at the switch port.");  // it is not disabled
    for (const json& check : found["checks"]) CHECK((check["check_state"] == "done") == (check["check"] == "own-port"));
  }
  CHECK_FALSE(std::filesystem::exists(state));
  const json by_phy = json::parse(ibtool(cut.fabric, {"health", "--phy", "--json"}).out);
  for (const json& check : by_phy["checks"]) CHECK(check["reason"] != "needs --phy");
  const Outcome text = ibtool(cut.fabric, {"health", "--baseline", cut.before});
  CHECK(text.status == 1);
  CHECK_THAT(text.out,
             contains("\nerror: own-port (sure): 'node01 fake0' 0000:0000:0000:0200 port 1 -- 'leaf 1' 0000:0000:0000:0100 port 1\n"));
  CHECK_THAT(text.out, !contains("node-gone") && !contains("sm-none (") && !contains("Start a subnet manager"));
  CHECK(ibtool(cut.fabric, {"health", "--skip", "own-port"}).status == 4);
}

TEST_CASE("own port: health has the other end in its finding, whichever file knows it") {
  Cut cut;
  const auto ends = [&cut](const Words& more, const Outside& outside = {}) {
    Words words{"health", "--json"};
    words.insert(words.end(), more.begin(), more.end());
    const Outcome outcome = ibtool(cut.fabric, words, outside);
    CAPTURE(words, outcome.err);
    return json::parse(outcome.out)
        .value(json::json_pointer(more.size() == 3 ? "/readings/0/findings/0/ends" : "/findings/0/ends"), json());
  };
  for (const json& found :
       {ends({"--baseline", cut.before}), ends({"--since", cut.before}), ends({"--load-cache", cut.before}), ends({"--cache", cut.before}),
        ends({}, {.cache = cut.before}), ends({"--repeat", "--count", "1"}, {.cache = cut.before})}) {
    INFO(found.dump());
    REQUIRE(found.size() == 2);
    CHECK(found[1]["node_guid"] == "0000:0000:0000:0100");
    CHECK(found[1]["port_num"] == 1);
  }
  CHECK(ends({}).size() == 1);
}

TEST_CASE("own port: health --port local leaves the state of the last run as it was") {
  ibtest::health::Fabric f;
  const std::string state = f.directory.file("state");
  const auto content = [&state] {
    std::ostringstream text;
    text << std::ifstream(state).rdbuf();
    return text.str();
  };
  f.run({"--port", "local", "--state", state});
  const std::string before = content();
  REQUIRE_FALSE(before.empty());
  f.fabric.set_link(f.here, 1, false);
  CHECK_THAT(f.run({"--port", "local", "--state", state}, 1).out, starts_with(down) && contains("own-port"));
  CHECK(content() == before);
}

TEST_CASE("own port: health --repeat reports it in each round") {
  Cut cut;
  const Outcome outcome = ibtool(cut.fabric, {"health", "other", "--repeat", "--count", "2", "--json"});
  CAPTURE(outcome.out, outcome.err);
  CHECK(outcome.status == 1);
  const json rounds = json::parse(outcome.out)["readings"];
  REQUIRE(rounds.size() == 2);
  for (const json& round : rounds) CHECK(round["findings"][0]["check"] == "own-port");
}

TEST_CASE("own port: without a description in sysfs the node has its GUID") {
  ibtest::FakeSysfs sysfs;
  sysfs.device("mlx5_7", "0000:0000:0000:0200");
  sysfs.port("mlx5_7", {.state = "1: DOWN", .phys_state = "3: Disabled", .umad = "umad0"});
  sysfs.write("class/infiniband/mlx5_7/node_desc", "\n");
  const Outcome outcome = ibtool({"health"});
  CHECK(outcome.status == 1);  // no device file was opened for it
  CHECK_THAT(outcome.out, starts_with("mlx5_7/1 is Down (physical state Disabled): ") &&
                              contains("error: own-port (sure): 0000:0000:0000:0200 port 1\n") && !contains("''"));
}

TEST_CASE("own port: the exporter's page has an error and the finding, of a run that ends too") {
  Cut cut;
  const Outcome outcome = ibtool(cut.fabric, {"exporter", "--once"});
  CHECK(outcome.status == 3);
  CHECK(outcome.err == "E: " + down + "\n");
  CHECK_THAT(outcome.out, contains("infiniband_exporter_collect_errors{collector=\"ibnetdiscover-runonce\"} 1\n") &&
                              contains("infiniband_health_findings{check=\"own-port\",level=\"error\"} 1\n") &&
                              contains("infiniband_health_finding_info{check=\"own-port\"") && !contains("sm-none"));
  const std::string page = cut.directory.file("page.prom");
  CHECK(ibtool(cut.fabric, {"exporter", "--textfile", page}).status == 3);
  CHECK(cut.content(page) == outcome.out);
}

TEST_CASE("own port: in Initialize and Armed SMPs go on, with one line, and what needs LIDs is refused with the reason") {
  SmallFabric small;
  for (const auto& [outside, word] : {std::pair{initialize, "Initialize"}, std::pair{armed, "Armed"}}) {
    const std::string is = fmt::format("fake0/1 is {} (physical state Link UP): ", word);
    for (const Words& words : {Words{"ibnetdiscover"},
                               {"iblinkinfo"},
                               {"smpquery", "NI", "0,1,2"},
                               {"smpquery", "NI", "other"},
                               {"smpquery", "NI", "-G", "0x301"},
                               {"ibswitches"}}) {
      const Outcome outcome = ibtool(small.fabric, words, outside);
      CAPTURE(words, outcome.err);
      CHECK(outcome.status == 0);
      CHECK(outcome.err == "W: " + is + "nothing but SMPs passes until a subnet manager makes it Active\n");
    }
    const std::string refusal = "E: " + is + "GMPs, and queries to the SA, need a port that a subnet manager has made Active\n";
    for (const Words& words : {Words{"perfquery", "3"},
                               {"perfquery"},
                               {"ibping", "3"},
                               {"ibping", "-S"},
                               {"saquery", "NR"},
                               {"iblinkinfo", "--sa"},
                               {"vendstat", "-N", "3"}}) {
      const Outcome outcome = ibtool(small.fabric, words, outside);
      CAPTURE(words, outcome.out, outcome.err);
      CHECK(outcome.status == 3);
      CHECK(outcome.out.empty());
      CHECK(outcome.err == refusal);
    }
    const Outcome counters = ibtool(small.fabric, {"ibqueryerrors"}, outside);
    CHECK_THAT(counters.err, contains(refusal));
    CHECK(std::ranges::count(counters.err, '\n') == 2);  // the line on SMPs, and one for all that was not read
    CHECK(counters.status == 3);
    const Outcome checks = ibtool(small.fabric, {"ibcheckerrors"}, outside);
    CHECK_THAT(checks.err, contains(refusal));
    CHECK(std::ranges::count(checks.err, '\n') == 2);  // one for the records of the SA and for the counters
    CHECK(ibtool(small.fabric, {"smpquery", "-D", "NI", "0"}, outside).err.empty());
  }
}

TEST_CASE("own port: a host whose port is in Initialize is judged as before") {
  ibtest::health::Fabric f;
  const Outcome outcome = ibtool(f.fabric, {"health", "--interval", "0", "--json"}, {.port_state = "2: INIT"});
  CAPTURE(outcome.err);
  const json found = json::parse(outcome.out);
  CHECK(ibtest::health::check(found, "sm-none")["check_state"] == "done");
  CHECK(ibtest::health::check(found, "counter-stuck")["check_state"] == "not_read");
  for (const json& finding : found["findings"]) CHECK(finding["check"] != "own-port");
}

TEST_CASE("own port: a RoCE or EFA port is called so, and a state of its own hinders nothing") {
  ibtest::FakeSysfs sysfs;
  sysfs.device("roce");
  sysfs.port("roce", {.state = "1: DOWN", .link_layer = "Ethernet", .umad = "umad0"});
  sysfs.device("efa", "0002:c903:0000:2000", "7: unspecified");
  sysfs.port("efa", {.gid = "fe80::5", .link_layer = "Unspecified"});
  const auto check = [](const std::string& device, const Words& words, std::string_view is) {
    Words all = words;
    all.insert(all.end(), {"-C", device});
    const Outcome outcome = ibtool(all);
    CAPTURE(all, outcome.out);
    CHECK(outcome.status == 3);
    CHECK(outcome.out.empty());
    CHECK_THAT(outcome.err, starts_with(fmt::format("E: {}/1 is {}", device, is)));
  };
  const std::vector<Words> of_subnets{{"ibnetdiscover"},
                                      {"iblinkinfo", "--sa"},
                                      {"saquery", "NR"},
                                      {"sminfo"},
                                      {"smpquery", "NI", "3"},
                                      {"ibqueryerrors"},
                                      {"smpquery", "-D", "NI", "0"},
                                      {"health"},
                                      {"ibtracert", "1", "2"},
                                      {"vendstat", "-N", "3"},
                                      {"smpquery", "NI", "a_name"}};
  for (const Words& words : of_subnets) check("roce", words, "a RoCE port (Ethernet)");
  for (const Words& words : of_subnets) check("efa", words, "not an InfiniBand port (its link layer is 'Unspecified', as with EFA)");
  for (const Words& words : {Words{"perfquery"}, {"ibping", "-S"}, {"rdma_bw", "-p", "4447"}})
    check("efa", words, "not an InfiniBand port");
}

}  // namespace tools_own_port_tests
