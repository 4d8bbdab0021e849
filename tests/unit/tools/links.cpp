// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// iblinkinfo, ibhosts and its kin, and ibidsverify in the words of infiniband-diags; what all of infiniband-diags' programs say where a
// node or a device is not there.
#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <functional>

#include "base/bytes.hpp"
#include "iba-gen/smp.hpp"
#include "support/catch.hpp"
#include "support/fake_sa.hpp"
#include "support/program.hpp"
#include "tools/shared/fabric.hpp"

namespace tools_links_tests {

using ibtest::contains;
using ibtest::diags;
using ibtest::FakeFabric;
using ibtest::ibtool;
using ibtest::starts_with;

namespace {

constexpr std::uint32_t extended_speeds = 1U << 14, capability_mask2 = 1U << 15;
constexpr std::uint16_t extended_speeds2 = 1U << 11;

/// Two switches (LIDs 1, 2), linked by their ports 3; the host of the test (LID 3) and another one (LID 4) at ports 1 and 2 of the first.
struct Fabric {
  FakeFabric fabric;
  FakeFabric::NodeId leaf, spine, here, other;

  Fabric() {
    leaf = fabric.add_switch(0x100, 4, "leaf \"one\"");
    spine = fabric.add_switch(0x110, 4, "spine");
    here = fabric.add_ca(0x200, 1, "here");
    other = fabric.add_ca(0x300, 1, "other\x1b[31m");
    fabric.link(leaf, 1, here, 1);
    fabric.link(leaf, 2, other, 1);
    fabric.link(leaf, 3, spine, 3);
    constexpr std::uint16_t no_fdr10 = 0x673c;
    for (const auto node : {leaf, spine, here, other}) fabric.node(node).info.device_id = no_fdr10;
    fabric.assign_lids();
    fabric.attach(here);
  }

  ib::smp::PortInfo& port(FakeFabric::NodeId node, unsigned number) { return fabric.node(node).ports.at(number).info; }

  /// The line of the other host's port, whose ends are set as given.
  std::string line(const std::function<void(ib::smp::PortInfo&)>& set) {
    set(port(other, 1));
    set(port(leaf, 2));
    set(port(leaf, 0));
    const std::string out = diags(fabric, {"iblinkinfo", "--cas-only", "-l"}).out;
    return out.substr(0, out.find('\n') + 1);
  }
};

/// A file with `text`, gone at the end.
class TextFile {
 public:
  explicit TextFile(std::string_view text) {
    const int fd = ::mkstemp(name_.data());
    REQUIRE(fd >= 0);
    ::close(fd);
    std::ofstream(name_) << text;
  }
  ~TextFile() { ::unlink(name_.c_str()); }
  TextFile(const TextFile&) = delete;
  TextFile& operator=(const TextFile&) = delete;
  const std::string& name() const { return name_; }

 private:
  std::string name_ = "/tmp/links-XXXXXX";
};

}  // namespace

TEST_CASE_METHOD(Fabric, "iblinkinfo of infiniband-diags: headings and lines, the last found node first") {
  CHECK(diags(fabric, {"iblinkinfo"}).out ==
        "Switch: 0x0000000000000110 spine:\n"
        "           2    1[  ] ==(                Down/ Polling)==>             [  ] \"\" ( )\n"
        "           2    2[  ] ==(                Down/ Polling)==>             [  ] \"\" ( )\n"
        "           2    3[  ] ==( 4X          10.0 Gbps Active/  LinkUp)==>       1    3[  ] \"leaf \"one\"\" ( )\n"
        "           2    4[  ] ==(                Down/ Polling)==>             [  ] \"\" ( )\n"
        "CA: other [31m:\n"
        "      0x0000000000000301      4    1[  ] ==( 4X          10.0 Gbps Active/  LinkUp)==>       1    2[  ] \"leaf \"one\"\" ( )\n"
        "Switch: 0x0000000000000100 leaf \"one\":\n"
        "           1    1[  ] ==( 4X          10.0 Gbps Active/  LinkUp)==>       3    1[  ] \"here\" ( )\n"
        "           1    2[  ] ==( 4X          10.0 Gbps Active/  LinkUp)==>       4    1[  ] \"other [31m\" ( )\n"
        "           1    3[  ] ==( 4X          10.0 Gbps Active/  LinkUp)==>       2    3[  ] \"spine\" ( )\n"
        "           1    4[  ] ==(                Down/ Polling)==>             [  ] \"\" ( )\n"
        "CA: here:\n"
        "      0x0000000000000201      3    1[  ] ==( 4X          10.0 Gbps Active/  LinkUp)==>       1    1[  ] \"leaf \"one\"\" ( )\n");
  CHECK(diags(fabric, {"iblinkinfo", "--cas-only", "-l"}).out ==
        "0x0000000000000301 \"                    other [31m\"      4    1[  ] ==( 4X          10.0 Gbps Active/  LinkUp)==>  "
        "0x0000000000000100      1    2[  ] \"leaf \"one\"\" ( )\n"
        "0x0000000000000201 \"                          here\"      3    1[  ] ==( 4X          10.0 Gbps Active/  LinkUp)==>  "
        "0x0000000000000100      1    1[  ] \"leaf \"one\"\" ( )\n");
  CHECK(diags(fabric, {"iblinkinfo", "-d", "--switches-only"}).out ==
        "Switch: 0x0000000000000110 spine:\n"
        "           2    1[  ] ==(                Down/ Polling)==>             [  ] \"\" ( )\n"
        "           2    2[  ] ==(                Down/ Polling)==>             [  ] \"\" ( )\n"
        "           2    4[  ] ==(                Down/ Polling)==>             [  ] \"\" ( )\n"
        "Switch: 0x0000000000000100 leaf \"one\":\n"
        "           1    4[  ] ==(                Down/ Polling)==>             [  ] \"\" ( )\n");
  port(leaf, 1).hoq_life = 16;
  port(leaf, 1).vl_stall_count = 7;
  CHECK_THAT(diags(fabric, {"iblinkinfo", "-p"}).out, contains("LinkUp) (HOQ:16 VL_Stall:7)==>       3    1[  ] \"here\""));
  CHECK(diags(fabric, {"iblinkinfo", "-R"}).status == 2);
  CHECK(diags(fabric, {"iblinkinfo", "--diffcheck", "port,sw"}).status == 2);
  CHECK(diags(fabric, {"iblinkinfo"}, {.full_disk = true}).status == 255);
}

TEST_CASE_METHOD(Fabric, "iblinkinfo of infiniband-diags: every width and speed, and what a link could be") {
  CHECK_THAT(line([](auto& info) {
               info.link_width_active = 16;
               info.link_width_supported = 31;
               info.link_speed_active = 1;
             }),
             contains("==( 2X           2.5 Gbps Active/  LinkUp)==>") && contains("(Could be 12X Could be 10.0 Gbps)\n"));
  const auto extended = [](unsigned active, unsigned supported) {
    return [=](ib::smp::PortInfo& info) {
      info.link_width_active = info.link_width_supported = 2;
      info.link_speed_active = 4;
      info.capability_mask |= extended_speeds;
      info.link_speed_ext_active = static_cast<std::uint8_t>(active);
      info.link_speed_ext_supported = static_cast<std::uint8_t>(supported);
    };
  };
  CHECK_THAT(line(extended(1, 1)), contains("( 4X       14.0625 Gbps Active/  LinkUp)") && contains("\" ( )\n"));
  CHECK_THAT(line(extended(2, 7)), contains("( 4X      25.78125 Gbps Active/") && contains("( Could be 53.125 Gbps)\n"));
  CHECK_THAT(line(extended(8, 15)), contains("( 4X        106.25 Gbps Active/") && contains("\" ( )\n"));
  CHECK_THAT(line(extended(0, 0)), contains("( 4X          10.0 Gbps Active/") && contains("\" ( )\n"));
  const auto xdr = [&](unsigned active2) {
    return [=](ib::smp::PortInfo& info) {
      extended(8, 15)(info);
      info.capability_mask |= capability_mask2;
      info.capability_mask2 |= extended_speeds2;
      info.link_speed_ext_supported2 = 1;
      info.link_speed_ext_active2 = static_cast<std::uint8_t>(active2);
    };
  };
  CHECK_THAT(line(xdr(1)), contains("( 4X         212.5 Gbps Active/") && contains("\" ( )\n"));
  CHECK_THAT(line(xdr(0)), contains("( 4X        106.25 Gbps Active/") && contains("( Could be 212.5 Gbps)\n"));
}

TEST_CASE_METHOD(Fabric, "iblinkinfo of infiniband-diags looks at one node") {
  const std::string leaf_alone = diags(fabric, {"iblinkinfo", "-D", "0,1"}).out;
  CHECK_THAT(leaf_alone, starts_with("Switch: 0x0000000000000100 leaf \"one\":\n") && contains("2    3[  ] \"spine\" ( )"));
  CHECK_THAT(leaf_alone, !contains("CA:"));
  // At the end of a route that is an end node: the port that it is linked to.
  CHECK(diags(fabric, {"iblinkinfo", "-D", "0,1,2"}).out ==
        "CA: other [31m:\n"
        "      0x0000000000000301      4    1[  ] ==( 4X          10.0 Gbps Active/  LinkUp)==>       1    2[  ] \"leaf \"one\"\" ( )\n");
  CHECK(diags(fabric, {"iblinkinfo", "-D", "0", "-l"}).out == diags(fabric, {"iblinkinfo", "-D", "0", "-l", "-n", "1"}).out);
  const auto nothing_there = diags(fabric, {"iblinkinfo", "-D", "0,1,4"});
  CHECK(nothing_there.status == 1);
  CHECK(nothing_there.out.empty());
  CHECK_THAT(nothing_there.err, contains("mad_rpc: _do_madrpc failed; dport (DR path slid 65535; dlid 65535; 0,1,4)\n") &&
                                    contains("\nFailed to get local Node Info\n"));
  const auto none = diags(fabric, {"iblinkinfo", "-a", "-D", "0,1,4"});
  CHECK(none.status == 0);
  CHECK(none.out.empty());
  CHECK_THAT(none.err,
             contains("./libibnetdisc/query_smp.c:186; umad (DR path slid 65535; dlid 65535; 0,1,4 Attr 0x11:0) bad status 110;"));
  const auto other_kind = diags(fabric, {"iblinkinfo", "-D", "0,1", "--cas-only"});
  CHECK(other_kind.out.empty());
  CHECK(other_kind.err == "Failed to find port: 0,1\n");
  const auto no_guid = diags(fabric, {"iblinkinfo", "-S", "0"});
  CHECK(no_guid.status == 0);
  CHECK_THAT(no_guid.err, contains("main: Failed to resolve 0; attempting full scan\n\n") && contains("Failed to find port: 0\n"));
  CHECK(diags(fabric, {"iblinkinfo", "--load-cache", "/nowhere", "-D", "0"}).err == "Cannot specify cache and direct route path\n");
}

TEST_CASE_METHOD(Fabric, "iblinkinfo of infiniband-diags finds a node by its port GUID, also where routes from a LID are not answered") {
  const ibtest::FakeSa sa(fabric);
  const std::string by_route = diags(fabric, {"iblinkinfo", "-D", "0,1"}).out;
  CHECK(diags(fabric, {"iblinkinfo", "-S", "0x100"}).out == by_route);
  CHECK(diags(fabric, {"iblinkinfo", "-G", "0x100", "-a"}).out == diags(fabric, {"iblinkinfo", "-D", "0,1", "-a"}).out);
  fabric.network.combined_routes = false;
  const auto swept = diags(fabric, {"iblinkinfo", "-S", "0x100"});
  CHECK(swept.out == by_route);
  CHECK(swept.err.empty());
  CHECK_THAT(diags(fabric, {"iblinkinfo", "-S", "0x777"}).err,
             contains("main: Failed to resolve 0x777; attempting full scan\n\n") && contains("Failed to find port: 0x777\n"));
}

TEST_CASE_METHOD(Fabric, "iblinkinfo of infiniband-diags: a bound of hops leaves links at the rim unseen") {
  // libibnetdisc notices the bound one hop late: beyond the first switch it tries one link, and then no other.
  CHECK(diags(fabric, {"iblinkinfo", "-n", "1"}).out ==
        "CA: other [31m:\n"
        "      0x0000000000000301      4    1[  ] ==( 4X          10.0 Gbps Active/  LinkUp)==>       1    2[  ] \"leaf \"one\"\" ( )\n"
        "Switch: 0x0000000000000100 leaf \"one\":\n"
        "           1    1[  ] ==( 4X          10.0 Gbps Active/  LinkUp)==>       3    1[  ] \"here\" ( )\n"
        "           1    2[  ] ==( 4X          10.0 Gbps Active/  LinkUp)==>       4    1[  ] \"other [31m\" ( )\n"
        "           1    3[  ] ==( 4X          10.0 Gbps Active/  LinkUp)==>      \"Port not available\"\n"
        "           1    4[  ] ==(                Down/ Polling)==>             [  ] \"\" ( )\n"
        "CA: here:\n"
        "      0x0000000000000201      3    1[  ] ==( 4X          10.0 Gbps Active/  LinkUp)==>       1    1[  ] \"leaf \"one\"\" ( )\n");
  CHECK(diags(fabric, {"iblinkinfo", "-n", "3"}).out == diags(fabric, {"iblinkinfo"}).out);
  CHECK_THAT(diags(fabric, {"iblinkinfo", "-a", "-D", "0,1"}).out,
             contains("CA: here:\n") && contains("Switch: 0x0000000000000110 spine:\n"));
}

TEST_CASE_METHOD(Fabric, "iblinkinfo of infiniband-diags: a silent node is reported by its route, the rest is printed") {
  fabric.node(other).faults.silent = true;
  const auto silent = diags(fabric, {"iblinkinfo"});
  CHECK(silent.status == 0);
  CHECK_THAT(silent.out, contains("           1    2[  ] ==( 4X          10.0 Gbps Active/  LinkUp)==>      \"Port not available\"\n"));
  CHECK(silent.err ==
        "./libibnetdisc/query_smp.c:186; umad (DR path slid 0; dlid 0; 0,1,2 Attr 0x11:0) bad status 110; Connection timed out\n");
  fabric.node(other).faults = {};
  fabric.node(other).faults.status = 0x1c;
  CHECK_THAT(diags(fabric, {"iblinkinfo"}).err,
             contains("./libibnetdisc/query_smp.c:193; mad (DR path slid 0; dlid 0; 0,1,2 Attr 0x11:0) bad status 0x1c\n"));
  // Of a switch whose port 0 is silent libibnetdisc asks no other port, and tells of none.
  fabric.node(other).faults = {};
  fabric.node(spine).faults.ignores = ib::smp::PortInfo::attribute_id;
  const std::string err = diags(fabric, {"iblinkinfo"}).err;
  CHECK_THAT(err, contains("0,1,3 Attr 0x15:0)") && !contains("Attr 0x15:1)"));
}

TEST_CASE_METHOD(Fabric, "iblinkinfo of infiniband-diags reads caches and reports differences") {
  const TextFile cache("");
  REQUIRE(diags(fabric, {"ibnetdiscover", "--cache", cache.name(), "-l"}).status == 0);
  const std::string now = diags(fabric, {"iblinkinfo"}).out;
  CHECK(diags(fabric, {"iblinkinfo", "--load-cache", cache.name()}).out == now);
  CHECK_THAT(diags(fabric, {"iblinkinfo", "--load-cache", cache.name(), "-S", "0x110", "-l"}).out,
             starts_with("0x0000000000000110 \"                         spine\"      2    1[  ]"));
  CHECK(diags(fabric, {"iblinkinfo", "--diff", cache.name()}).out.empty());
  CHECK_THAT(diags(fabric, {"iblinkinfo", "--filterdownports", cache.name()}).out, !contains("Down"));
  fabric.set_link(leaf, 2, false);
  CHECK(diags(fabric, {"iblinkinfo", "--diff", cache.name(), "--switches-only"}).out ==
        "Switch: 0x0000000000000100 leaf \"one\":\n"
        "<            1    2[  ] ==( 4X          10.0 Gbps Active/  LinkUp)==>       4    1[  ] \"other [31m\" ( )\n"
        ">            1    2[  ] ==(                Down/Disabled)==>             [  ] \"\" ( )\n");
  CHECK_THAT(diags(fabric, {"iblinkinfo", "--diff", cache.name()}).out, contains("< CA: other [31m:\n<       0x0000000000000301"));
  // A port that went down since then is not filtered.
  CHECK(diags(fabric, {"iblinkinfo", "-d", "-l", "--filterdownports", cache.name()}).out ==
        "0x0000000000000100 \"                    leaf \"one\"\"      1    2[  ] ==(                Down/Disabled)==>             [  ] "
        "\"\" ( )\n");
  const auto no_cache = diags(fabric, {"iblinkinfo", "--load-cache", "/nowhere"});
  CHECK(no_cache.status == 1);
  CHECK(no_cache.err == "loading cached fabric failed\n");
  CHECK(diags(fabric, {"iblinkinfo", "--diff", "/nowhere"}).out ==
        "iblinkinfo: iberror: failed: loading cached fabric for diff failed\n\n");
}

TEST_CASE_METHOD(Fabric, "ibhosts and its kin of infiniband-diags") {
  const auto hosts = diags(fabric, {"ibhosts"});
  CHECK(hosts.status == 0);
  CHECK(hosts.out == "Ca\t: 0x0000000000000300 ports 1 \"other [31m\"\nCa\t: 0x0000000000000200 ports 1 \"here\"\n");
  const auto switches = diags(fabric, {"ibswitches", "-t", "500", "-y", "0"});
  CHECK(switches.out ==
        "Switch\t: 0x0000000000000110 ports 4 \"spine\" base port 0 lid 2 lmc 0\n"
        "Switch\t: 0x0000000000000100 ports 4 \"leaf \"one\"\" base port 0 lid 1 lmc 0\n");
  CHECK(diags(fabric, {"ibnodes"}).out == hosts.out + switches.out);
  CHECK(diags(fabric, {"ibrouters"}).out.empty());
  fabric.node(other).faults.silent = true;
  const auto silent = diags(fabric, {"ibhosts"});
  CHECK(silent.status == 0);
  CHECK(silent.out == "Ca\t: 0x0000000000000200 ports 1 \"here\"\n");
  CHECK_THAT(silent.err, contains("query_smp.c:186; umad (DR path slid 0; dlid 0; 0,1,2 Attr 0x11:0)"));
  CHECK(diags(fabric, {"ibhosts"}, {.full_disk = true}).status == 255);
}

TEST_CASE_METHOD(Fabric, "Operands of the scripts: wrong ones, and the messages of ibnetdiscover") {
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"ibhosts", "-h"}, {"ibhosts", "-x"}, {"ibhosts", "-C", "-P"}, {"ibhosts", "-t"}, {"ibhosts", "a", "b"}}) {
    const auto usage = diags(fabric, words);
    CHECK(usage.status == 255);
    CHECK_THAT(usage.out, starts_with("Usage: ibhosts "));
  }
  const auto both = diags(fabric, {"ibnodes", "-C", "-P"});
  CHECK(both.status == 255);
  CHECK_THAT(both.out, starts_with("Usage: ibhosts ") && contains("\nUsage: ibswitches "));
  ::unsetenv("IBPATH");
  const auto bad_time = diags(fabric, {"ibswitches", "-t", "0"});
  CHECK(bad_time.status == 255);
  CHECK_THAT(bad_time.out, starts_with("/usr/sbin/ibnetdiscover: iberror: failed: Invalid timeout \"0\"."));
  CHECK(diags(fabric, {"ibnodes", "-C", "nodev"}).out ==
        "/usr/sbin/ibnetdiscover: iberror: failed: discover failed\n/usr/sbin/ibnetdiscover: iberror: failed: discover failed\n");
}

TEST_CASE_METHOD(Fabric, "ibhosts and its kin of infiniband-diags read topology files") {
  const TextFile file(
      "#\n# Topology file\nvendid=0x2c9\n"
      "Switch\t8 \"S-0000000000000100\"\t\t# \"a\" base port 0 lid 2 lmc 0\n[1]\t\"H-0000000000000200\"[1](201) \t\t# \"ibwarn: b\" lid 1 "
      "4xQDR\n"
      "Ca\t2 \"H-0000000000000200\"\t\t# \"ibwarn: b\"\nRt\t1 \"R-0000000000000300\"\t\t# \"c #2\"\nibwarn: [7] x: y\n");
  const std::string complaint = "ibwarn: [7] x: y\n";
  CHECK(diags(fabric, {"ibhosts", file.name()}).out == "Ca\t: 0x0000000000000200 ports 2 \"ibwarn: b\"\n" + complaint);
  CHECK(diags(fabric, {"ibswitches", file.name()}).out ==
        "Switch\t: 0x0000000000000100 ports 8 \"a\" base port 0 lid 2 lmc 0\n" + complaint);
  CHECK(diags(fabric, {"ibrouters", file.name()}).out == "Rt\t: 0x0000000000000300 ports 1 \"c #2\"\n" + complaint);
  const auto none = diags(fabric, {"ibhosts", "/nowhere"});
  CHECK(none.status == 1);
  CHECK(none.out.empty());
  CHECK_THAT(none.err, contains("/nowhere"));
}

TEST_CASE_METHOD(Fabric, "ibhosts and its kin cut no character of a file in half, and let none through to the terminal") {
  const TextFile file("Ca\t2 \"H-00000000000002\u20ac00\"\t\t# \"a \x1b]0;owned\x07\u00e9\"\n");  // the euro is at the 15th byte
  CHECK(diags(fabric, {"ibhosts", file.name()}).out == "Ca\t: 0x00000000000002  ports 2 \"a  ]0;owned \u00e9\"\n");
}

TEST_CASE_METHOD(Fabric, "A line of a switch in a list: what stands before the first \"port 0\" loses a blank, and nothing else is lost") {
  const TextFile file(
      "Switch\t8 \"S-0000000000000100\"\t\t# \"port 0 of x\" enhanced port 0 lid 5 lmc 3\nSwitch 8\nCa\t8 \"H-0000000000000100\"\t\t# "
      "\"x\"\n");
  CHECK(diags(fabric, {"ibswitches", file.name()}).out ==
        "Switch\t: 0x0000000000000100 ports 8  port 0 of x\" enhanced port 0 lid 5 lmc 3\nSwitch\t: 0x ports 8  Switch 8\n");
}

TEST_CASE_METHOD(Fabric, "ibidsverify finds LIDs and GUIDs that are zero or there twice, in both dialects") {
  CHECK(diags(fabric, {"ibidsverify", "-R"}).out.empty());
  CHECK(diags(fabric, {"ibidsverify"}).status == 0);
  CHECK(diags(fabric, {"ibidsverify", "--help"}).status == 0);
  CHECK_THAT(diags(fabric, {"ibidsverify", "--help"}).err, contains("Usage: ibidsverify"));
  CHECK(diags(fabric, {"ibidsverify", "-R", "-C"}).status == 2);  // -C has no value
  CHECK(ibtool(fabric, {"ibidsverify"}).out == "## Summary: 4 nodes checked, 0 bad nodes found\n");
  CHECK_THAT(ibtool(fabric, {"ibidsverify", "-v"}).out,
             contains("# Checking Switch: nodeguid 0000:0000:0000:0100 lid 1\nNode check lid 1: OK\n") &&
                 contains("# Checking Channel Adapter: nodeguid 0000:0000:0000:0300 lid 4 port 1\nNode check lid 4: OK\n"));
  port(other, 1).lid = ib::Lid{2};
  port(here, 1).lid = ib::Lid{0};
  const auto theirs = diags(fabric, {"ibidsverify", "-R"});
  CHECK(theirs.status == 1);
  CHECK(theirs.out == "LID 2 already defined for NodeGUID 0x110\nLID 0 found for ca NodeGUID 0x200\n");
  const auto ours = ibtool(fabric, {"ibidsverify"});
  CHECK(ours.status == 1);
  CHECK_THAT(
      ours.out,
      contains("Node check lid 2: FAILED\n#error: Duplicate LIDs found, 0000:0000:0000:0301 0000:0000:0000:0110, at lid 2 port 0\n") &&
          contains("#error: The LID is 0, at lid 0 port 1\n") && contains("## Summary: 4 nodes checked, 2 bad nodes found\n"));
  CHECK_THAT(ibtool(fabric, {"ibidsverify", "--json"}).out, contains("\"message\": \"The LID is 0, at lid 0 port 1\"") &&
                                                                contains("\"verdict\": \"failed\"") && contains("\"status\": 1"));
  fabric.node(spine).faults.silent = true;
  port(other, 1).lid = ib::Lid{4};
  port(here, 1).lid = ib::Lid{3};
  CHECK(ibtool(fabric, {"ibidsverify"}).status == 4);
  CHECK(ibtool(fabric, {"ibidsverify", "extra"}).status == 2);
}

TEST_CASE_METHOD(Fabric, "ibidsverify of infiniband-diags: its words") {
  const auto help = diags(fabric, {"ibidsverify", "-h"});
  CHECK(help.status == 2);
  CHECK_THAT(help.out, starts_with("Usage: ibidsverify"));
  const auto wrong = diags(fabric, {"ibidsverify", "-Rx"});
  CHECK(wrong.status == 2);
  CHECK(wrong.err == "Unknown option: x\n");
  const auto no_device = diags(fabric, {"ibidsverify", "-R", "-C", "nodev"});
  CHECK(no_device.status == 255);
  CHECK_THAT(no_device.err, contains("can't open UMAD port (nodev:0)\n"));
}

TEST_CASE_METHOD(Fabric, "ibidsverify of infiniband-diags reads the fabric each time") {
  CHECK(diags(fabric, {"ibidsverify"}).out.empty());
  port(other, 1).lid = ib::Lid{2};
  CHECK(diags(fabric, {"ibidsverify"}).out == "LID 2 already defined for NodeGUID 0x110\n");
  CHECK(diags(fabric, {"ibidsverify", "-R"}).out == "LID 2 already defined for NodeGUID 0x110\n");
}

TEST_CASE_METHOD(Fabric, "ibidsverify of infiniband-diags: GUIDs that several nodes or ports claim") {
  // The GUID of port 1 of an adapter is that of its node and 1.
  const auto complaints = [this](FakeFabric::NodeId node, std::uint64_t guid) {
    const ib::Guid was = std::exchange(fabric.node(node).info.node_guid, ib::Guid{guid});
    const std::string out = diags(fabric, {"ibidsverify"}).out;
    fabric.node(node).info.node_guid = was;
    return out;
  };
  CHECK(complaints(other, 0x300).empty());
  CHECK(complaints(other, 0x10f) == "PortGUID 0x110 already defined for LID 2\n");
  CHECK(complaints(here, 0x2ff) == "PortGUID 0x300 is an invalid duplicate of a NodeGUID\n");  // the other node stands before it
  CHECK(complaints(other, ~std::uint64_t{0}) == "ca GUID 0x0 found with LID 4\n");
}

TEST_CASE_METHOD(Fabric, "A program that was called by its path in bin or sbin calls itself so, a link elsewhere by its name") {
  CHECK(diags(fabric, {"/usr/sbin/ibaddr", "zz"}).out == "/usr/sbin/ibaddr: iberror: failed: can't resolve destination port zz\n");
  CHECK_THAT(diags(fabric, {"/usr/sbin/ibaddr", "-Z"}).err,
             starts_with("/usr/sbin/ibaddr: invalid option -- 'Z'\n") && contains("Usage: /usr/sbin/ibaddr "));
  CHECK(diags(fabric, {"bin/ibaddr", "-V"}).err == "bin/ibaddr BUILD VERSION: 44.0\n");
  CHECK(diags(fabric, {"/opt/bin/../bin/ibaddr", "zz"}).out ==
        "/opt/bin/../bin/ibaddr: iberror: failed: can't resolve destination port zz\n");
  CHECK(diags(fabric, {"./ibaddr", "-V"}).err == "ibaddr BUILD VERSION: 44.0\n");
  CHECK(diags(fabric, {"/tmp/links/ibaddr", "zz"}).out == "ibaddr: iberror: failed: can't resolve destination port zz\n");
  CHECK_THAT(diags(fabric, {"/tmp/usrbin/ibaddr", "-Z"}).err, starts_with("ibaddr: invalid option -- 'Z'\n") && contains("Usage: ibaddr "));
  CHECK(diags(fabric, {"/ibaddr", "-V"}).err == "ibaddr BUILD VERSION: 44.0\n");
  CHECK_THAT(diags(fabric, {"/opt/ibhosts", "-h"}).out, starts_with("Usage: ibhosts "));  // a script takes its own name only
}

TEST_CASE_METHOD(Fabric, "The messages of infiniband-diags for an unknown device") {
  const auto discover = diags(fabric, {"ibnetdiscover", "-C", "nodev"});
  CHECK(discover.status == 255);
  CHECK(discover.out == "ibnetdiscover: iberror: failed: discover failed\n\n");
  CHECK_THAT(discover.err, ibtest::ends_with("mad_rpc_open_port: can't open UMAD port (nodev:0)\n"));
  const auto links = diags(fabric, {"iblinkinfo", "-P", "7"});
  CHECK(links.status == 1);
  CHECK(links.out.empty());
  CHECK_THAT(links.err, contains("\nFailed to open (null) port 7\n"));
  const auto records = diags(fabric, {"saquery", "-C", "nodev"});
  CHECK(records.status == 255);
  CHECK(records.out.empty());
  CHECK_THAT(records.err, contains("sa_get_handle: No SM/SA found on port :0\n") &&
                              contains("main: Failed to bind to the SA: No such file or directory\n"));
  CHECK(diags(fabric, {"ibnetdiscover", "-s", "/nowhere/file"}).out ==
        "ibnetdiscover: iberror: failed: can't open file /nowhere/file for writing\n");
  CHECK(diags(fabric, {"ibhosts", "/nowhere/file"}).err == "cat: /nowhere/file: No such file or directory\n");
}

// As Debian's programs end on ibsim without opensm.
TEST_CASE("The messages of infiniband-diags in a fabric without a subnet manager") {
  FakeFabric fabric;
  const auto leaf = fabric.add_switch(0x100, 4, "leaf"), here = fabric.add_ca(0x200, 1, "here");
  fabric.link(leaf, 1, here, 1);
  fabric.attach(here);
  const auto counters = diags(fabric, {"perfquery"});
  CHECK(counters.status == 255);
  CHECK(counters.out == "perfquery: iberror: failed: classportinfo query\n");
  CHECK_THAT(counters.err, contains("mad_rpc: _do_madrpc failed; dport (DR path slid 0; dlid 0; 0)\n"));
  CHECK(diags(fabric, {"ibccquery", "CI", "0"}).out == "ibccquery: iberror: failed: can't resolve destination 0\n");
  CHECK(diags(fabric, {"ibportstate", "0", "1", "speed"}).out == "ibportstate: iberror: failed: can't resolve destination port 0\n");
  const auto errors = diags(fabric, {"ibqueryerrors"});
  CHECK(errors.status == 0);
  CHECK(errors.out.empty());
  CHECK_THAT(errors.err, contains("sa_get_handle: No SM/SA found on port (null):0\n"));
}

TEST_CASE_METHOD(Fabric, "a request that is not answered is one line on stderr by a legacy name, whoever noticed it") {
  fabric.node(other).faults.silent = true;
  for (const bool reports : {true, false}) {
    fabric.network.reports = reports;
    for (const std::vector<std::string>& words : {std::vector<std::string>{"smpquery", "NI", "4"}, {"smpquery", "-e", "NI", "4"}}) {
      const std::string err = diags(fabric, words).err;
      CHECK_THAT(err, starts_with("ibwarn: [") && ibtest::ends_with("mad_rpc: _do_madrpc failed; dport (Lid 4)\n"));
      CHECK(std::ranges::count(err, '\n') == 1);
    }
  }
}

TEST_CASE("lists of nodes and of links can be printed as tables") {
  Fabric on;
  const auto hosts = ibtool(on.fabric, {"ibhosts", "--columns", "node_description,lid", "--sort=-lid", "--format", "csv"});
  CHECK(hosts.out == "node_description,lid\r\nhere,\r\nother\xef\xbf\xbd[31m,\r\n");
  const auto switches = ibtool(on.fabric, {"ibswitches", "--columns=node_description,lid", "--sort=-lid"});
  CHECK(switches.out == "NODE        LID\nspine         2\nleaf \"one\"    1\n");
  const auto first = ibtool(on.fabric, {"ibswitches", "--format", "table", "--top", "1"});
  CHECK(std::ranges::count(first.out, '\n') == 2);
  CHECK_THAT(first.out, contains("leaf \"one\""));
  constexpr auto keys = "node_description,port_num,state,peer.node_description";
  const auto links = ibtool(on.fabric, {"iblinkinfo", "--columns", keys, "--format", "tsv"});
  CHECK_THAT(links.out, starts_with("node_description\tport_num\tstate\tstate_text\tpeer.node_description\n"));
  CHECK_THAT(links.out, contains("leaf \"one\"\t3\t4\tActive\tspine\n"));
  const auto refused = ibtool(on.fabric, {"iblinkinfo", "--sort", "lid", "--json"});
  CHECK(refused.status == 2);
  CHECK_THAT(refused.err, contains("--sort is for a table, whose rows are ports: JSON has nodes"));
  CHECK(ibtool(on.fabric, {"ibhosts", "--columns", "colour"}).status == 2);
}

}  // namespace tools_links_tests
