// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Targets by name in ibtool's dialect: the site's name or the description of a node, whole or a part of it that no other has; by the SA,
// and by a sweep where there is none.
#include <unistd.h>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdlib>
#include <fstream>

#include "iba-gen/sa.hpp"
#include "iba-gen/smp.hpp"
#include "iba/wire.hpp"
#include "support/catch.hpp"
#include "support/fake_sa.hpp"
#include "support/program.hpp"

namespace tools_target_names_tests {

using ibtest::contains;
using ibtest::FakeFabric;
using ibtest::FakeSa;
using ibtest::ibtool;
using ibtest::starts_with;

namespace {

/// Two switches (LIDs 1 and 2), the host of the test (3) and two others, one of them with two ports that are linked (4 and 5, 6).
struct Named {
  FakeFabric fabric;
  FakeFabric::NodeId near, far, here, dual, other;

  Named() {
    near = fabric.add_switch(0x100, 4, "leaf 1");
    far = fabric.add_switch(0x200, 4, "leaf 12");
    here = fabric.add_ca(0x300, 1, "here");
    dual = fabric.add_ca(0x400, 2, "node07 HCA-1");
    other = fabric.add_ca(0x500, 1, "beef@rack4");
    fabric.link(near, 1, here, 1);
    fabric.link(near, 2, far, 2);
    fabric.link(near, 3, dual, 1);
    fabric.link(far, 3, dual, 2);
    fabric.link(far, 4, other, 1);
    fabric.assign_lids();
    fabric.attach(here);
  }
  void describe(FakeFabric::NodeId node, std::string_view text) {
    fabric.node(node).description = {};
    std::ranges::copy(text, fabric.node(node).description.begin());
  }
  std::string guid_at(const std::string& target) {
    const auto done = ibtool(fabric, {"smpquery", "NI", target});
    INFO(done.err);
    CHECK(done.status == 0);
    const std::size_t at = done.out.find("\nGuid:");
    return at == std::string::npos ? done.err : done.out.substr(done.out.find("0000:", at), 19);
  }
  void check() {
    CHECK(guid_at("node07 HCA-1") == "0000:0000:0000:0400");
    CHECK(guid_at("node07") == "0000:0000:0000:0400");
    CHECK(guid_at("leaf 1") == "0000:0000:0000:0100");  // the whole name, though it is a part of another one
    CHECK(guid_at("leaf 12") == "0000:0000:0000:0200");
    CHECK(guid_at("beef") == "0000:0000:0000:0500");
    CHECK(guid_at("beef@rack4") == "0000:0000:0000:0500");
    const auto many = ibtool(fabric, {"smpquery", "NI", "leaf"});
    CHECK(many.status == 2);
    CHECK(many.err_after_wait() ==
          "E: Invalid command line argument #2 'leaf' - several nodes have this in their names: 'leaf 1' (0000:0000:0000:0100), "
          "'leaf 12' (0000:0000:0000:0200): type a whole name in quotes, or a GUID\n");
    const auto unknown = ibtool(fabric, {"smpquery", "NI", "node99"});
    CHECK(unknown.status == 2);
    CHECK_THAT(unknown.err, contains("no node is called 'node99'"));
  }
};

}  // namespace

TEST_CASE_METHOD(Named, "a target is named by the SA's node records") {
  const FakeSa sa(fabric);
  check();
}

TEST_CASE_METHOD(Named, "a target is named by a sweep where no SA answers") { check(); }

TEST_CASE_METHOD(Named, "a target is named by a sweep where no subnet manager was yet") {
  fabric.node(here).ports.at(1).info.master_sm_lid = {};
  fabric.attach(here);
  check();
}

TEST_CASE_METHOD(Named, "a node without a LID is found by its route") {
  fabric.node(other).ports.at(1).info.lid = ib::Lid{};
  CHECK(guid_at("beef") == "0000:0000:0000:0500");
}

TEST_CASE_METHOD(Named, "two nodes of one name are distinguished by their GUIDs") {
  const FakeSa sa(fabric);
  fabric.node(far).description = fabric.node(near).description;
  CHECK_THAT(ibtool(fabric, {"smpquery", "NI", "leaf 1"}).err,
             contains("several nodes are called so: 'leaf 1' (0000:0000:0000:0100), 'leaf 1' (0000:0000:0000:0200)"));
}

TEST_CASE_METHOD(Named, "the site's names count, and what the node says of itself too") {
  const FakeSa sa(fabric);
  char map[] = "/tmp/target-names-XXXXXX";
  const int fd = mkstemp(map);
  REQUIRE(fd >= 0);
  close(fd);
  std::ofstream(map) << "0x400 \"storage west\"\n";
  for (const char* word : {"storage west", "west", "node07"}) {
    const auto done = ibtool(fabric, {"smpquery", "--node-name-map", map, "NI", word});
    CHECK_THAT(done.out, contains("0000:0000:0000:0400"));
  }
  unlink(map);
}

TEST_CASE_METHOD(Named, "NAME@PORT, and wrong addresses that are no names") {
  const FakeSa sa(fabric);
  const auto planned = ibtool(fabric, {"set_port_state", "-n", "--disable", "leaf 12@4", "--discovery=DR"});
  CHECK(planned.status == 0);
  CHECK_THAT(planned.out + planned.err, contains("0000:0000:0000:0200"));
  for (const char* word : {"0xc000", "70000", "1:2", "0,300", "IBPath(nosuch=1)"}) {
    fabric.network.gmp = nullptr;  // nobody is asked
    CHECK_THAT(ibtool(fabric, {"smpquery", "NI", word}).err, starts_with("E: Invalid command line argument #2") && !contains("is called"));
  }
  CHECK_THAT(ibtool(fabric, {"smpquery", "-L", "NI", "leaf 1"}).err, !contains("is called"));
}

TEST_CASE_METHOD(Named, "names stand in files of targets too") {
  const ibtest::FakeSysfs directory;
  const std::string file = directory.root() / "pairs";
  std::ofstream(file) << "here beef@rack4\nbeef \"leaf 12\"\n";
  const auto traced = ibtool(fabric, {"ibtracert", "--ports-file", file});
  INFO(traced.err);
  CHECK(traced.status == 0);
  CHECK_THAT(traced.out, contains("0000:0000:0000:0501"));
  std::ofstream(file) << "here nobody\n";
  const auto unknown = ibtool(fabric, {"ibtracert", "--ports-file", file});
  CHECK(unknown.status == 2);
  CHECK_THAT(unknown.err, contains("no node is called 'nobody'"));
}

TEST_CASE_METHOD(Named, "a name is looked up only when all operands are right") {
  for (const std::vector<std::string>& words : std::vector<std::vector<std::string>>{
           {"ibportstate", "beef", "nonsense"}, {"ibtracert", "beef", "0,300"}, {"smpquery", "NI", "beef", "7", "8"}}) {
    CAPTURE(words.front());
    const auto done = ibtool(fabric, words);
    CHECK(done.status == 2);
    for (std::size_t node = 0; node <= fabric.size(); ++node) CHECK(fabric.requests_to(node) == 0);
  }
}

TEST_CASE_METHOD(Named, "a GUID that the SA does not know is found by a sweep: a port's, a node's, a system's") {
  FakeSa sa(fabric);
  sa.lie = [](std::uint16_t attribute, std::vector<FakeSa::Record>& records) {
    if (attribute != ib::sa::NodeRecord::attribute_id && attribute != ib::sa::PathRecord::attribute_id) return;
    std::erase_if(records, [attribute](const FakeSa::Record& record) {
      if (attribute == ib::sa::PathRecord::attribute_id) return ib::sa::PathRecord::unpack(record).dlid == ib::Lid{6};
      return ib::wire::unpack_short<ib::sa::NodeRecord>(record).lid == ib::Lid{6};
    });
  };
  for (const char* word : {"0x0000000000000500", "0000:0000:0000:0500", "H-0000000000000501", "fe80::501"}) {
    CAPTURE(word);
    CHECK(guid_at(word) == "0000:0000:0000:0500");
  }
  const auto apart = ibtool(fabric, {"perfquery", "0000:0000:0000:0501"});
  CHECK(apart.status == 3);
  CHECK(apart.err == "E: fe80::501 is LID 6, and the SA gives no path to it from here: is it cut off, or in another partition?\n");
}

TEST_CASE_METHOD(Named, "without an SA a GUID is found by a sweep, and --sa sweeps nothing") {
  CHECK(guid_at("0000:0000:0000:0500") == "0000:0000:0000:0500");
  CHECK(guid_at("0000:0000:0000:0401") == "0000:0000:0000:0400");
  CHECK(ibtool(fabric, {"smpquery", "--sa", "NI", "0000:0000:0000:0500"}).status == 3);
  const auto several = ibtool(fabric, {"smpquery", "NI", "0000:0000:0000:0400"});
  CHECK(several.status == 3);
  CHECK_THAT(several.err_after_wait(), starts_with("E: GUID 0000:0000:0000:0400 is a node with 2 ports: name one of them"));
}

namespace {

std::size_t count(const std::string& text, std::string_view word) {
  std::size_t found = 0;
  for (std::size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) ++found;
  return found;
}

}  // namespace

TEST_CASE_METHOD(Named, "a command that reads takes a pattern, and runs once for each node") {
  const FakeSa sa(fabric);
  const auto both = ibtool(fabric, {"smpquery", "NI", "leaf*"});
  INFO(both.err);
  CHECK(both.status == 0);
  CHECK_THAT(both.out, starts_with("'leaf 1' (LID 1):\n") && contains("\n\n'leaf 12' (LID 2):\n") && contains("0000:0000:0000:0100") &&
                           contains("0000:0000:0000:0200"));
  const auto ports = ibtool(fabric, {"smpquery", "PI", "leaf*/2"});
  CHECK(ports.status == 0);
  CHECK(count(ports.out, "\n'leaf 1") == 1);
  const auto document = nlohmann::json::parse(ibtool(fabric, {"smpquery", "NI", "leaf*", "--json"}).out);
  REQUIRE(document["targets"].size() == 2);
  CHECK(document["targets"][0]["target"] == "leaf 1");
  CHECK(document["targets"][1]["target"] == "leaf 12");
  CHECK(document["targets"][1]["data"]["node_guid"] == "0000:0000:0000:0200");
  const auto table = ibtool(fabric, {"smpquery", "NI", "leaf*", "--format", "csv"});
  CHECK(count(table.out, "\r\n") == 3);
  CHECK_THAT(table.out, starts_with("target,"));
}

TEST_CASE_METHOD(Named, "every command that can read several nodes takes a pattern") {
  const FakeSa sa(fabric);
  for (const std::vector<std::string>& words : std::vector<std::vector<std::string>>{{"ibportstate", "leaf*", "2"},
                                                                                     {"query", "SubnGet", "SMPNodeInfo", "leaf*"},
                                                                                     {"ibtracert", "leaf*"},
                                                                                     {"ibtracert", "leaf*", "here"},
                                                                                     {"saquery", "NR", "leaf*"},
                                                                                     {"saquery", "PIR", "leaf*/2"},
                                                                                     {"saquery", "PIR", "endportLID=leaf*"},
                                                                                     {"saquery", "PR", "DLID=leaf*"}}) {
    CAPTURE(words);
    const auto done = ibtool(fabric, words);
    INFO(done.err);
    CHECK(done.status == 0);
    CHECK_THAT(done.out, starts_with("'leaf 1' (LID 1):\n") && contains("\n\n'leaf 12' (LID 2):\n"));
  }
  CHECK(count(ibtool(fabric, {"saquery", "PIR", "leaf*/2"}).out, "PortInfoRecord dump:") == 2);
  const auto two = ibtool(fabric, {"saquery", "LR", "leaf*/1", "leaf*"});
  CHECK(two.status == 2);
  CHECK_THAT(two.err, contains("one word may be a pattern of names, not two"));
  const auto endless = ibtool(fabric, {"ibping", "leaf*"});
  CHECK(endless.status == 2);
  CHECK_THAT(endless.err, contains("-c COUNT"));
}

TEST_CASE_METHOD(Named, "commands that read the whole fabric show the nodes that patterns fit") {
  const FakeSa sa(fabric);
  const auto switches = ibtool(fabric, {"ibprintswitch", "*1", "leaf?12", "here"});
  CHECK(switches.status == 3);
  CHECK_THAT(switches.err, contains("'here' (LID 3) is a channel adapter, not a switch"));
  const auto both = ibtool(fabric, {"ibprintswitch", "*1*", "0000:0000:0000:0200"});
  INFO(both.err);
  CHECK(both.status == 0);
  CHECK(count(both.out, "\nswitchguid=") == 3);
  CHECK_THAT(ibtool(fabric, {"ibprintca", "leaf*"}).err, contains("No node whose name fits 'leaf*' is a channel adapter"));
  const auto rows = [&](const std::vector<std::string>& targets) {
    std::vector<std::string> words{"ibcheckstate", "--format", "csv"};
    words.insert(words.end(), targets.begin(), targets.end());
    const auto done = ibtool(fabric, words);
    INFO(done.err);
    return count(done.out, "\r\n") - 1;
  };
  CHECK(rows({}) == 2);  // a port of each switch is down
  CHECK(rows({"leaf*"}) == 2);
  CHECK(rows({"leaf*/1"}) == 1);
  CHECK(rows({"leaf*/4"}) == 1);
  CHECK(rows({"leaf*/2"}) == 0);
  CHECK(rows({"leaf?1", "node07/2"}) == 1);
  CHECK_THAT(ibtool(fabric, {"ibcheckstate", "spine*"}).err, contains("no node's name fits 'spine*'"));
  CHECK_THAT(ibtool(fabric, {"ibcheckwidth", "99"}).err, contains("99"));
}

TEST_CASE_METHOD(Named, "a pattern: a node that fails is reported and the others are read") {
  const FakeSa sa(fabric);
  fabric.node(far).faults.silent = true;
  CHECK_THAT(ibtool(fabric, {"smpquery", "NI", "leaf 13"}).err,
             contains("no node is called 'leaf 13'") && contains(" (parts of the fabric did not answer: ibtool health)"));
  CHECK_THAT(ibtool(fabric, {"smpquery", "NI", "nosuch*"}).err,
             contains("no node's name fits 'nosuch*' (parts of the fabric did not answer: ibtool health)"));
  const auto half = ibtool(fabric, {"smpquery", "NI", "leaf*"});
  CHECK(half.status == 4);
  CHECK_THAT(half.err, starts_with("E: No answer from 'leaf 12' (LID 2) about NodeInfo ("));
  CHECK_THAT(half.out, contains("0000:0000:0000:0100"));
  const auto document = nlohmann::json::parse(ibtool(fabric, {"smpquery", "NI", "leaf*", "--json"}).out);
  CHECK(document["status"] == 4);
  CHECK_THAT(document["targets"][1]["error"].get<std::string>(), starts_with("No answer from 'leaf 12'"));
  fabric.node(near).faults.ignores = ib::smp::SwitchInfo::attribute_id;
  CHECK(ibtool(fabric, {"smpquery", "SI", "leaf*"}).status == 3);
  const auto none = ibtool(fabric, {"smpquery", "NI", "spine*"});
  CHECK(none.status == 2);
  CHECK(
      none.err ==
      "E: Invalid command line argument #2 'spine*' - no node's name fits 'spine*' (parts of the fabric did not answer: ibtool health)\n");
  CHECK_THAT(ibtool(fabric, {"perfquery", "leaf*", "--interval", "1"}).err, contains("--interval watches one node"));
}

TEST_CASE_METHOD(Named, "commands that set take no pattern, and a reset of counters by a pattern is refused") {
  const FakeSa sa(fabric);
  for (const std::vector<std::string>& words :
       std::vector<std::vector<std::string>>{{"ibportstate", "leaf*", "1", "disable"},
                                             {"ibclearerrors", "leaf*"},
                                             {"perfquery", "-R", "leaf*", "1"},
                                             {"ibportstate", "leaf*", "2", "speed", "1"},
                                             {"query", "SubnSet", "SMPPortInfo", "leaf*"},
                                             {"sminfo", "leaf*", "1"},
                                             {"ibccconfig", "CongestionKeyInfo", "leaf*", "0", "0", "0", "0"},
                                             {"set_port_state", "--disable", "leaf*/2"},
                                             {"set_guid", "leaf*", "1", "5"}}) {
    CAPTURE(words.front());
    CHECK(ibtool(fabric, words).status != 0);
    CHECK(fabric.sets.empty());
  }
}

TEST_CASE_METHOD(Named, "--src-to-dst divides where both parts are targets") {
  FakeSa sa(fabric);
  describe(far, "MF0;leaf12:SB7800/U1");
  const auto ends = [&](const char* text) {
    sa.asked.clear();
    const auto done = ibtool(fabric, {"saquery", "--src-to-dst", text});
    INFO(text << ' ' << done.err);
    CHECK(done.status == 0);
    const auto path = ib::sa::PathRecord::unpack(sa.asked.back().record);
    return std::pair(unsigned{path.slid.value}, unsigned{path.dlid.value});
  };
  const std::pair here_to_far(3U, 2U), far_to_other(2U, 6U);
  for (const char* text :
       {"3:2", "here:2", "3:0000:0000:0000:0200", "3:MF0;leaf12:SB7800/U1", "here:MF0;leaf12", "0000:0000:0000:0301:0000:0000:0000:0200"})
    CHECK(ends(text) == here_to_far);
  for (const char* text : {"2:beef", "MF0;leaf12:SB7800/U1:0000:0000:0000:0501", "MF0;leaf12:SB7800/U1:beef@rack4"})
    CHECK(ends(text) == far_to_other);
  const auto unclear = ibtool(fabric, {"saquery", "--src-to-dst", "3:0000:0000:0000:0200:2"});
  CHECK(unclear.status == 2);
  CHECK_THAT(unclear.err, contains("has no colon with a target on either side"));
  describe(near, "leaf:1");
  describe(other, "1:beef");
  describe(dual, "leaf");
  const auto several = ibtool(fabric, {"saquery", "--src-to-dst", "leaf:1:beef"});
  CHECK(several.status == 2);
  CHECK(several.err ==
        "E: --src-to-dst: 'leaf:1:beef' can be divided in several ways: 'leaf' to '1:beef', or 'leaf:1' to 'beef': give LIDs\n");
  CHECK_THAT(ibtool(fabric, {"saquery", "--src-to-dst", "here:nobody"}).err, contains("no node is called 'nobody'"));
}

TEST_CASE_METHOD(Named, "saquery finds nodes by name as targets are found") {
  const FakeSa sa(fabric);
  CHECK(ibtool(fabric, {"saquery", "-L", "leaf 1"}).out == "1\n");
  CHECK(ibtool(fabric, {"saquery", "-L", "NODE07"}).out == "4\n5\n");
  CHECK(ibtool(fabric, {"saquery", "-L", "leaf*"}).out == "1\n2\n");
  const auto unknown = ibtool(fabric, {"saquery", "-L", "nodo07"});
  CHECK(unknown.status == 3);
  CHECK_THAT(unknown.err, starts_with("E: The SA knows no node 'nodo07'"));
  CHECK(ibtest::diags(fabric, {"saquery", "-L", "leaf 1"}).out == "1\n");
  CHECK(ibtest::diags(fabric, {"saquery", "-L", "leaf"}).out.empty());
}

}  // namespace tools_target_names_tests
