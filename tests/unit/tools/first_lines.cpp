// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The first line about a failure, as an administrator reads it: what was wanted, of what, what came instead, what to do next.
#include <nlohmann/json.hpp>

#include <algorithm>

#include "iba-gen/smp.hpp"
#include "support/catch.hpp"
#include "support/fake_pma.hpp"
#include "support/fake_sa.hpp"
#include "support/program.hpp"

namespace tools_first_lines_tests {

using ibtest::contains;
using ibtest::diags;
using ibtest::ends_with;
using ibtest::FakeFabric;
using ibtest::FakeSa;
using ibtest::ibtool;
using ibtest::starts_with;
using nlohmann::json;

namespace {

/// Two switches (LIDs 1 and 2), the host of the test (3) and another one (4).
struct Small {
  FakeFabric fabric;
  FakeFabric::NodeId leaf, spine, here, other;

  Small() {
    leaf = fabric.add_switch(0x100, 4, "leaf 1");
    spine = fabric.add_switch(0x200, 4, "spine 1");
    here = fabric.add_ca(0x300, 1, "here HCA-1");
    other = fabric.add_ca(0x400, 1, "node07 HCA-1");
    fabric.link(leaf, 1, here, 1);
    fabric.link(leaf, 2, spine, 2);
    fabric.link(spine, 3, other, 1);
    fabric.assign_lids();
    fabric.attach(here);
    for (const auto node : {leaf, spine, here, other}) ibtest::run_pma(fabric, node);
  }
  /// The lines on stderr of a run that ends with status 3.
  std::string complaint(std::vector<std::string> words) {
    const ibtest::Outcome seen = ibtool(fabric, std::move(words));
    CHECK(seen.status == 3);
    return seen.err_after_wait();
  }
};

}  // namespace

TEST_CASE_METHOD(Small, "first line: a LID that does not answer and is not in the SA's list says only that") {
  const FakeSa sa(fabric);
  const std::string silent = "LID 99: no answer; the subnet manager's list (LIDs 1 to 4) does not have it";
  CHECK(complaint({"smpquery", "NI", "99"}) == "E: " + silent + "\n");
  CHECK(complaint({"perfquery", "99"}) ==
        "E: LID 99: the SA gives no path to it; the subnet manager's list (LIDs 1 to 4) does not have it\n");
  const std::string more = complaint({"smpquery", "NI", "99", "-v"});
  CHECK_THAT(more, starts_with("E: " + silent + "\nE: +No answer from LID 99 about NodeInfo (4 tries in ") &&
                       contains("E: +RPC MAD_METHOD_GET(1) SMPFormat(1.1) SMPNodeInfo(17) timed out to 'Path 3 -> 99 ") &&
                       contains("\nE: +MAD path was IBPath("));
  const json document = json::parse(ibtool(fabric, {"smpquery", "NI", "99", "--json"}).out);
  CHECK(document["error"] == silent);
  for (const char* command : {"ibaddr", "perfquery"}) {
    CHECK(complaint({command, "fe80::99"}) ==
          "E: No port, no node and no system has the GUID 0000:0000:0000:0099 (the SA gives no path to it)\n");
  }
}

TEST_CASE_METHOD(Small, "first line: a node that is silent is named, and the next command too") {
  const FakeSa sa(fabric);
  fabric.node(other).faults.silent = true;
  CHECK_THAT(complaint({"smpquery", "PI", "4", "1"}),
             starts_with("E: No answer from 'node07 HCA-1' (LID 4) about PortInfo of port 1 (4 tries in ") &&
                 contains("): the SA knows it; how far does ibtool ibtracert 4 come?\n"));
}

TEST_CASE_METHOD(Small, "first line: of a node that answers other requests no way is to be looked for") {
  const FakeSa sa(fabric);
  fabric.node(other).faults.ignores = ib::smp::PortInfo::attribute_id;
  CHECK_THAT(complaint({"smpquery", "PI", "4", "1"}),
             starts_with("E: No answer from 'node07 HCA-1' (LID 4) about PortInfo of port 1 (4 tries in ") &&
                 ends_with("), though it answers NodeInfo\n"));
}

TEST_CASE_METHOD(Small, "first line: without an SA the address stands for the node") {
  fabric.node(other).faults.silent = true;
  CHECK_THAT(complaint({"smpquery", "NI", "4"}), starts_with("E: No answer from LID 4 about NodeInfo (4 tries in ") && !contains("RPC"));
}

TEST_CASE_METHOD(Small, "first line: a subnet manager that is silent, and its SA") {
  CHECK(complaint({"sminfo", "2"}) ==
        "E: 'spine 1' (LID 2) does not support SMInfo (status 0xc): no subnet manager runs there (ibtool sminfo --all lists them)\n");
  CHECK_THAT(complaint({"saquery", "NR"}), starts_with("E: No subnet administrator answers at LID ") &&
                                               ends_with("s): no subnet manager runs there (ibtool sminfo --all lists them)\n"));
  for (const auto node : {leaf, spine, here}) fabric.node(node).faults.ignores = ib::smp::SMInfo::attribute_id;
  CHECK_THAT(complaint({"sminfo", "2"}), starts_with("E: No subnet manager answers at LID 2, 'spine 1' (4 tries in ") &&
                                             contains("): ibtool sminfo --all lists the subnet managers\n"));
  const unsigned manager = fabric.node(here).ports.at(1).info.master_sm_lid.value;
  CHECK_THAT(complaint({"sminfo"}), starts_with("E: No subnet manager answers at LID " + std::to_string(manager) + ", '") &&
                                        contains("): if it hangs there, restart it (ibtool health looks for other managers)\n"));
  CHECK_THAT(complaint({"saquery", "NR"}), starts_with("E: No subnet administrator answers at LID " + std::to_string(manager) + ", '") &&
                                               contains("(NodeRecord: 4 tries in ") &&
                                               contains("s), and no subnet manager (SMInfo: 2 tries in ") &&
                                               contains("restart it (ibtool health looks for other managers)\n"));
  fabric.node(leaf).faults.silent = true;
  CHECK_THAT(complaint({"saquery", "NR"}), contains("s): its node does not answer either (NodeInfo: 2 tries in ") &&
                                               ends_with("s); ibtool health looks for other managers\n"));
}

TEST_CASE_METHOD(Small, "first line: an SA that is silent with --sa is the only line, and gets no further request") {
  const std::string silent = complaint({"smpquery", "--sa", "NI", "2"});
  CHECK_THAT(silent, starts_with("E: No subnet administrator answers at LID ") && contains("(NodeRecord: 4 tries in ") &&
                         ends_with("s): without --sa the nodes themselves are read\n"));
  CHECK(std::ranges::count(silent, '\n') == 1);
}

TEST_CASE_METHOD(Small, "first line: a subnet manager that answers while its SA does not") {
  const unsigned manager = fabric.node(here).ports.at(1).info.master_sm_lid.value;
  for (const auto node : {leaf, spine, here, other}) fabric.node(node).sm_info.emplace();
  CHECK_THAT(complaint({"saquery", "NR"}),
             starts_with("E: LID " + std::to_string(manager) + ", '") &&
                 contains("' does not answer NodeRecord, though its subnet manager answers SMInfo: does its SA serve that?\n"));
}

TEST_CASE_METHOD(Small, "first line: a port that a node does not have, and a table that only switches have") {
  CHECK(complaint({"smpquery", "PI", "1", "99"}) == "E: 'leaf 1' (LID 1) has ports 0 to 4, and no port 99\n");
  CHECK(complaint({"smpquery", "PI", "0,1", "99"}) == "E: 'leaf 1' (route 0,1) has ports 0 to 4, and no port 99\n");
  CHECK(complaint({"ibportstate", "1", "99"}) == "E: 'leaf 1' (LID 1) has ports 0 to 4, and no port 99\n");
  CHECK(complaint({"ibcheckport", "4", "9"}) == "E: 'node07 HCA-1' (LID 4) has one port, 1, and no port 9\n");
  for (const std::vector<std::string>& words :
       std::vector<std::vector<std::string>>{{"smpquery", "SI", "4"}, {"smpquery", "LFT", "4"}, {"ibroute", "4"}})
    CHECK(complaint(words) == "E: 'node07 HCA-1' (LID 4) is a channel adapter: it has no forwarding table\n");
}

TEST_CASE_METHOD(Small, "first line: where a directed route ends") {
  CHECK(complaint({"smpquery", "NI", "0,1,4"}) == "E: Port 4 of 'leaf 1' (route 0,1) is Down: nothing is behind it\n");
  CHECK(complaint({"smpquery", "NI", "0,1,9"}) == "E: 'leaf 1' (route 0,1) has ports 0 to 4, and no port 9\n");
  fabric.node(other).faults.silent = true;
  CHECK_THAT(complaint({"smpquery", "NI", "0,1,2,3"}),
             starts_with("E: No answer from route 0,1,2,3 about NodeInfo (") &&
                 contains("; the last node that answers is 'spine 1' (route 0,1,2), at its port 3 nothing does\n"));
}

TEST_CASE_METHOD(Small, "first line: what another command reads is named") {
  const ibtest::Outcome cable = ibtool(fabric, {"smpquery", "Cable", "1"});
  CHECK(cable.status == 2);
  CHECK(cable.err == "E: smpquery has no operation cable (ports' modules: ibtool modules)\n");
}

TEST_CASE_METHOD(Small, "first line: an empty answer of the SA is counted on stderr") {
  const FakeSa sa(fabric);
  const ibtest::Outcome none = ibtool(fabric, {"saquery", "NR", "99"});
  CHECK(none.status == 0);
  CHECK_THAT(none.err, contains("0 records\n"));
  CHECK_THAT(ibtool(fabric, {"saquery", "NR", "1"}).err, !contains("records"));
  CHECK_THAT(ibtool(fabric, {"saquery", "NR", "99", "--json"}).err, !contains("records"));
}

TEST_CASE_METHOD(Small, "first line: a device that is not here, with those that are") {
  for (const std::vector<std::string>& words :
       std::vector<std::vector<std::string>>{{"ibaddr", "-C", "nosuch"}, {"sminfo", "-C", "nosuch"}}) {
    const ibtest::Outcome unknown = ibtool(fabric, words);
    CHECK(unknown.status == 2);
    CHECK(unknown.err == "E: RDMA device 'nosuch' not found (here: fake0/1)\n");
  }
  CHECK(ibtool(fabric, {"ibaddr", "-P", "7"}).err == "E: RDMA device 'fake0' port 7 not found (here: fake0/1)\n");
  CHECK_THAT(diags(fabric, {"ibaddr", "-C", "nosuch"}).out + diags(fabric, {"ibaddr", "-C", "nosuch"}).err, !contains("here:"));
}

TEST_CASE("first line: a host without InfiniBand") {
  const ibtest::FakeSysfs directory;
  const ibtest::Outcome none = ibtool({"ibnetdiscover"});
  CHECK(none.status == 3);
  CHECK(none.err == "E: No InfiniBand device here (ibtool --from FILE works without)\n");
}

}  // namespace tools_first_lines_tests
