// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// ibaddr, smpdump and ibnetdiscover in both dialects, the lists of nodes, where a fabric comes from, and the line that says how far
// it is.
#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "base/log.hpp"
#include "support/catch.hpp"
#include "support/fake_clock.hpp"
#include "support/program.hpp"
#include "support/pseudo_terminal.hpp"
#include "support/small_fabric.hpp"
#include "tools/frame/progress.hpp"
#include "tools/shared/fabric.hpp"

namespace tools_fabric_rooms_tests {

using ibtest::contains;
using ibtest::diags;
using ibtest::FakeFabric;
using ibtest::ibtool;
using ibtest::starts_with;

namespace {

using Fabric = ibtest::SmallFabric;

}  // namespace

TEST_CASE_METHOD(Fabric, "ibaddr in both dialects") {
  CHECK(ibtool(fabric, {"ibaddr", "-l", "3"}).out == "LID start 3 end 3\n");
  CHECK(diags(fabric, {"ibaddr", "3"}).out == "GID fe80::301 LID start 0x3 end 0x3\n");
  CHECK(diags(fabric, {"ibaddr", "-L", "3"}).out == "LID start 3 end 3\n");
  CHECK(diags(fabric, {"ibaddr", "-g"}).out == "GID fe80::201 \n");
  CHECK(diags(fabric, {"ibaddr", "zz"}).out == "ibaddr: iberror: failed: can't resolve destination port zz\n");
  fabric.node(other).faults.silent = true;
  const auto silent = diags(fabric, {"ibaddr", "3"});
  CHECK(silent.status == 255);
  CHECK(silent.out == "ibaddr: iberror: failed: can't resolve requested address\n");
  CHECK(ibtool(fabric, {"ibaddr", "3"}).status == 3);
  CHECK(diags(fabric, {"ibaddr"}, {.full_disk = true}).status == 255);
}

TEST_CASE_METHOD(Fabric, "ibaddr: LIDs that are not there are null") {
  fabric.node(other).ports.at(1).info.lid = ib::Lid{};
  const auto document = ibtool(fabric, {"ibaddr", "0,1,2", "--json"}).out;
  CHECK_THAT(document, contains("\"last_lid\": null") || contains("\"last_lid\":null"));
}

TEST_CASE_METHOD(Fabric, "smpdump in the words of infiniband-diags shows what comes, also what refuses") {
  CHECK(diags(fabric, {"smpdump", "-s", "3", "0x10"}).out == "other\n");
  CHECK_THAT(diags(fabric, {"smpdump", "-D", "0,1,2", "0x10"}).out, starts_with("6f74 6865 7200 0000 0000 0000 0000 0000\n"));
  const auto refused = diags(fabric, {"smpdump", "3", "0x7777"});
  CHECK(refused.status == 0);
  CHECK_THAT(refused.out, contains("SMP status: 0x"));
  CHECK(diags(fabric, {"smpdump", "-D", "", "0x10"}).status == 255);
  CHECK(diags(fabric, {"smpdump", "3"}).status == 2);
  fabric.node(other).faults.silent = true;
  const auto silent = diags(fabric, {"smpdump", "3", "0x10"});
  CHECK(silent.status == 0);
  CHECK_THAT(silent.out, starts_with("0000 0000"));
  CHECK_THAT(silent.err, contains("nothing answered"));
  CHECK(ibtool(fabric, {"smpdump", "3", "0x10"}).status == 3);
  CHECK_THAT(ibtool(fabric, {"smpdump", "-p", "-s", "3", "0x10"}).err, contains("contradict each other"));
}

TEST_CASE_METHOD(Fabric, "ibnetdiscover in the words of infiniband-diags") {
  const auto listed = diags(fabric, {"ibnetdiscover", "-l"});
  CHECK(listed.status == 0);
  CHECK_THAT(listed.out, contains("Switch\t : 0x0000000000000100 ports 4 devid 0x1003 vendid 0x2c9 \"leaf 1\"\n"));
  CHECK_THAT(diags(fabric, {"ibnetdiscover"}).out, contains("Switch\t4 \"S-0000000000000100\"\t\t# \"leaf 1\" base port 0 lid 1 lmc 0\n"));
  CHECK_THAT(diags(fabric, {"ibnetdiscover", "-s", "-S"}).out, contains("-> new ") && contains("DR path slid 0; dlid 0; 0,1,2"));
  CHECK_THAT(diags(fabric, {"ibnetdiscover", "/nowhere/file"}).out, contains("can't open file /nowhere/file for writing"));
  fabric.node(other).faults.silent = true;
  const auto silent = diags(fabric, {"ibnetdiscover", "-l"});
  CHECK(silent.status == 0);
  CHECK_THAT(silent.err, contains("./libibnetdisc/query_smp.c:186; umad (DR path slid 0; dlid 0; 0,1,2 Attr 0x11:0) bad status 110;"));
}

TEST_CASE("ibnetdiscover -g of infiniband-diags takes a router board for a switch") {
  FakeFabric fabric;
  const auto spine = fabric.add_switch(0x100, 24, "spine"), line = fabric.add_switch(0x110, 24, "line");
  const auto router = fabric.add_ca(0x200, 1, "router"), here = fabric.add_ca(0x300, 1, "here");
  for (const auto node : {spine, line, router}) fabric.node(node).info.vendor_id = 0x8f1;
  fabric.node(spine).info.device_id = 0x5a08;
  fabric.node(line).info.device_id = 0x5a09;
  fabric.node(router).info.device_id = 0x5a00;
  fabric.link(spine, 1, line, 1);
  fabric.link(spine, 3, router, 1);
  fabric.link(line, 13, here, 1);
  fabric.assign_lids();
  fabric.attach(here);
  const auto listed = diags(fabric, {"ibnetdiscover", "-g", "-f"}).out;
  CHECK_THAT(listed, contains("switchguid=0x200(201)\t# ISR9288 SRBD 2 Chip 2\n"
                              "Switch\t1 \"H-0000000000000200\"\t\t# \"router\" base port 0 lid 0 lmc 0\n"
                              "[1]\t\"S-0000000000000100\"[3]\t\t# \"spine\" lid 1 4x??? s=0 w=2 v="));
  CHECK_THAT(listed, contains("[3]\t\"H-0000000000000200\"[1](201) \t\t# \"router\" lid 3 4x") && !contains("caguid=0x200"));
  CHECK_THAT(diags(fabric, {"ibnetdiscover"}).out, contains("caguid=0x200\nCa\t1 \"H-0000000000000200\""));
  CHECK_THAT(ibtool(fabric, {"ibnetdiscover", "-g"}).out, contains("Ca\t1 \"H-"));
}

TEST_CASE_METHOD(Fabric, "ibnetdiscover of infiniband-diags writes its listing to a file") {
  char name[] = "/tmp/ibnetdiscover-XXXXXX";
  const int fd = ::mkstemp(name);
  REQUIRE(fd >= 0);
  ::close(fd);
  const auto written = diags(fabric, {"ibnetdiscover", "-S", name});
  CHECK(written.status == 0);
  CHECK(written.out.empty());
  std::stringstream text;
  text << std::ifstream(name).rdbuf();
  ::unlink(name);
  CHECK(text.str() == diags(fabric, {"ibnetdiscover", "-S"}).out);
}

TEST_CASE_METHOD(Fabric, "ibprintca wants a GUID or -l, not both") {
  CHECK_THAT(ibtool(fabric, {"ibprintca", "0x300"}).out, contains("0000:0000:0000:0300"));
  CHECK_THAT(ibtool(fabric, {"ibprintca"}).err, contains("TARGET is missing"));
  CHECK(ibtool(fabric, {"ibprintca", "-l", "0x300"}).status == 2);
  CHECK_THAT(ibtool(fabric, {"ibprintca", "zz"}).err, contains("no node is called 'zz'"));
}

namespace {

ib::tools::World outside(std::FILE* err, ib::Log& log) {
  ib::tools::World world;
  world.err = err;
  world.log = &log;
  return world;
}

ib::async::Task<> wait_beside(ib::tools::ProgressLine& line, std::chrono::milliseconds time) {
  line.count(1284, 52983, "nodes");
  co_await ib::async::sleep_for(time);
}

}  // namespace

TEST_CASE("a line of progress comes after a second, and goes") {
  ibtest::FakeClock clock;
  ib::async::Loop loop(clock);
  const ibtest::PseudoTerminal terminal;
  ib::mad::Stats stats;
  stats.count_first_try(ib::mad::requested);
  stats.retries_lost = 2;
  stats.timeouts = 3;
  {
    ib::Log log(terminal.file);
    const ib::tools::World world = outside(terminal.file, log);
    ib::tools::ProgressLine line(loop, world);
    line.count_mads(&stats);
    loop.run(wait_beside(line, std::chrono::milliseconds(900)));
    CHECK(terminal.text().empty());
    loop.run(wait_beside(line, std::chrono::milliseconds(400)));
    CHECK_THAT(terminal.text(), contains("1,284 of 52,983 nodes, 3 MADs (2 tried again, 3 lost), ") && contains(", 1 s\x1b[K"));
    log.about_to_write();  // takes it away for a second
    CHECK_THAT(terminal.text(), ibtest::ends_with("\r\x1b[K"));
    loop.run(wait_beside(line, std::chrono::milliseconds(900)));
    CHECK(terminal.text().empty());
    loop.run(wait_beside(line, std::chrono::milliseconds(200)));
    CHECK_THAT(terminal.text(), contains(", 2 s\x1b[K"));
  }
  CHECK_THAT(terminal.text(), ibtest::ends_with("\r\x1b[K"));
}

TEST_CASE("progress is shown only on terminals that can erase a line") {
  ibtest::FakeClock clock;
  ib::async::Loop loop(clock);
  std::FILE* file = std::tmpfile();
  {
    ib::Log log(file);
    const ib::tools::World world = outside(file, log);
    ib::tools::ProgressLine line(loop, world);
    loop.run(wait_beside(line, std::chrono::milliseconds(5000)));
  }
  CHECK(std::ftell(file) == 0);
  std::fclose(file);
  const ibtest::PseudoTerminal terminal;
  {
    ib::Log log(terminal.file);
    ib::tools::World world = outside(terminal.file, log);
    world.is_dumb = true;
    ib::tools::ProgressLine line(loop, world);
    loop.run(wait_beside(line, std::chrono::milliseconds(5000)));
  }
  CHECK(terminal.text().empty());
}

TEST_CASE_METHOD(Fabric, "a run without a fabric shows its MADs, and the line is gone before its result comes") {
  ::setenv("TERM", "xterm", 1);
  const ibtest::PseudoTerminal terminal;
  fabric.node(other).faults.ignores = ib::smp::NodeDescription::attribute_id;
  CHECK(ibtool(fabric, {"smpquery", "nodedesc", "-D", "0,1,2"}, {.err = terminal.file}).status == 3);
  CHECK_THAT(terminal.text(), contains("\r3 MADs (2 tried again, 2 lost), ") && contains("\r\x1b[KE: No answer "));
}

TEST_CASE_METHOD(Fabric, "the line of progress counts the nodes of a small fabric too") {
  ::setenv("TERM", "xterm", 1);
  const ibtest::PseudoTerminal terminal;
  fabric.node(other).faults.ignores = ib::smp::NodeDescription::attribute_id;
  CHECK(ibtool(fabric, {"ibnetdiscover"}, {.err = terminal.file}).status == 4);
  CHECK_THAT(terminal.text(), contains("\r3 nodes, ") && contains(" lost), "));
}

}  // namespace tools_fabric_rooms_tests
