// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// What ibtracert and ibqueryerrors print of their work with -d and -v by their legacy names, in their order and on their streams.
#include <algorithm>
#include <regex>
#include <string>
#include <vector>

#include "iba-gen/pm.hpp"
#include "support/catch.hpp"
#include "support/counting_fabric.hpp"
#include "support/program.hpp"

namespace tools_debug_lines_tests {

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

TEST_CASE("ibtracert -d -v -m: the search through a multicast tree") {
  Row row;
  const auto traced = diags(row.fabric, {"ibtracert", "-d", "-v", "-m", "0xc005", "1", "4"});
  CHECK(traced.status == 0);
  const auto got = [](const std::string& where, const std::string& node) {
    return "ibdebug: get_node: portid " + where + ": got node " + node;
  };
  const auto to = [](const std::string& text) { return "switch_mclookup: Switch guid " + text; };
  CHECK(lines(traced.out) == std::vector<std::string>{
                                 "ibdebug: find_route: from " + self,
                                 got(self, "300 'here'"),
                                 got("Lid 1", "300 'here'"),
                                 got("Lid 4", "400 'there'"),
                                 "ibdebug: find_mcpath: from " + self,
                                 got(self, "300 'here'"),
                                 "new_node: insert dist 0 node 0x000000000001 port 1 lid 1",
                                 "find_mcpath: dist 0 node 0x000000000001",
                                 "processing {0x0000000000000300}[1]",
                                 "ibdebug: find_mcpath: Starting from CA 0x300 lid 1 port 1 (leafport 0)",
                                 "get_port: portid " + self + " portnum 1: lid 1 state 4 physstate 5",
                                 got(self + ",1", "100 'one'"),
                                 "new_node: insert dist 1 node 0x000000000002 port 1 lid 2",
                                 "new remote {0x0000000000000100}[0]",
                                 "find_mcpath: dist 1 node 0x000000000002",
                                 "processing {0x0000000000000100}[0]",
                                 to("0x100: mlid 0xc005 is forwarded to port 1"),
                                 to("0x100: mlid 0xc005 is forwarded to port 2"),
                                 to("0x100: mlid 0xc005 is forwarded to port 3"),
                                 "get_port: portid " + self + ",1 portnum 2: lid 2 state 4 physstate 5",
                                 got(self + ",1,2", "200 'two'"),
                                 "new_node: insert dist 2 node 0x000000000003 port 1 lid 3",
                                 "new remote {0x0000000000000200}[0]",
                                 "get_port: portid " + self + ",1 portnum 3: lid 2 state 4 physstate 5",
                                 got(self + ",1,3", "200 'two'"),
                                 "ibdebug: insert_node: node 200 already exists",
                                 "ERR: circle discovered at switch {0x0000000000000200} portnum 0 lid 3-3 \"two\"",
                                 "find_mcpath: dist 2 node 0x000000000003",
                                 "processing {0x0000000000000200}[0]",
                                 to("0x200: mlid 0xc005 is forwarded to port 1"),
                                 to("0x200: mlid 0xc005 is forwarded to port 4"),
                                 "get_port: portid " + self + ",1,2 portnum 4: lid 3 state 4 physstate 5",
                                 got(self + ",1,2,4", "400 'there'"),
                                 "found target {0x0000000000000400}[1]",
                                 "From ca 0x300 port 1 lid 1-1 \"here\"",
                                 "[1] -> switch 0x100[1] lid 2 \"one\"",
                                 "[2] -> switch 0x200[1] lid 3 \"two\"",
                                 "[4] -> ca 0x400[1] lid 4 \"there\"",
                                 "To ca 0x400 port 1 lid 4-4 \"there\"",
                             });
  const auto full = diags(row.fabric, {"ibtracert", "-vv", "-m", "0xc005", "1", "4"});
  CHECK_THAT(full.out, contains("processing switch {0x0000000000000100} portnum 0 lid 2-2 \"one\"\n") && !contains("ibdebug"));
  const auto plain = diags(row.fabric, {"ibtracert", "-m", "0xc005", "1", "4"});
  CHECK_THAT(plain.out, starts_with("ERR: circle discovered at switch") && !contains("find_mcpath"));
}

TEST_CASE("ibtracert -d: what is not answered stands between the requests") {
  Row row;
  const auto lost = diags(row.fabric, {"ibtracert", "-d", "-m", "0xc005", "1", "77"});
  CHECK(lost.status == 255);
  const std::vector<std::string> told = lines(lost.err);
  const auto request = std::ranges::find(told, "ibwarn: smp_query_status_via: attr 0x11 mod 0x0 route Lid 77");
  const auto failure = std::ranges::find(told, "ibwarn: mad_rpc: _do_madrpc failed; dport (Lid 77)");
  const auto remark = std::ranges::find(told, "ibwarn: find_target_portguid: can't find to port");
  REQUIRE(remark != told.end());
  CHECK(request < failure);
  CHECK(failure + 1 == remark);
  CHECK(*(remark + 1) == "");  // its text ends with a line feed of its own
  CHECK(*(remark + 2) == "ibwarn: smp_query_status_via: attr 0x11 mod 0x0 route " + self);
  CHECK(std::ranges::count(told, *remark) == 1);
}

TEST_CASE("ibqueryerrors -d: each request to a PMA, in the order of infiniband-diags") {
  ibtest::CountingFabric f(1);
  f.pma.count(2, "symbol_error_counter") = 7;
  const std::string query = "ibwarn: pma_query_via: ";
  const auto all = diags(f.fabric, {"ibqueryerrors", "-d", "--switch"});
  CHECK(lines(all.err, query) == std::vector<std::string>{
                                     query + "lid 1 port 0",
                                     query + "lid 1 port 255",
                                     query + "lid 1 port 255",
                                     query + "lid 1 port 1",
                                     query + "lid 1 port 1",
                                     query + "lid 1 port 2",
                                     query + "lid 1 port 2",
                                     query + "lid 1 port 3",
                                     query + "lid 1 port 3",
                                     query + "lid 1 port 4",
                                     query + "lid 1 port 4",
                                 });
  CHECK_THAT(diags(f.fabric, {"ibqueryerrors", "--switch"}).err, !contains("pma_query_via"));
  CHECK(lines(diags(f.fabric, {"ibqueryerrors", "-d", "--switch", "--counters"}).err, query).size() == 5);

  f.other_pma.count(1, "port_rcv_errors") = 3;
  f.other_pma.count(1, "port_xmit_discards") = 3;
  f.other_pma.capability_mask = pm::capability_mask::is_extended_width_supported;
  f.other_pma.capability_mask2 = 0;
  const auto reset = diags(f.fabric, {"ibqueryerrors", "-d", "--ca", "--details", "-k", "-K", "-D", "0,1,2"});
  const auto told = lines(reset.err, "ibwarn: p");
  const std::string set = "ibwarn: performance_reset_via: lid 3 port 1 mask ";
  // ClassPortInfo, both attributes of counters, both of details; then the Sets, of which the last is told on stdout.
  CHECK(told == std::vector<std::string>{query + "lid 3 port 1", query + "lid 3 port 1", query + "lid 3 port 1", query + "lid 3 port 1",
                                         query + "lid 3 port 1", set + "0xffff", set + "0xf", set + "0x3f"});
  const auto text = lines(reset.out);
  const auto counts = std::ranges::find_if(text, [](const std::string& line) { return line.starts_with("   GUID "); });
  REQUIRE(counts != text.end());
  CHECK(*(counts + 1) == "ibdebug: reset_pc_ext: lid 3 port 1 mask 0xff");
}

TEST_CASE("ibqueryerrors -d -D: what libibnetdisc tells of its sweep around the end of a route") {
  Row row;
  const auto sweep_of = [&row](const std::string& route) {
    const std::string start = "./libibnetdisc/ibnetdisc.c:", name = "DR path slid 65535; dlid 65535; ";
    std::vector<std::string> found;
    for (std::string line : lines(diags(row.fabric, {"ibqueryerrors", "-d", "-D", route, "--skip-sl"}).out, start)) {
      line.erase(0, start.size());
      for (std::size_t at = line.find(name); at != std::string::npos; at = line.find(name)) line.erase(at, name.size());
      if (line.starts_with("821") || line.starts_with("612") || line.starts_with("558")) found.push_back(line);
    }
    return found;
  };
  using Lines = std::vector<std::string>;
  // From a switch, and back to where the request came from.
  CHECK(sweep_of("0,1") == Lines{"821; from 0,1", "612; Query Node Info; 0,1", "558; Found new node GUID 0x100 (0,1)",
                                 "612; Query Node Info; 0,1,1", "612; Query Node Info; 0,1,2", "612; Query Node Info; 0,1,3",
                                 "558; Found new node GUID 0x300 (0,1,1)", "558; Found new node GUID 0x200 (0,1,2)",
                                 "558; Found old node GUID 0x200 (0,1,3)", "612; Query Node Info; 0,1,2,3",
                                 "558; Found old node GUID 0x100 (0,1,2,3)"});
  // A host at the end of a route forwards nothing: it goes on from the switch before it.
  const Lines at_host = sweep_of("0,1,2,4");
  REQUIRE(at_host.size() > 5);
  CHECK(Lines(at_host.begin(), at_host.begin() + 5) == Lines{"821; from 0,1,2,4", "612; Query Node Info; 0,1,2,4",
                                                             "558; Found new node GUID 0x400 (0,1,2,4)", "612; Query Node Info; 0,1,2",
                                                             "558; Found new node GUID 0x200 (0,1,2)"});
  CHECK(sweep_of("0,1,4") == Lines{"821; from 0,1,4", "612; Query Node Info; 0,1,4"});  // nobody is there
  // The switch is entered by its port 1, and the host is found once more at its port 4.
  CHECK(std::ranges::count(at_host, "612; Query Node Info; 0,1,2,4") == 2);
  CHECK(std::ranges::count(at_host, "612; Query Node Info; 0,1,2,1") == 0);
}

TEST_CASE("ibqueryerrors -D: libibnetdisc complains of a host that it finds once more") {
  Row row;
  const auto errors_of = [&row](std::vector<std::string> words, const std::string& first = "./libibnetdisc/") {
    words.insert(words.begin(), "ibqueryerrors");
    words.push_back("--skip-sl");
    return lines(diags(row.fabric, words).err, first);
  };
  const std::vector<std::string> both{
      "./libibnetdisc/ibnetdisc.c:667; Duplicate Port: Port with guid 0x0000000000000401 already exists in ports DB",
      "./libibnetdisc/ibnetdisc.c:379; Error Occurred when trying to insert new port guid 0x0000000000000401 to DB"};
  CHECK(errors_of({"-D", "0,1,2,4"}) == both);
  CHECK(errors_of({"-D", "0,1,2,4", "-r"}) == both);
  CHECK(errors_of({"-D", "0,1,1"}).empty());  // this port, by which the route entered the switch
  CHECK(errors_of({"-D", "0,1,2"}).empty());
  CHECK(lines(diags(row.fabric, {"iblinkinfo", "-D", "0,1,2,4"}).err) == both);
  const std::vector<std::string> told = errors_of({"-d", "-D", "0,1,2,4"}, "");
  const auto complaint = std::ranges::find(told, both.back());
  REQUIRE(complaint != told.end());
  CHECK(*(complaint + 1) == "ibwarn: smp_query_status_via: attr 0x11 mod 0x0 route DR path slid 65535; dlid 65535; 0,1,2,4");
}

TEST_CASE("ibqueryerrors -d -D: what is silent at the sweep stands before the request behind it") {
  Row row;
  row.fabric.node(row.there).faults.silent = true;
  for (const std::string route : {"0,1,2", "0,1,2,4"}) {
    INFO(route);
    const std::vector<std::string> told = lines(diags(row.fabric, {"ibqueryerrors", "-d", "-D", route, "--skip-sl"}).err);
    const auto silence = std::ranges::find_if(told, [](const std::string& line) { return line.find("bad status 110") != line.npos; });
    const auto request =
        std::ranges::find(told, "ibwarn: smp_query_status_via: attr 0x11 mod 0x0 route DR path slid 65535; dlid 65535; " + route);
    REQUIRE(request != told.end());
    CHECK(silence + 1 == request);
  }
}

}  // namespace tools_debug_lines_tests
