// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// ibroute, dump_fts, ibtracert, ibfindnodesusing and check_lft_balance on fabrics in memory, in both dialects: tables of good and of bad
// switches, ways that end well and that do not.
#include <fmt/format.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "iba/text.hpp"
#include "support/catch.hpp"
#include "support/fake_clock.hpp"
#include "support/fake_sa.hpp"
#include "support/fake_sysfs.hpp"
#include "support/program.hpp"
#include "tools/ibfindnodesusing/host_list.hpp"
#include "tools/ibtracert/ports_file.hpp"

namespace tools_routing_tests {

using namespace ib;
using ibtest::contains;
using ibtest::diags;
using ibtest::FakeFabric;
using ibtest::ibtool;
using nlohmann::json;

namespace {

constexpr FakeFabric::NodeId spine = 0, leaf0 = 1, host0 = 2, host1 = 3, leaf1 = 4, host2 = 5;
constexpr std::uint16_t group = 0xc005;

/// A spine (LID 1), two leaves (2 and 5), two hosts on each (3 and 4, 6 and 7). Hosts 0, 1 and 2 are in one multicast group. The program
/// runs at host 0.
struct Site {
  FakeFabric fabric = FakeFabric::fat_tree(2, 1, 2);
  ibtest::FakeSa sa{fabric};

  Site() {
    for (const FakeFabric::NodeId id : {spine, leaf0, leaf1}) fabric.node(id).switch_info.multicast_fdb_cap = 64;
    fabric.node(leaf0).mft[group] = {1, 2, 3};
    fabric.node(spine).mft[group] = {1, 2};
    fabric.node(leaf1).mft[group] = {1, 3};
  }
  std::string guid(FakeFabric::NodeId id) { return fmt::format("{:#018x}", fabric.node(id).info.node_guid.value); }
  std::string port_guid(FakeFabric::NodeId id, unsigned port) { return fmt::format("{:#018x}", fabric.port_guid(id, port).value); }
  std::string description(FakeFabric::NodeId id) {
    const auto& bytes = fabric.node(id).description;
    return {reinterpret_cast<const char*>(bytes.data()), strnlen(reinterpret_cast<const char*>(bytes.data()), bytes.size())};
  }
  void set_lmc(FakeFabric::NodeId id, unsigned port, std::uint16_t lid, std::uint8_t lmc) {
    fabric.node(id).ports[port].info.lid = Lid{lid};
    fabric.node(id).ports[port].info.lmc = lmc;
  }
};

std::size_t lines(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

}  // namespace

TEST_CASE("ibroute: a linear table in both dialects") {
  Site s;
  const auto theirs = diags(s.fabric, {"ibroute", "2"});
  CHECK(theirs.status == 0);
  CHECK_THAT(theirs.out,
             contains(fmt::format("Unicast lids [0x0-0x7] of switch Lid 2 guid {} ({}):\n  Lid  Out   Destination\n       Port     Info \n",
                                  s.guid(leaf0), s.description(leaf0))));
  CHECK_THAT(theirs.out,
             contains(fmt::format("0x0003 001 : (Channel Adapter portguid {}: '{}')\n", s.port_guid(host0, 1), s.description(host0))));
  CHECK_THAT(theirs.out, contains("0x0002 000 : (Switch portguid "));
  CHECK_THAT(theirs.out, contains("7 valid lids dumped \n"));
  const auto ours = ibtool(s.fabric, {"ibroute", "2"});
  CHECK(ours.status == 0);
  CHECK_THAT(ours.out, contains("Unicast lids [0-7] of switch Path 3 -> 2 SL=0 PKey=0xffff DQPN=0 "));
  CHECK_THAT(ours.out, contains("     3 001 : (Channel Adapter portguid "));
  CHECK_THAT(ours.out, contains("7 valid lids dumped\n"));
  CHECK_THAT(ibtool(s.fabric, {"ibroute", "-a", "2"}).out, contains("     0 255 : (reserved LID - illegal port)\n"));
}

TEST_CASE("ibroute: LID ranges, and the last LID of a table that fills its block") {
  Site s;
  const auto range = diags(s.fabric, {"ibroute", "-n", "2", "3", "4"});
  CHECK_THAT(range.out, contains("Unicast lids [0x3-0x4] "));
  CHECK_THAT(range.out, contains("0x0003 001 \n0x0004 002 \n2 valid lids dumped \n"));
  CHECK_THAT(diags(s.fabric, {"ibroute", "-n", "2", "5", "4"}).out, contains("[0x5-0x4]"));
  CHECK_THAT(diags(s.fabric, {"ibroute", "-n", "2", "5", "4"}).out, contains("\n0 valid lids dumped \n"));
  // infiniband-diags leaves out a last LID that is a multiple of 64.
  auto& leaf = s.fabric.node(leaf0);
  leaf.switch_info.linear_fdb_top = 64;
  leaf.lft.resize(65, 255);
  leaf.lft[64] = 3;
  CHECK_THAT(diags(s.fabric, {"ibroute", "-n", "2"}).out, contains("0x0040 003 \n8 valid lids dumped \n"));
  CHECK_THAT(ibtool(s.fabric, {"ibroute", "2", "3", "4"}).out, contains("Unicast lids [3-4] of"));
  CHECK(ibtool(s.fabric, {"ibroute", "2", "4", "3"}).status == 2);
}

TEST_CASE("ibroute: a port with several LIDs is read once") {
  Site s;
  for (unsigned lid = 8; lid < 12; ++lid) {
    auto& leaf = s.fabric.node(leaf0);
    leaf.lft.resize(12, 255);
    leaf.lft[lid] = 3;
    leaf.switch_info.linear_fdb_top = 11;
  }
  s.set_lmc(host1, 1, 8, 2);
  for (const FakeFabric::NodeId id : {leaf0})
    s.fabric.node(id).lft[8] = s.fabric.node(id).lft[9] = s.fabric.node(id).lft[10] = s.fabric.node(id).lft[11] = 2;
  const auto before = s.fabric.requests_to(host1);
  const auto theirs = diags(s.fabric, {"ibroute", "2", "8"});
  CHECK_THAT(theirs.out, contains("0x0008 002 : (Channel Adapter portguid "));
  CHECK_THAT(theirs.out, contains(fmt::format("0x000b 002 : (path #4 out of 4: portguid {})\n", s.port_guid(host1, 1))));
  CHECK(s.fabric.requests_to(host1) - before == 3);
}

TEST_CASE("ibroute: LIDs that lead to no answering node delay a run only shortly") {
  Site s;
  auto& leaf = s.fabric.node(leaf0);
  leaf.lft.resize(49152, 3);
  leaf.switch_info.linear_fdb_top = 49151;
  leaf.switch_info.linear_fdb_cap = 49152;
  leaf.lft[0] = 255;
  ibtest::FakeClock clock;
  ibtest::Outside outside;
  outside.clock = &clock;
  const auto begin = clock.now();
  constexpr auto most = std::chrono::seconds(70);  // the minute, and the tries of those LIDs that were asked last
  const auto ours = ibtool(s.fabric, {"ibroute", "2"}, outside);
  CHECK(clock.now() - begin < most);
  CHECK(ours.status == 4);
  CHECK_THAT(ours.out, contains("     7 003 : (Channel Adapter portguid "));
  CHECK_THAT(ours.out, contains("\n 49151 003 : \n49095 valid lids dumped\n"));
  CHECK(lines(ours.err, "E: ") == 2);
  CHECK_THAT(ours.err, contains(", nor from the owners of ") && contains(" more LIDs: --json lists them\n"));
  CHECK_THAT(ours.err, contains(" LIDs were not requested: the requests for the others took 60 s\n"));

  const auto before = clock.now();
  const auto theirs = diags(s.fabric, {"ibroute", "2"}, outside);
  CHECK(clock.now() - before < most);
  CHECK(theirs.status == 0);
  CHECK_THAT(theirs.out, contains("\n0xbfff 003 : (unknown node and type)\n49095 valid lids dumped \n"));
  CHECK(lines(theirs.err, " LIDs were not requested: ") == 1);

  const json found = json::parse(ibtool(s.fabric, {"ibroute", "2", "--json"}).out);
  CHECK(found["silent_lids"].size() + found["unrequested_lids"].size() == 49095 - 7);
  CHECK(found["silent_lids"].size() > 10000);
  CHECK(found["unrequested_lids"].back() == 49151);
}

TEST_CASE("ibroute: silent LIDs wait for their answers side by side, and rows come out before") {
  Site s;
  constexpr unsigned silent = 500;
  auto& leaf = s.fabric.node(leaf0);
  leaf.lft.resize(1024 + silent, 255);
  leaf.switch_info.linear_fdb_top = 1024 + silent - 1;
  for (unsigned lid = 0; lid < silent; ++lid) leaf.lft[1024 + lid] = 3;
  for (const bool as_diags : {false, true}) {
    ibtest::FakeClock clock;
    const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::tmpfile(), std::fclose);
    const auto size = [&file] { return std::filesystem::file_size(fmt::format("/proc/self/fd/{}", fileno(file.get()))); };
    ibtest::Outside outside;
    outside.clock = &clock;
    outside.out = file.get();
    std::uintmax_t seen = 0;
    s.fabric.network.tamper = [&](Bytes, std::optional<FakeFabric::Answer> answer) {
      seen = std::max(seen, size());
      std::vector<FakeFabric::Answer> answers;
      if (answer) answers.push_back(*answer);
      return answers;
    };
    const auto begin = clock.now();
    static_cast<void>(as_diags ? diags(s.fabric, {"ibroute", "2"}, outside) : ibtool(s.fabric, {"ibroute", "2"}, outside));
    CHECK(clock.now() - begin < std::chrono::seconds(8));  // a chain of tries, and what the levels of LMC wait; one by one 2000 s
    CHECK(seen > 500);                                     // the heading and seven rows
    CHECK(seen < size());
  }
}

TEST_CASE("ibroute: a multicast table in both dialects") {
  Site s;
  const auto theirs = diags(s.fabric, {"ibroute", "-M", "2"});
  CHECK_THAT(theirs.out, contains("Multicast mlids [0xc000-0xc03f] of switch Lid 2 guid "));
  CHECK_THAT(theirs.out, contains("\n0xc005        x x x "));
  CHECK_THAT(theirs.out, contains("\n1 valid mlids dumped \n"));
  CHECK_THAT(diags(s.fabric, {"ibroute", "-M", "-n", "2"}).out, contains(" MLid       Port Mask\n0xc005      000e\n"));
  CHECK_THAT(diags(s.fabric, {"ibroute", "-M", "2", "0xc006"}).out, contains("\n0 valid mlids dumped \n"));
  s.fabric.node(leaf0).switch_info.default_multicast_primary_port = 3;
  const auto ours = ibtool(s.fabric, {"ibroute", "-M", "2"});
  CHECK_THAT(ours.out, contains("0xc005            x   x   x "));
  CHECK_THAT(ours.out, contains("default                   x "));
  const json found = json::parse(ibtool(s.fabric, {"ibroute", "-M", "--json", "2"}).out);
  CHECK(found["switches"][0]["groups"][0]["mlid"] == group);
  CHECK(found["switches"][0]["groups"][0]["out_ports"] == json({1, 2, 3}));
  CHECK(found["switches"][0]["default_out_ports"] == json({3}));
}

TEST_CASE("ibroute: a node that is not a switch, is silent, or answers falsely") {
  Site s;
  const auto host = diags(s.fabric, {"ibroute", "4"});
  CHECK(host.status == 255);
  CHECK(host.out == "ibroute: iberror: failed: dump tables: not a switch\n");
  CHECK_THAT(ibtool(s.fabric, {"ibroute", "4"}).err, contains("(LID 4) is a channel adapter: it has no forwarding table"));
  s.fabric.node(host1).faults.silent = true;
  const auto theirs = diags(s.fabric, {"ibroute", "2"});
  CHECK(theirs.status == 0);
  CHECK_THAT(theirs.out, contains("0x0004 002 : (unknown node and type)\n"));
  const auto ours = ibtool(s.fabric, {"ibroute", "--json", "2"});
  CHECK(ours.status == 4);
  const json found = json::parse(ours.out);
  CHECK(found["silent_lids"] == json({4}));
  CHECK(found["switches"][0]["routes"][3]["dlid"] == 4);
  CHECK(found["switches"][0]["routes"][3]["destination"].is_null());
  s.fabric.node(leaf0).faults.silent = true;
  const auto silent = diags(s.fabric, {"ibroute", "2"});
  CHECK(silent.status == 255);
  CHECK(silent.out == "ibroute: iberror: failed: dump tables: node info failed: valid addr?\n");
  CHECK_THAT(silent.err, ibtest::ends_with("mad_rpc: _do_madrpc failed; dport (Lid 2)\n"));
  CHECK(ibtool(s.fabric, {"ibroute", "2"}).status == 3);
}

TEST_CASE("ibroute: a table that breaks off") {
  Site s;
  s.fabric.node(leaf0).faults.ignores = smp::LinearForwardingTable::attribute_id;
  const auto theirs = diags(s.fabric, {"ibroute", "2"});
  CHECK(theirs.status == 0);
  CHECK_THAT(theirs.err, contains("SubnGet() failed; MAD status 0x0 AM 0x0\n"));
  CHECK_THAT(theirs.out, !contains("dumped"));
  CHECK(ibtool(s.fabric, {"ibroute", "2"}).status == 4);
}

TEST_CASE("dump_fts: all switches, and the scripts around it") {
  Site s;
  const auto all = diags(s.fabric, {"dump_fts"});
  CHECK(all.status == 0);
  CHECK(lines(all.out, "Unicast lids [0x0-0x7] of switch DR path slid 0; dlid 0; 0,1") == 3);
  CHECK(lines(all.out, "7 valid lids dumped \n") == 3);
  CHECK(all.out.find(s.guid(leaf1)) < all.out.find(s.guid(leaf0)));  // the last that is found comes first
  const auto linear = diags(s.fabric, {"dump_lfts"});
  CHECK(linear.out == all.out + "\n*** WARNING ***: this command has been replaced by dump_fts\n\n\n");
  const auto multicast = diags(s.fabric, {"dump_mfts", "-n"});
  CHECK(lines(multicast.out, "\n0xc005      ") == 3);
  CHECK_THAT(multicast.out, contains("replaced by dump_fts -M\n"));
  const auto wrong = diags(s.fabric, {"dump_mfts", "-D"});
  CHECK(wrong.status == 0);
  CHECK(wrong.out == "\n*** WARNING ***: this command has been replaced by dump_fts -M\n\n\n");
  CHECK_THAT(wrong.err, contains("/usr/sbin/dump_fts: invalid option -- 'D'"));
  CHECK(diags(s.fabric, {"dump_fts", "-D"}).status == 2);
}

TEST_CASE("dump_lfts and dump_mfts of ibtool, a silent switch among the others") {
  Site s;
  const auto ours = ibtool(s.fabric, {"dump_lfts", "-D"});
  CHECK(ours.status == 0);
  CHECK_THAT(ours.out, contains("Unicast lids [0-63] of switch DR Path (0, 1) "));
  s.fabric.node(leaf1).faults.ignores = smp::LinearForwardingTable::attribute_id;
  const auto broken = ibtool(s.fabric, {"dump_fts", "--json"});
  CHECK(broken.status == 4);
  const json found = json::parse(broken.out);
  REQUIRE(found["switches"].size() == 3);
  CHECK(found["switches"][0]["routes"].size() == 7);
  CHECK(found["unreachable"][0]["node_guid"] == to_text(s.fabric.node(leaf1).info.node_guid));
  const auto theirs = diags(s.fabric, {"dump_fts", "-n"});
  CHECK(theirs.status == 0);
  CHECK_THAT(theirs.err, contains("SubnGet(LFT) failed on switch "));
  CHECK(lines(theirs.out, "7 valid lids dumped \n") == 2);
  CHECK(json::parse(ibtool(s.fabric, {"dump_mfts", "--json"}).out)["switches"][0]["groups"].size() == 1);
}

TEST_CASE("ibtracert: ways in both dialects") {
  Site s;
  const auto theirs = diags(s.fabric, {"ibtracert", "3", "6"});
  CHECK(theirs.status == 0);
  CHECK(theirs.out == fmt::format("From ca {{{}}} portnum 1 lid 3-3 \"{}\"\n"
                                  "[1] -> switch port {{{}}}[1] lid 2-2 \"{}\"\n"
                                  "[3] -> switch port {{{}}}[1] lid 1-1 \"{}\"\n"
                                  "[2] -> switch port {{{}}}[3] lid 5-5 \"{}\"\n"
                                  "[1] -> ca port {{{}}}[1] lid 6-6 \"{}\"\n"
                                  "To ca {{{}}} portnum 1 lid 6-6 \"{}\"\n",
                                  s.guid(host0), s.description(host0), s.guid(leaf0), s.description(leaf0), s.guid(spine),
                                  s.description(spine), s.guid(leaf1), s.description(leaf1), s.port_guid(host2, 1), s.description(host2),
                                  s.guid(host2), s.description(host2)));
  const auto back = diags(s.fabric, {"ibtracert", "-n", "6", "3"});
  CHECK_THAT(back.out, contains(fmt::format("From {{{}}}[1]\n[1] -> {{{}}}[1]\n", s.guid(host2), s.guid(leaf1))));
  const auto ours = ibtool(s.fabric, {"ibtracert", "6"});
  CHECK(ours.status == 0);
  CHECK_THAT(ours.out, contains("From Channel Adapter "));
  CHECK_THAT(ours.out, contains(" portnum 1 LID 3/16 "));
  CHECK(lines(ours.out, "\n[") == 4);
  CHECK(ibtool(s.fabric, {"ibtracert", "3", "6"}).out == ours.out);
  CHECK(ibtool(s.fabric, {"ibtracert", "-r", "6"}).out == ibtool(s.fabric, {"ibtracert", "6", "3"}).out);
  CHECK_THAT(ibtool(s.fabric, {"ibtracert", "0,1", "0,1,3"}).out, contains("To Switch "));
  const json found = json::parse(ibtool(s.fabric, {"ibtracert", "--json", "6"}).out);
  CHECK(found["traces"][0]["end"] == "arrived");
  CHECK(found["traces"][0]["hops"].size() == 4);
  CHECK(found["traces"][0]["hops"][1]["out_port"] == 3);
}

TEST_CASE("ibtracert: a missing entry, a loop and a dead end are named") {
  Site s;
  auto& table = s.fabric.node(spine).lft;
  const auto good = table[6];
  table[6] = 255;
  auto ours = ibtool(s.fabric, {"ibtracert", "6"});
  CHECK(ours.status == 3);  // the target is not reached by its LID
  table[6] = good;
  // The target itself answers by another way: its LID is right at leaf 0's host, and wrong behind.
  s.fabric.network.lid_routing = true;
  s.fabric.node(leaf0).lft[6] = 2;
  ours = ibtool(s.fabric, {"ibtracert", "-f", "6"});
  CHECK(ours.status == 1);
  CHECK_THAT(ours.err, contains("which is not the requested destination"));
  s.fabric.node(leaf0).lft[6] = 3;
  table[6] = 1;
  ours = ibtool(s.fabric, {"ibtracert", "-f", "6"});
  CHECK(ours.status == 1);
  CHECK_THAT(ours.err, contains("Looping detected"));
  table[6] = 77;
  ours = ibtool(s.fabric, {"ibtracert", "-f", "6"});
  CHECK_THAT(ours.err, contains("has the entry 77, a port that it does not have, for LID 6"));
  table[6] = 255;
  const json found = json::parse(ibtool(s.fabric, {"ibtracert", "-f", "--json", "6"}).out);
  CHECK(found["traces"][0]["end"] == "no_entry");
  CHECK(found["traces"][0]["hops"].size() == 2);
  CHECK(found["status"] == 1);
  const auto theirs = diags(s.fabric, {"ibtracert", "3", "6"});
  CHECK(theirs.status == 255);
  CHECK(theirs.out == "ibtracert: iberror: failed: Failed to get route information\n");
  CHECK_THAT(theirs.err, contains("get_route: can't find a route from src to dest: LID 6 does not answer\n"));
}

TEST_CASE("ibtracert: a source at the end of a LID and a directed route that are too long together") {
  Site s;
  std::string route = "0";
  for (unsigned hop = 0; hop < 63; ++hop) route += ":1";
  const auto told = ibtool(s.fabric, {"ibtracert", "IBDRPath(DLID=6,drPath=" + route + ":)", "7"});
  CHECK(told.status == 3);
  CHECK_THAT(told.err, contains("The way is longer than a directed route can be"));
}

TEST_CASE("ibtracert: the tree of a multicast group") {
  Site s;
  const auto theirs = diags(s.fabric, {"ibtracert", "-m", "0xc005", "3", "6"});
  CHECK(theirs.status == 0);
  CHECK_THAT(theirs.out, contains(fmt::format("From ca {:#x} port 1 lid 3-3 ", s.fabric.node(host0).info.node_guid.value)));
  CHECK_THAT(theirs.out, contains(fmt::format("[3] -> switch {:#x}[1] lid 1 ", s.fabric.node(spine).info.node_guid.value)));
  CHECK_THAT(theirs.out, contains(fmt::format("To ca {:#x} port 1 lid 6-6 ", s.fabric.node(host2).info.node_guid.value)));
  CHECK(diags(s.fabric, {"ibtracert", "-m", "0xc005", "3", "7"}).status == 255);
  const auto back = diags(s.fabric, {"ibtracert", "-m", "0xc005", "6", "3"});
  CHECK_THAT(back.out, contains(fmt::format("[1] -> switch {:#x}[1] lid 5 ", s.fabric.node(leaf1).info.node_guid.value)));
  const auto ours = ibtool(s.fabric, {"ibtracert", "-m", "0xc005", "6"});
  CHECK(ours.status == 0);
  CHECK(lines(ours.out, "\n[") == 4);
  const auto none = ibtool(s.fabric, {"ibtracert", "-m", "0xc005", "7"});
  CHECK(none.status == 1);
  CHECK_THAT(none.err, contains("Could not find a path through the multicast spanning tree."));
  CHECK(ibtool(s.fabric, {"ibtracert", "-m", "5", "7"}).status == 2);
  // Where there is no entry, the default ports of the switches count, in ibtool's dialect.
  s.fabric.node(leaf0).switch_info.default_multicast_primary_port = 3;
  s.fabric.node(spine).switch_info.default_multicast_primary_port = 2;
  s.fabric.node(leaf1).switch_info.default_multicast_primary_port = 2;
  CHECK(ibtool(s.fabric, {"ibtracert", "-m", "0xc007", "7"}).status == 0);
  CHECK(diags(s.fabric, {"ibtracert", "-m", "0xc007", "3", "7"}).status == 255);
}

TEST_CASE("ibtracert: pairs of a file") {
  using ib::tools::tracert::read_port_pairs;
  const auto pairs = read_port_pairs("# no\n\n 1 2 more\n3\t4\n   # no\n5\n6 7\n");
  REQUIRE(pairs.pairs.size() == 2);
  CHECK(pairs.pairs[1].source == "3");
  CHECK(pairs.pairs[1].line == 4);
  CHECK(pairs.bad_line == 6U);
  CHECK(read_port_pairs("123456789012345678901 2", true).pairs.at(0).destination == "1");
  const auto names = read_port_pairs("fe80::506b:4b03:0010:0001 \"leaf 12\"\n\"\" 2\n\"open 3\n");
  REQUIRE(names.pairs.size() == 1);
  CHECK(names.pairs[0].source + " to " + names.pairs[0].destination == "fe80::506b:4b03:0010:0001 to leaf 12");
  CHECK(names.bad_line == 2U);
  CHECK(read_port_pairs("\"open 3\n").bad_line == 1U);
  Site s;
  const ibtest::FakeSysfs dir;
  const std::string file = dir.root() / "pairs";
  std::ofstream(file) << "3 6\n6 3\n";
  const auto theirs = diags(s.fabric, {"ibtracert", "--ports-file", file});
  CHECK(theirs.status == 0);
  CHECK(lines(theirs.out, "From ca") == 2);
  CHECK_THAT(theirs.out, contains(fmt::format("2 lid/guid pairs processed from {}\n", file)));
  CHECK(json::parse(ibtool(s.fabric, {"ibtracert", "--json", "--ports-file", file}).out)["traces"].size() == 2);
  CHECK_THAT(diags(s.fabric, {"ibtracert", "--ports-file", "/nonexistent"}).out, contains("cannot open ports-file /nonexistent\n"));
}

TEST_CASE("a GUID where no subnet manager was yet") {
  FakeFabric fabric;
  fabric.attach(fabric.add_ca(0x200, 1, "lonely"));
  const auto theirs = diags(fabric, {"ibroute", "-G", "0x77"});
  CHECK(theirs.status == 255);
  CHECK(theirs.out == "ibroute: iberror: failed: can't resolve destination port 0x77\n");
  CHECK_THAT(theirs.err, ibtest::ends_with("ib_path_query_via: sa call path_query failed\n"));
}

TEST_CASE("ibfindnodesusing: a list of hosts in short, as the Perl script makes it") {
  using ib::tools::using_link::host_list;
  CHECK(host_list({}) == "");
  CHECK(host_list({"n3", "n1", "n2"}) == " n1-3");
  CHECK(host_list({"n01", "n02", "n04", "gw"}) == " gw n01-02 n04");
  CHECK(host_list({"a, b"}) == " a  b");
  CHECK(host_list({"n1", "n1"}) == " n1 n1");
}

TEST_CASE("ibfindnodesusing: the nodes whose packets use a link") {
  Site s;
  const auto theirs = diags(s.fabric, {"ibfindnodesusing", s.guid(leaf0), "3"});
  CHECK(theirs.status == 0);
  CHECK_THAT(theirs.out, contains(fmt::format("{} 3 (\"{}\" base)  ==>>  {} 1 ({})\n", s.guid(leaf0), s.description(leaf0), s.guid(spine),
                                              s.description(spine))));
  CHECK_THAT(theirs.out, contains("<<=="));
  CHECK_THAT(theirs.err, !contains("path_query"));
  // No port has the GUID of a channel adapter's node, by which the script has ibroute look for the far end.
  CHECK_THAT(diags(s.fabric, {"ibfindnodesusing", s.guid(leaf0), "1"}).err, contains("ib_path_query_via: sa call path_query failed\n"));
  CHECK(diags(s.fabric, {"ibfindnodesusing", "0x77", "1"}).status == 1);
  CHECK(diags(s.fabric, {"ibfindnodesusing", s.guid(leaf0)}).status == 2);
  CHECK_THAT(diags(s.fabric, {"ibfindnodesusing", "-x"}).err, contains("Unknown option: x\n"));
  const auto ours = ibtool(s.fabric, {"ibfindnodesusing", "2", "3"});
  CHECK(ours.status == 0);
  CHECK_THAT(ours.out, contains(" ==>> "));
  CHECK_THAT(ours.out, contains("\n " + s.description(host2) + "\n"));
  CHECK_THAT(ibtool(s.fabric, {"ibfindnodesusing", "2", "1"}).out, contains(" ** Not a switch **\n"));
  CHECK_THAT(ibtool(s.fabric, {"ibfindnodesusing", "2", "99"}).err, contains("and no port 99"));
  CHECK_THAT(ibtool(s.fabric, {"ibfindnodesusing", "4", "1"}).err, contains("(LID 4) is a channel adapter: it has no forwarding table"));
  CHECK_THAT(ibtool(s.fabric, {"ibfindnodesusing", "--columns=from.port_num", "2", "3"}).out, ibtest::starts_with("PORT\n   3\n   3\n"));
  const json found = json::parse(ibtool(s.fabric, {"ibfindnodesusing", "--json", "2", "3"}).out);
  CHECK(found["ends"][0]["destinations"].size() == 2);
  CHECK(found["ends"][1]["port_num"] == 1);
  CHECK(json::parse(ibtool(s.fabric, {"ibfindnodesusing", "-a", "--json", "2", "3"}).out)["ends"][0]["destinations"].size() == 4);
}

TEST_CASE("check_lft_balance: the fabric itself, and files") {
  Site s;
  const auto even = ibtool(s.fabric, {"check_lft_balance", "-a"});
  CHECK(even.status == 0);
  CHECK_THAT(even.out, contains("Switch Port Usage: "));
  CHECK(ibtool(s.fabric, {"check_lft_balance"}).out.empty());
  // The spine sends all to one leaf.
  for (const unsigned lid : {3, 4, 6, 7}) s.fabric.node(spine).lft[lid] = 1;
  s.fabric.network.lid_routing = true;
  const auto odd = ibtool(s.fabric, {"check_lft_balance"});
  CHECK(odd.status == 1);
  CHECK_THAT(odd.out, contains("Unbalanced Switch Port Usage: "));
  CHECK_THAT(odd.out, contains("Port 001: 4\nPort 002: 0\n"));
  const json found = json::parse(ibtool(s.fabric, {"check_lft_balance", "--json"}).out);
  CHECK(found["switches"].size() == 3);
  CHECK(diags(s.fabric, {"check_lft_balance"}).status == 2);
  CHECK_THAT(diags(s.fabric, {"check_lft_balance", "-l", "x"}).err, contains("Must specify ibnetdiscover cache\n"));
  const ibtest::FakeSysfs dir;
  const std::string dump = dir.root() / "lfts";
  std::ofstream(dump) << "Unicast lids [0x0-0x9] of switch Lid 2 guid 0x0000000000000077 (sw):\n"
                         "0x0003 001 : (Channel Adapter portguid 0x1: 'a')\n0x0004 001 : (Channel Adapter portguid 0x2: 'b')\n"
                         "0x0005 002 : (Router portguid 0x3: 'c')\n0x0006 001 : (Channel Adapter portguid 0x4: 'd')\n";
  const auto files = diags(s.fabric, {"check_lft_balance", "-l", dump, "-i", "/nonexistent"});
  CHECK(files.status == 0);
  CHECK(files.out == "Unbalanced Switch Port Usage: sw, 0x0000000000000077\nPort 001: 3\nPort 002: 1\n");
  std::ofstream(dump) << "Unicast lids [0x0-0x9] of switch Lid 2 guid \x1b[2J (\x1b]0;owned\x07\u00e9):\n";
  CHECK(diags(s.fabric, {"check_lft_balance", "-v", "-l", dump, "-i", "/nonexistent"}).out ==
        "Switch Port Usage:  ]0;owned \u00e9,  [2J\n");
}

TEST_CASE("dump_mfts: a host whose port is linked to itself") {
  FakeFabric fabric;
  const auto here = fabric.add_ca(0x100, 1, "here");
  fabric.link(here, 1, here, 1);
  fabric.assign_lids();
  fabric.attach(here);
  CHECK(ibtest::diags(fabric, {"dump_mfts", "-a"}).status == 0);
  CHECK(ibtest::diags(fabric, {"ibnetdiscover", "-s"}).status == 0);
}

}  // namespace tools_routing_tests
