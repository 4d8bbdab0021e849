// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// What ibtracert prints with -v of its search by its legacy name, what is said of failures there, and what -d adds to legacy programs.
#include <algorithm>
#include <regex>
#include <string>
#include <vector>

#include "support/catch.hpp"
#include "support/counting_fabric.hpp"
#include "support/program.hpp"

namespace tools_search_lines_tests {

using namespace ib;
using ibtest::contains;
using ibtest::diags;
using ibtest::FakeFabric;
using ibtest::starts_with;

namespace {

constexpr std::uint16_t group = 0xc005;
const std::string self = "DR path slid 0; dlid 0; 0";

/// The lines of a text that begin with a word, without process IDs.
std::vector<std::string> lines(const std::string& text, const std::string& first = {}) {
  static const std::regex pid(R"(\[\d+\] (?=\w+:))");
  std::vector<std::string> found;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = text.find('\n', at);
    std::string line = std::regex_replace(text.substr(at, end - at), pid, "");
    if (line.starts_with(first)) found.push_back(std::move(line));
    at = end + 1;
  }
  return found;
}

/// A host (LID 1), two switches (2, 3) and a host (4) in a row. All ports on the way are in one group, and a loop at the second switch.
struct Row {
  FakeFabric fabric;
  FakeFabric::NodeId here = fabric.add_ca(0x300, 1, "here"), one = fabric.add_switch(0x100, 4, "one"),
                     two = fabric.add_switch(0x200, 4, "two"), there = fabric.add_ca(0x400, 1, "there");

  Row() {
    fabric.link(here, 1, one, 1);
    fabric.link(one, 2, two, 1);
    fabric.link(one, 3, two, 3);
    fabric.link(two, 4, there, 1);
    fabric.assign_lids();
    fabric.attach(here);
    for (const FakeFabric::NodeId id : {here, one, two, there}) fabric.node(id).info.device_id = 1;  // has no MlnxExtPortInfo
    for (const FakeFabric::NodeId id : {one, two}) fabric.node(id).switch_info.multicast_fdb_cap = 64;
    fabric.node(one).mft[group] = {1, 2, 3};
    fabric.node(two).mft[group] = {1, 4};
  }
};

}  // namespace

TEST_CASE("ibtracert -v -m: the search through a multicast tree") {
  Row row;
  const auto traced = diags(row.fabric, {"ibtracert", "-v", "-m", "0xc005", "1", "4"});
  CHECK(traced.status == 0);
  const auto to = [](const std::string& text) { return "switch_mclookup: Switch guid " + text; };
  CHECK(lines(traced.out) == std::vector<std::string>{
                                 "new_node: insert dist 0 node 0x000000000001 port 1 lid 1",
                                 "find_mcpath: dist 0 node 0x000000000001",
                                 "processing {0x0000000000000300}[1]",
                                 "get_port: portid " + self + " portnum 1: lid 1 state 4 physstate 5",
                                 "new_node: insert dist 1 node 0x000000000002 port 1 lid 2",
                                 "new remote {0x0000000000000100}[0]",
                                 "find_mcpath: dist 1 node 0x000000000002",
                                 "processing {0x0000000000000100}[0]",
                                 to("0x100: mlid 0xc005 is forwarded to port 1"),
                                 to("0x100: mlid 0xc005 is forwarded to port 2"),
                                 to("0x100: mlid 0xc005 is forwarded to port 3"),
                                 "get_port: portid " + self + ",1 portnum 2: lid 2 state 4 physstate 5",
                                 "new_node: insert dist 2 node 0x000000000003 port 1 lid 3",
                                 "new remote {0x0000000000000200}[0]",
                                 "get_port: portid " + self + ",1 portnum 3: lid 2 state 4 physstate 5",
                                 "ERR: circle discovered at switch {0x0000000000000200} portnum 0 lid 3-3 \"two\"",
                                 "find_mcpath: dist 2 node 0x000000000003",
                                 "processing {0x0000000000000200}[0]",
                                 to("0x200: mlid 0xc005 is forwarded to port 1"),
                                 to("0x200: mlid 0xc005 is forwarded to port 4"),
                                 "get_port: portid " + self + ",1,2 portnum 4: lid 3 state 4 physstate 5",
                                 "found target {0x0000000000000400}[1]",
                                 "From ca 0x300 port 1 lid 1-1 \"here\"",
                                 "[1] -> switch 0x100[1] lid 2 \"one\"",
                                 "[2] -> switch 0x200[1] lid 3 \"two\"",
                                 "[4] -> ca 0x400[1] lid 4 \"there\"",
                                 "To ca 0x400 port 1 lid 4-4 \"there\"",
                             });
  const auto full = diags(row.fabric, {"ibtracert", "-vv", "-m", "0xc005", "1", "4"});
  CHECK_THAT(full.out, contains("processing switch {0x0000000000000100} portnum 0 lid 2-2 \"one\"\n"));
  const auto plain = diags(row.fabric, {"ibtracert", "-m", "0xc005", "1", "4"});
  CHECK_THAT(plain.out, starts_with("ERR: circle discovered at switch") && !contains("find_mcpath"));
}

TEST_CASE("ibtracert of infiniband-diags: one line says why there is no way") {
  Row row;
  const auto err_of = [&row](std::vector<std::string> words) {
    words.insert(words.begin(), "ibtracert");
    const auto traced = diags(row.fabric, words);
    CHECK(traced.status == 255);
    return lines(traced.err);
  };
  const std::string none = "ibwarn: get_route: can't find a ";
  using Lines = std::vector<std::string>;
  CHECK(err_of({"1", "77"}) == Lines{none + "route from src to dest: LID 77 does not answer"});
  CHECK(err_of({"77", "1"}) == Lines{none + "route to the src port: LID 77 does not answer"});
  CHECK(err_of({"-m", "0xc005", "1", "77"}) == Lines{none + "multicast route from src to dest: LID 77 does not answer"});
}

TEST_CASE("-d by a legacy name prints the trace of ibtool's dialect on stderr, and nothing else") {
  ibtest::CountingFabric f(1);
  f.pma.count(2, "symbol_error_counter") = 7;
  using Words = std::vector<std::string>;
  for (const Words& words :
       {Words{"ibqueryerrors"}, Words{"ibqueryerrors", "-D", "0,1"}, Words{"ibnetdiscover", "-l"}, Words{"ibaddr", "1"},
        Words{"smpquery", "NI", "1"}, Words{"smpquery", "-D", "NI", "0,1"}, Words{"perfquery", "1", "2"}, Words{"ibroute", "1"},
        Words{"ibtracert", "2", "3"}, Words{"smpdump", "1", "0x11"}, Words{"smpquery", "zz", "1"}}) {
    INFO(words[0]);
    const auto plain = diags(f.fabric, words);
    for (const char* level : {"-d", "-dd"}) {
      Words traced = words;
      traced.insert(traced.begin() + 1, level);
      const auto done = diags(f.fabric, traced);
      CHECK(done.out == plain.out);
      CHECK(done.status == plain.status);
      if (words.size() < 2 || words[1] != "zz") CHECK_THAT(done.err, contains("D: "));
      CHECK_THAT(done.err, !contains("ibdebug") && !contains("smp_query_status_via"));
    }
    CHECK_THAT(plain.err, !contains("D: "));
  }
}

TEST_CASE("ibqueryerrors and iblinkinfo -D to a host: nothing is said of a host that a sweep finds once more") {
  Row row;
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"ibqueryerrors", "-D", "0,1,2,4", "--skip-sl"}, std::vector<std::string>{"iblinkinfo", "-D", "0,1,2,4"}})
    CHECK_THAT(diags(row.fabric, words).err, !contains("Duplicate Port"));
}

}  // namespace tools_search_lines_tests
