// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// subnet_diff: a fabric against its own listing of before, in both forms of listings.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>

#include <nlohmann/json.hpp>

#include "support/catch.hpp"
#include "support/fake_sa.hpp"
#include "support/program.hpp"

namespace tools_subnet_diff_tests {

using ibtest::contains;
using ibtest::diags;
using ibtest::FakeFabric;
using ibtest::ibtool;
using nlohmann::json;

namespace {

/// A file that goes with the test.
struct File {
  char name[32] = "/tmp/ibtool-fabric-XXXXXX";
  explicit File(const std::string& text) {
    const int fd = ::mkstemp(name);
    REQUIRE(fd >= 0);
    ::close(fd);
    std::ofstream(name) << text;
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  ~File() { std::remove(name); }
};

/// Two switches (LIDs 1, 2) with two links between them, and a host each (3, 4).
struct Site {
  FakeFabric fabric;
  FakeFabric::NodeId near = fabric.add_switch(0x100, 4, "near"), far = fabric.add_switch(0x200, 4, "far \"x\" # lid 9 4xQDR");
  FakeFabric::NodeId here = fabric.add_ca(0x300, 1, "here"), other = fabric.add_ca(0x400, 2, "other");

  Site() {
    fabric.link(near, 1, here, 1);
    fabric.link(near, 2, far, 2);
    fabric.link(near, 3, far, 3);
    fabric.link(far, 1, other, 1);
    fabric.assign_lids();
    fabric.attach(here);
  }
  ibtest::Outcome compare(const std::string& reference, std::vector<std::string> more = {}) {
    const File file(reference);
    std::vector<std::string> words{"subnet_diff", file.name};
    words.insert(words.end(), more.begin(), more.end());
    return ibtool(fabric, std::move(words));
  }
  std::string listing() { return ibtool(fabric, {"ibnetdiscover"}).out; }
};

constexpr const char* same =
    "Current subnet has 4 end ports, reference subnet has 4 end ports\n"
    " All end ports in the current subnet are in the reference subnet.\n"
    " All end ports in the reference subnet are in the current subnet.\n"
    "Current subnet has 4 nodes, reference subnet has 4 nodes\n"
    " All nodes in the current subnet are in the reference subnet.\n"
    " All nodes in the reference subnet are in the current subnet.\n"
    "Current subnet has 4 links, reference subnet has 4 links\n"
    " All links in the current subnet are in the reference subnet.\n"
    " All links in the reference subnet are in the current subnet.\n"
    " All links in the current subnet have the same rate in the reference subnet.\n"
    "Current subnet has 4 LIDs, reference subnet has 4 LIDs\n"
    " All LIDs in the current subnet are the same as the reference subnet.\n";

}  // namespace

TEST_CASE_METHOD(Site, "a fabric is the same as each listing of it") {
  for (const std::string& text : {listing(), ibtool(fabric, {"ibnetdiscover", "-f"}).out, diags(fabric, {"ibnetdiscover"}).out,
                                  diags(fabric, {"ibnetdiscover", "-f"}).out}) {
    CAPTURE(text);
    const auto found = compare(text);
    CHECK(found.status == 0);
    CHECK(found.out == same);
  }
}

TEST_CASE_METHOD(Site, "a fabric is the same as the cache that infiniband-diags writes of it") {
  const File file("");
  REQUIRE(diags(fabric, {"ibnetdiscover", "--cache", file.name}).status == 0);
  const auto found = ibtool(fabric, {"ibdiscover.pl", file.name});
  CHECK(found.status == 0);
  CHECK(found.out == same);
}

TEST_CASE_METHOD(Site, "removed nodes, new nodes, and nodes with another LID") {
  const std::string before = listing();
  fabric.set_link(near, 3, false);
  const auto unlinked = compare(before);
  CHECK(unlinked.status == 1);
  CHECK_THAT(unlinked.out, contains("Current subnet has 3 links, reference subnet has 4 links\n"
                                    " All links in the current subnet are in the reference subnet.\n"
                                    "Reference subnet has 1 more links than the current subnet:\n"
                                    "   0000:0000:0000:0200[3] <=> 0000:0000:0000:0100[3]\n"));
  const File old(before);
  const File now(listing());
  const auto stored = ibtool(fabric, {"subnet_diff", now.name, old.name});
  CHECK(stored.status == 1);
  CHECK_THAT(stored.out, contains(" Current subnet has 1 more links than the reference subnet:\n"
                                  "   0000:0000:0000:0200[3] <=> 0000:0000:0000:0100[3]\n"));
  fabric.set_link(far, 1, false);
  const auto gone = compare(before);
  CHECK_THAT(gone.out, contains("Reference subnet has 1 more end ports than the current subnet:\n   0000:0000:0000:0401\n"));
  CHECK_THAT(gone.out, contains("Reference subnet has 1 more nodes than the current subnet:\n   0000:0000:0000:0400\n"));
  CHECK_THAT(gone.out, contains(" The subnets have 1 different LID assignments (LID: Current portGUID, Reference portGUID):\n"
                                "       4:       !Cur          0000:0000:0000:0401\n"));
}

TEST_CASE_METHOD(Site, "nodes beyond a port that does not answer are not compared") {
  const std::string before = listing();
  const File stored("");
  REQUIRE(diags(fabric, {"ibnetdiscover", "--cache", stored.name}).status == 0);
  fabric.node(far).faults.silent = true;  // and nobody reaches the host behind it
  const auto silent = compare(before);
  CAPTURE(silent.out, silent.err);
  CHECK(silent.status == 4);
  CHECK_THAT(silent.out, !contains(" more ") && !contains("!Cur") && !contains("All end ports in the reference"));
  CHECK_THAT(silent.out,
             contains(" All nodes in the current subnet are in the reference subnet.\n"
                      " 2 nodes of the reference subnet are not compared: no answer came from there in the current subnet.\n") &&
                 contains(" 3 links of the reference subnet are not compared: ") && contains(" 2 LIDs are not compared: "));
  const json found = json::parse(compare(before, {"--json"}).out);
  CHECK(found["differences"].empty());
  CHECK(found["not_compared"] == json({{"end_port_count", 2}, {"node_count", 2}, {"link_count", 3}, {"lid_count", 2}}));
  const auto topology = ibtool(fabric, {"ibnetdiscover", "--diff", stored.name});
  CHECK(topology.status == 4);
  CHECK_THAT(topology.out, !contains("< "));
  // infiniband-diags takes what is silent for what is gone.
  CHECK_THAT(diags(fabric, {"ibnetdiscover", "--diff", stored.name}).out, contains("< "));
  SECTION("what is gone beside it is a difference") {
    fabric.set_link(near, 3, false);
    const auto both = compare(before);
    CHECK(both.status == 1);
    CHECK_THAT(both.out, contains("Reference subnet has 1 more links than the current subnet:\n"
                                  "   0000:0000:0000:0200[3] <=> 0000:0000:0000:0100[3]\n"));
    CHECK_THAT(both.out, !contains(" more nodes "));
  }
  SECTION("a switch whose links are all down is gone, whatever else is silent") {
    fabric.set_link(near, 2, false);
    fabric.set_link(near, 3, false);
    CHECK_THAT(compare(before).out, contains("Reference subnet has 2 more nodes than the current subnet:\n"));
  }
}

TEST_CASE_METHOD(Site, "nodes that the sweep of the reference did not reach are not new") {
  const File stored("");
  std::remove(stored.name);
  fabric.node(far).faults.silent = true;
  REQUIRE(ibtool(fabric, {"snapshot", stored.name}).status == 4);
  fabric.node(far).faults.silent = false;
  const auto found = ibtool(fabric, {"subnet_diff", stored.name});
  CAPTURE(found.out, found.err);
  CHECK(found.status == 4);
  CHECK_THAT(found.out,
             !contains(" more ") && !contains("!Ref") &&
                 contains(" 2 nodes of the current subnet are not compared: no answer came from there in the reference subnet.\n"));
  CHECK(ibtool(fabric, {"ibnetdiscover", "--diff", stored.name}).out.empty());
}

TEST_CASE_METHOD(Site, "a link that runs at another rate is reported with both rates") {
  const std::string before = listing();
  for (const auto id : {near, far}) {
    auto& info = fabric.node(id).ports.at(2).info;
    fabric.node(id).ports.at(0).info.capability_mask |= (1U << 14) | (1U << 15);
    fabric.node(id).ports.at(0).info.capability_mask2 |= 1U << 11;
    info.link_width_active = 16;
    info.link_speed_ext_active2 = 1;
  }
  const auto found = compare(before);
  CHECK(found.status == 1);
  CHECK_THAT(found.out, contains(" The subnets have 1 different link rates (link: current, reference):\n"
                                 "   0000:0000:0000:0200[2] <=> 0000:0000:0000:0100[2]: XDR 2x  "));
  CHECK(compare(listing()).status == 0);
}

TEST_CASE_METHOD(Site, "the differences in JSON") {
  const std::string before = listing();
  fabric.set_link(far, 1, false);
  const json found = json::parse(compare(before, {"--json"}).out);
  CHECK(found["current"]["link_count"] == 3);
  CHECK(found["reference"]["link_count"] == 4);
  REQUIRE(found["differences"].size() == 4);
  CHECK(found["differences"][0]["difference"] == "end_port");
  CHECK(found["differences"][0]["after"].is_null());
  CHECK(found["differences"][2]["before"]["peer"]["port_num"] == 1);
  CHECK(found["differences"][2]["before"]["node_guid"].is_null());
  CHECK(found["differences"][3]["lid"] == 4);
  const auto csv = compare(before, {"--format", "csv", "--columns", "difference,lid,before.peer.port_num,after.port_guid"});
  CHECK(csv.out == "difference,lid,before.peer.port_num,after.port_guid\r\nend_port,,,\r\nnode,,,\r\nlink,,1,\r\nlid,4,,\r\n");
  CHECK(compare(listing(), {"--format", "tsv", "--columns", "difference"}).out == "difference\n");
  CHECK(found["status"] == 1);
}

TEST_CASE_METHOD(Site, "a file without a fabric is refused with the line and the name of the file") {
  const auto complaint = [&](const std::string& text) {
    const auto refused = compare(text);
    CHECK(refused.status == 2);
    CHECK(refused.out.empty());
    return refused.err;
  };
  CHECK_THAT(complaint("no fabric\n"), contains("/tmp/ibtool-fabric-"));
  CHECK_THAT(complaint("#\n"), contains("no node is listed"));
  CHECK_THAT(complaint("vendid=0x2c9\nSwitch\n"), contains("line 2: not a line of a listing"));
  CHECK_THAT(complaint("#\nSwitch\t4 \"S-zz\"\n"), contains("line 2: a node without a GUID"));
  CHECK_THAT(complaint("#\n[1]\t\"S-1\"[1]\n"), contains("line 2: not a port of the node above"));
  CHECK_THAT(complaint("#\nSwitch\t4 \"S-1\"\t# \"x\" base port 0 lid 1 lmc 0\n[1]\t\"H-2\"[1](3)\t# \"y\" lid 2 4xQDR\n"),
             contains("line 3: port 1 of node 0000:0000:0000:0002 is not in the listing"));
  CHECK_THAT(complaint("#\nSwitch\t4 \"S-1\"\t# \"x\"\n[9]\t\"H-2\"[1]\n"), contains("line 3: not a port"));
  CHECK_THAT(complaint("#\nSwitch\t400 \"S-1\"\n"), contains("line 2"));
  CHECK(ibtool(fabric, {"subnet_diff"}).status == 2);
  CHECK(ibtool(fabric, {"subnet_diff", "/nonexistent/fabric"}).status == 2);
  CHECK(ibtool(fabric, {"subnet_diff", "/tmp", "/tmp"}).status == 2);
}

}  // namespace tools_subnet_diff_tests
