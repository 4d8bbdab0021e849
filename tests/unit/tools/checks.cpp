// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// ibchecknet and its kin: what is found to be wrong, of one port and of a whole fabric, and what that does to the exit status.
#include <cstdio>
#include <fstream>

#include <nlohmann/json.hpp>

#include "iba-gen/sa.hpp"
#include "iba/wire.hpp"
#include "support/catch.hpp"
#include "support/fake_pma.hpp"
#include "support/fake_sa.hpp"
#include "support/program.hpp"

namespace tools_checks_tests {

using ibtest::contains;
using ibtest::FakeFabric;
using ibtest::FakePma;
using ibtest::ibtool;
using ibtest::starts_with;
using nlohmann::json;

namespace {

constexpr std::uint32_t extended_speeds = 1U << 14, mask2 = 1U << 15;
constexpr std::uint16_t extended_speeds2 = 1U << 11;

/// Two switches (LIDs 1, 2) that are linked by their ports 2, with a host each: the host of the test (3) and another (4). All links are
/// what both of their ends can be. There is an SA, and all PMAs count.
struct Site {
  FakeFabric fabric;
  FakeFabric::NodeId near = fabric.add_switch(0x100, 3, "near"), far = fabric.add_switch(0x200, 3, "far");
  FakeFabric::NodeId here = fabric.add_ca(0x300, 1, "here"), other = fabric.add_ca(0x400, 1, "other");
  ibtest::FakeSa sa{fabric};

  Site() {
    fabric.link(near, 1, here, 1);
    fabric.link(near, 2, far, 2);
    fabric.link(far, 1, other, 1);
    fabric.assign_lids();
    for (const auto id : {near, far, here, other}) {
      const bool is_switch = fabric.node(id).is_switch();
      for (auto& port : fabric.node(id).ports) {
        port.info.link_width_supported = port.info.link_width_enabled = 3;  // 1x, 4x
        port.info.link_width_active = 2;
        port.info.link_speed_supported = port.info.link_speed_enabled = 7;
        port.info.link_speed_active = 4;
        if (!is_switch) port.info.master_sm_lid = ib::Lid{3};
      }
      fabric.node(id).ports.at(0).info.master_sm_lid = ib::Lid{3};
    }
    fabric.attach(here);
  }

  ib::smp::PortInfo& port(FakeFabric::NodeId node, unsigned number) { return fabric.node(node).ports.at(number).info; }
  ibtest::Outcome run(std::vector<std::string> words) { return ibtool(fabric, std::move(words)); }
};

struct Counting : Site {
  FakePma& near_pma = run_pma(fabric, near);
  FakePma& far_pma = run_pma(fabric, far);
  FakePma& here_pma = run_pma(fabric, here);
  FakePma& other_pma = run_pma(fabric, other);
};

std::string summary(unsigned nodes, unsigned bad_nodes, unsigned ports, unsigned bad_ports) {
  return "## Summary: " + std::to_string(nodes) + " nodes checked, " + std::to_string(bad_nodes) + " bad nodes found\n##          " +
         std::to_string(ports) + " ports checked, " + std::to_string(bad_ports) + " ports with bad state found\n";
}

}  // namespace

TEST_CASE_METHOD(Site, "a port whose link is up and active, and all that it can be, is well") {
  for (const char* command : {"ibcheckport", "ibcheckportstate", "ibcheckportwidth"}) {
    CAPTURE(command);
    const auto quiet = run({command, "1", "2"});
    CHECK(quiet.status == 0);
    CHECK(quiet.out.empty());
    CHECK(quiet.err.empty());
    CHECK(run({command, "-v", "1", "2"}).out == "Port check lid 1 port 2: OK\n");
  }
}

TEST_CASE_METHOD(Site, "a link that is not up is an error, and nothing else is said of it") {
  const auto down = run({"ibcheckport", "1", "3"});
  CHECK(down.status == 1);
  CHECK(down.out == "Port check lid 1 port 3: FAILED\n");
  CHECK(down.err == "E: portPhysicalState is 'Polling', expected 'Link UP': lid 1 port 3\n");
  CHECK(run({"ibcheckportwidth", "1", "3"}).status == 0);
}

TEST_CASE_METHOD(Site, "a link that is up and not active is a warning") {
  port(near, 2).port_state = port(far, 2).port_state = ib::smp::PortState::armed;
  fabric.network.tamper = [](ib::Bytes request, std::optional<FakeFabric::Answer> answer) -> std::vector<FakeFabric::Answer> {
    if (!answer) return {};
    if (request[17] == ib::smp::PortInfo::attribute_id && request[23] == 2) (*answer)[64 + 32] = ((*answer)[64 + 32] & 0xf0) | 3;
    return {*answer};
  };
  const auto armed = run({"ibcheckportstate", "1", "2"});
  CHECK(armed.status == 1);
  CHECK(armed.out == "Port check lid 1 port 2: WARNING\n#warn: portState is 'Armed', expected 'Active': lid 1 port 2\n");
}

TEST_CASE_METHOD(Site, "width and speed are held against what both ends can") {
  port(near, 2).link_width_supported = 0x1f;  // all, 12x too
  CHECK(run({"ibcheckport", "1", "2"}).status == 0);
  port(far, 2).link_width_supported = 0x13;  // 1x, 4x, 2x
  CHECK(run({"ibcheckport", "1", "2"}).status == 0);
  port(near, 2).link_width_active = port(far, 2).link_width_active = 16;
  const auto narrow = run({"ibcheckport", "1", "2"});
  CHECK(narrow.status == 1);
  CHECK(narrow.out == "Port check lid 1 port 2: WARNING\n#warn: linkWidthActive is '2x', expected '4x': lid 1 port 2\n");
  CHECK(run({"ibcheckportwidth", "2", "2"}).out ==
        "Port check lid 2 port 2: WARNING\n#warn: linkWidthActive is '2x', expected '4x': lid 2 port 2\n");
  CHECK(run({"ibcheckportstate", "1", "2"}).status == 0);
}

TEST_CASE_METHOD(Site, "speeds are known up to XDR") {
  for (const auto id : {near, far}) {
    port(id, 0).capability_mask |= extended_speeds | mask2;
    port(id, 0).capability_mask2 |= extended_speeds2;
    port(id, 2).link_speed_ext_supported = 0xf;  // FDR to NDR
    port(id, 2).link_speed_ext_active = 8;
  }
  CHECK(run({"ibcheckport", "1", "2"}).status == 0);
  for (const auto id : {near, far}) port(id, 2).link_speed_ext_supported2 = 1;
  CHECK_THAT(run({"ibcheckport", "1", "2"}).out, contains("#warn: linkSpeedActive is 'NDR', expected 'XDR': lid 1 port 2\n"));
  CHECK_THAT(run({"ibcheckport", "0,1,2", "2"}).out, contains("'NDR', expected 'XDR': lid 2 port 2\n"));
  port(far, 0).capability_mask2 = 0;  // the fields of XDR mean nothing there
  CHECK(run({"ibcheckport", "1", "2"}).status == 0);
}

TEST_CASE_METHOD(Site, "an end port needs a LID and an SM LID, other ports do not") {
  port(other, 1).master_sm_lid = {};
  CHECK(run({"ibcheckport", "4", "1"}).out ==
        "Port check lid 4 port 1: WARNING\n#warn: masterSMLID is '0', but shouldn't be '0': lid 4 port 1\n");
  port(near, 2).lid = port(near, 2).master_sm_lid = {};
  CHECK(run({"ibcheckport", "1", "2"}).status == 0);
  CHECK(run({"ibcheckport", "1", "0"}).status == 0);
  CHECK(run({"ibcheckport", "4", "0", "-v"}).out.starts_with("Port check lid 4 port 1: "));  // the port that was requested
}

TEST_CASE_METHOD(Site, "of a link whose other end is silent width and speed are not judged") {
  fabric.node(other).faults.silent = true;
  port(far, 1).link_width_active = 1;
  const auto half = run({"ibcheckport", "2", "1"});
  CHECK(half.status == 4);
  CHECK(half.out.empty());
  CHECK_THAT(half.err, contains("Reading the other end of the link"));
  for (const char* command : {"ibcheckport", "ibcheckportwidth"}) {
    INFO(command);
    CHECK(run({command, "2", "1", "-v"}).out.empty());  // not "OK"
  }
  fabric.network.tamper = [](ib::Bytes request, std::optional<FakeFabric::Answer> answer) -> std::vector<FakeFabric::Answer> {
    if (!answer) return {};
    if (request[17] == ib::smp::PortInfo::attribute_id && request[23] == 1) (*answer)[64 + 32] = ((*answer)[64 + 32] & 0xf0) | 2;
    return {*answer};
  };
  CHECK_THAT(run({"ibcheckport", "2", "1"}).out, contains("portState is 'Init'"));
}

TEST_CASE_METHOD(Site, "checks of one port refuse what they can not look at") {
  CHECK(run({"ibcheckport", "1"}).status == 2);
  CHECK_THAT(run({"ibcheckport", "1"}).err, contains("PORT"));
  CHECK(run({"ibcheckport", "1", "255"}).status == 2);
  CHECK(run({"ibcheckport", "1", "99"}).status == 3);
  CHECK(run({"ibcheckport", "77", "1", "--retries", "0"}).status == 3);
  CHECK(run({"ibchecknode", "1", "2"}).status == 2);
  CHECK(ibtool(fabric, {"ibcheckport", "-v", "1", "2"}, {.full_disk = true}).status == 3);
}

TEST_CASE_METHOD(Site, "ibchecknode holds the SA's words against the node's") {
  CHECK(run({"ibchecknode", "4"}).out.empty());
  CHECK(run({"ibchecknode", "-v", "4"}).out ==
        "# Checking Channel Adapter: nodeguid 0000:0000:0000:0400 lid 4 port 1\nNode check lid 4: OK\n");
  CHECK_THAT(run({"ibchecknode", "-v", "1"}).out, starts_with("# Checking Switch: nodeguid 0000:0000:0000:0100 lid 1\n"));
  sa.lie = [](std::uint16_t attribute, std::vector<ibtest::FakeSa::Record>& records) {
    if (attribute != ib::sa::NodeRecord::attribute_id) return;
    for (auto& record : records) record[4 + 20 + 7] ^= 0x80;  // the last byte of NodeInfo.PortGUID
  };
  const auto other_guid = run({"ibchecknode", "4"});
  CHECK(other_guid.status == 1);
  CHECK_THAT(other_guid.out, contains("Node check lid 4: FAILED\n"));
  CHECK_THAT(other_guid.err, contains("E: SA and SMP NodeInfo's differ: the SA says 0000:0000:0000:0481, the port 0000:0000:0000:0401\n"));
  sa.lie = [](std::uint16_t attribute, std::vector<ibtest::FakeSa::Record>& records) {
    if (attribute == ib::sa::NodeRecord::attribute_id) records.clear();
  };
  const auto unknown = run({"ibchecknode", "4"});
  CHECK(unknown.status == 1);
  CHECK_THAT(unknown.err, contains("The SA knows no node at LID 4"));
  sa.silent = true;
  CHECK(run({"ibchecknode", "4", "--retries", "0"}).status == 3);
}

TEST_CASE_METHOD(Site, "ibcheckstate looks at every end port and every port, in the order of the model") {
  const auto found = run({"ibcheckstate"});
  CHECK(found.status == 1);
  CHECK(found.out ==
        "Port check lid 1 (near) port 3: FAILED\n#error: portPhysicalState is 'Polling', expected 'Link UP': lid 1 port 3\n"
        "Port check lid 2 (far) port 3: FAILED\n#error: portPhysicalState is 'Polling', expected 'Link UP': lid 2 port 3\n" +
            summary(4, 0, 10, 2));
  const auto up = run({"ibcheckstate", "--up", "-v"});
  CHECK(up.status == 0);
  CHECK(
      up.out ==
      "# Checking Channel Adapter: nodeguid 0000:0000:0000:0300 lid 3 port 1\nNode check lid 3: OK\nPort check lid 3 (here) port 1: OK\n"
      "# Checking Switch: nodeguid 0000:0000:0000:0100 lid 1\nNode check lid 1: OK\nPort check lid 1 (near) port 0: OK\n"
      "Port check lid 1 (near) port 1: OK\nPort check lid 1 (near) port 2: OK\n"
      "# Checking Switch: nodeguid 0000:0000:0000:0200 lid 2\nNode check lid 2: OK\nPort check lid 2 (far) port 0: OK\n"
      "Port check lid 2 (far) port 1: OK\nPort check lid 2 (far) port 2: OK\n"
      "# Checking Channel Adapter: nodeguid 0000:0000:0000:0400 lid 4 port 1\nNode check lid 4: OK\nPort check lid 4 (other) port 1: OK\n" +
          summary(4, 0, 8, 0));
}

TEST_CASE_METHOD(Site, "ibcheckstate requests two tables of the SA, and finds nodes that differ from its records") {
  run({"ibcheckstate", "--up", "--discovery=DR"});
  CHECK(sa.asked.size() == 2);
  sa.lie = [](std::uint16_t attribute, std::vector<ibtest::FakeSa::Record>& records) {
    if (attribute != ib::sa::NodeRecord::attribute_id) return;
    std::erase_if(records, [](const auto& record) { return record[1] == 4; });
  };
  const auto found = run({"ibcheckstate", "--up"});
  CHECK(found.status == 1);
  CHECK(found.out ==
        "# Checking Channel Adapter: nodeguid 0000:0000:0000:0400 lid 4 port 1\nNode check lid 4: FAILED\n"
        "#error: The SA knows no node at LID 4\n" +
            summary(4, 1, 8, 0));
  sa.lie = {};
  sa.path_lie = {};
  sa.silent = true;
  const auto silent = run({"ibcheckstate", "--up", "--retries", "0", "--discovery=DR"});
  CHECK(silent.status == 4);
  CHECK_THAT(silent.out, contains("0 nodes checked, 0 bad nodes found"));
}

TEST_CASE_METHOD(Site, "ibcheckwidth finds links that are narrower than both of their ends") {
  port(near, 2).link_width_active = port(far, 2).link_width_active = 1;
  const auto found = run({"ibcheckwidth"});
  CHECK(found.status == 1);
  CHECK(found.out ==
        "Port check lid 1 (near) port 2: WARNING\n#warn: linkWidthActive is '1x', expected '4x': lid 1 port 2\n"
        "Port check lid 2 (far) port 2: WARNING\n#warn: linkWidthActive is '1x', expected '4x': lid 2 port 2\n" +
            summary(4, 0, 10, 0));
}

TEST_CASE_METHOD(Site, "a silent node leaves a check incomplete, unless there are findings") {
  fabric.node(other).faults.silent = true;
  const auto found = run({"ibcheckwidth", "--discovery=DR"});
  CHECK(found.status == 4);
  CHECK_THAT(found.err, contains("No answer from beyond port 1 of 0000:0000:0000:0200"));
  CHECK(found.out == summary(3, 0, 8, 0));  // without the port whose other end is not known
  CHECK(run({"ibcheckstate", "--discovery=DR"}).status == 1);
}

TEST_CASE_METHOD(Counting, "ibchecknet finds counters that are beyond their thresholds") {
  CHECK(run({"ibchecknet", "--up"}).status == 0);
  CHECK_THAT(run({"ibchecknet", "--up", "-v"}).out, contains("Error check lid 1 (near) all ports: OK\n"));
  near_pma.count(2, "symbol_error_counter") = 11;
  near_pma.count(1, "symbol_error_counter") = 4;
  other_pma.count(1, "port_xmit_discards") = 100;  // not beyond
  const auto found = run({"ibchecknet", "--up"});
  CHECK(found.status == 1);
  CHECK(found.out ==
        "Error check lid 1 (near) all ports: FAILED\n#warn: symbolErrorCounter is '15', expected less than '10': lid 1 all ports\n"
        "Error check lid 1 (near) port 2: FAILED\n#warn: symbolErrorCounter is '11', expected less than '10': lid 1 port 2\n" +
            summary(4, 0, 8, 0) + "##          6 ports checked, 1 ports have errors beyond threshold\n");
}

TEST_CASE_METHOD(Counting, "ports that are well one by one are well together") {
  for (const unsigned number : {1U, 2U}) near_pma.count(number, "symbol_error_counter") = 9;
  CHECK(run({"ibchecknet", "--up"}).status == 0);
}

TEST_CASE_METHOD(Counting, "a silent PMA is reported, and its ports are not counted") {
  far_pma.service().faults.silent = true;
  const auto found = run({"ibchecknet", "--up"});
  CHECK(found.status == 4);
  CHECK_THAT(found.out, contains("4 ports checked, 0 ports have errors"));
  CHECK_THAT(found.err, contains("0000:0000:0000:0200 'far'"));
}

TEST_CASE_METHOD(Counting, "thresholds come from a file") {
  char name[] = "/tmp/ibtool-thresholds-XXXXXX";
  const int fd = ::mkstemp(name);
  REQUIRE(fd >= 0);
  ::close(fd);
  near_pma.count(2, "port_xmit_data") = 500;
  near_pma.count(2, "symbol_error_counter") = 5000;
  std::ofstream(name) << "# mine\nXmtData=100\nSymbolErrors=0\n";
  const auto found = run({"ibchecknet", "--up", "-T", name});
  CHECK(found.status == 1);
  CHECK_THAT(found.out, contains("port 2: FAILED\n#warn: portXmitData is '500', expected less than '100': lid 1 port 2\n"));
  CHECK_THAT(found.out, !contains("symbolError"));
  std::ofstream(name) << "XmtData=100\nNoSuchCounter=5\n";
  const auto refused = run({"ibchecknet", "-T", name});
  CHECK(refused.status == 2);
  CHECK_THAT(refused.err, contains(":2: no counter is called 'NoSuchCounter'"));
  std::remove(name);
  CHECK(run({"ibchecknet", "-T", name}).status == 2);
}

TEST_CASE_METHOD(Counting, "the JSON of checks has the rows that are shown, and the numbers") {
  near_pma.count(2, "symbol_error_counter") = 11;
  const json found = json::parse(run({"ibchecknet", "--json"}).out);
  REQUIRE(found["checks"].size() == 4);  // two ports without a cable, a switch and its port
  CHECK(found["checks"][0]["check"] == "port");
  CHECK(found["checks"][0]["verdict"] == "failed");
  CHECK(found["checks"][0]["findings"][0]["severity"] == "error");
  CHECK(found["checks"][0]["findings"][0]["expected"] == "Link UP");
  CHECK(found["checks"][1]["port_num"].is_null());
  CHECK(found["checks"][2]["port_num"] == 2);
  CHECK(found["checks"][2]["findings"][0]["field"] == "symbolErrorCounter");
  CHECK(found["checks"][2]["findings"][0]["relation"] == "at_most");
  CHECK(found["summary"][2]["bad"] == 1);
  CHECK(found["status"] == 1);
}

TEST_CASE_METHOD(Counting, "checks are a table of findings, as text and as CSV") {
  near_pma.count(2, "symbol_error_counter") = 11;
  const auto table = run({"ibchecknet", "--columns", "check,verdict,port_num,findings"});
  CHECK(table.status == 1);
  CHECK_THAT(table.out, ibtest::starts_with("CHECK   VERDICT  PORT  FINDINGS\n") && contains("\nerrors  failed      2  "));
  const auto csv = run({"ibchecknet", "--format", "csv", "--columns", "check,port_num,findings", "--sort=check", "--top=1"});
  CHECK_THAT(csv.out, ibtest::starts_with("check,port_num,findings\r\nerrors,,\"[{\"\"severity\"\""));
  const json some = json::parse(run({"ibchecknet", "--json", "--columns", "verdict"}).out);
  CHECK(some["checks"][0] == json({{"verdict", "failed"}}));
  CHECK(run({"ibchecknet", "--columns", "colour"}).status == 2);
  CHECK(run({"ibcheckport", "--columns", "colour", "1", "2"}).status == 2);
}

TEST_CASE_METHOD(Site, "names of nodes are hostile") {
  FakeFabric::Node& node = fabric.node(far);
  node.description = {};
  node.description[0] = 'x';
  node.description[1] = 0x1b;
  CHECK_THAT(run({"ibcheckstate"}).out, contains("Port check lid 2 (x\\x1b) port 3: FAILED\n"));
}

}  // namespace tools_checks_tests
