// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// ibqueryerrors in both dialects on performance management agents in memory: which ports are reported, what is requested for it, what is
// cleared, and what is said of those that do not answer.
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "iba-gen/mad.hpp"
#include "iba-gen/pm.hpp"
#include "iba-gen/sa.hpp"
#include "support/catch.hpp"
#include "support/counting_fabric.hpp"
#include "support/program.hpp"
#include "tools/ibqueryerrors/ibqueryerrors.hpp"

namespace tools_ibqueryerrors_tests {

using namespace ib;
using ibtest::contains;
using ibtest::diags;
using ibtest::ends_with;
using ibtest::FakeFabric;
using ibtest::FakePma;
using ibtest::ibtool;
using ibtest::starts_with;
using nlohmann::json;

namespace {

constexpr std::uint8_t get = mad::method::get, set = mad::method::set;

struct Fabric : ibtest::CountingFabric {
  /// PMAs without AllPortSelect and without the additional part of PortCountersExtended.
  Fabric& simple() {
    for (FakePma* one : {&pma, &here_pma, &other_pma}) {
      one->capability_mask = pm::capability_mask::is_extended_width_supported | pm::capability_mask::port_counters_xmit_wait_supported;
      one->capability_mask2 = 0;
    }
    return *this;
  }
  std::size_t asked_in_all() const { return pma.asked.size() + here_pma.asked.size() + other_pma.asked.size(); }
};

std::size_t asked_for(const FakePma& pma, std::uint16_t attribute, std::uint8_t method = get) {
  std::size_t count = 0;
  for (const FakePma::Asked& one : pma.asked) count += one.attribute == attribute && one.method == method ? 1 : 0;
  return count;
}

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

/// A file that is there for the time of a test.
struct TemporaryFile {
  std::string path = (std::filesystem::temp_directory_path() / ("ibqueryerrors." + std::to_string(::getpid()))).string();
  explicit TemporaryFile(const std::string& text) { std::ofstream(path) << text; }
  ~TemporaryFile() { std::filesystem::remove(path); }
};

}  // namespace

TEST_CASE("ibqueryerrors: a fabric without errors costs what was planned") {
  Fabric f;
  const TemporaryFile file("SymbolErrorCounter=10\n");  // not the host's, which may have none
  const auto theirs = diags(f.fabric, {"ibqueryerrors", "--threshold-file", file.path});
  CHECK(theirs.status == 0);
  CHECK_THAT(theirs.out, starts_with("\n## Summary: 3 nodes checked, 0 bad nodes found\n"
                                     "##          7 ports checked, 0 ports have errors beyond threshold\n## Thresholds: ") &&
                             ends_with("\n## Suppressed:\n"));
  CHECK_THAT(theirs.err, !contains("ibwarn"));
  // For each PMA a ClassPortInfo and the counters of all its ports; for all of them one table of paths.
  for (const FakePma* pma : {&f.pma, &f.here_pma, &f.other_pma}) {
    CHECK(pma->asked.size() == 2);
    CHECK(pma->times(mad::ClassPortInfo::attribute_id) == 1);
    CHECK(pma->times(pm::PortCountersExt::attribute_id) == 1);
  }
  CHECK(f.sa.asked.size() == 1);
  CHECK(f.sa.asked.front().attribute == sa::PathRecord::attribute_id);
  CHECK(ibtool(f.fabric, {"ibqueryerrors"}).status == 0);
}

TEST_CASE("ibqueryerrors: PortCountersExtended is requested only where it is shown or holds the errors") {
  Fabric f;
  f.simple();
  CHECK(diags(f.fabric, {"ibqueryerrors", "--skip-sl"}).status == 0);
  CHECK(f.sa.asked.empty());
  CHECK(asked_for(f.pma, pm::PortCounters::attribute_id) == 4);
  CHECK(asked_for(f.pma, pm::PortCountersExt::attribute_id) == 0);
  CHECK(f.asked_in_all() == 3 + 7);
  CHECK(diags(f.fabric, {"ibqueryerrors", "--data"}).status == 0);
  CHECK(asked_for(f.pma, pm::PortCountersExt::attribute_id) == 4);
}

TEST_CASE("ibqueryerrors: ports with errors, in the words of both dialects") {
  Fabric f;
  f.pma.count(2, "symbol_error_counter") = 2048;
  f.other_pma.count(2, "port_rcv_errors") = 7;
  SECTION("64 bits are shown in units too") {
    const auto theirs = diags(f.fabric, {"ibqueryerrors"});
    CHECK(theirs.status == 1);
    CHECK_THAT(theirs.out, starts_with("Errors for \"other\"\n   GUID 0x302 port 2: [PortRcvErrors == 7 (7.000)]\n"
                                       "Errors for 0x100 \"leaf\"\n   GUID 0x100 port ALL: [SymbolErrorCounter == 2048 (2.000K)]\n"
                                       "   GUID 0x100 port 2: [SymbolErrorCounter == 2048 (2.000K)]\n"
                                       "\n## Summary: 3 nodes checked, 2 bad nodes found\n"
                                       "##          7 ports checked, 2 ports have errors beyond threshold\n"));
    const auto ours = ibtool(f.fabric, {"ibqueryerrors"});
    CHECK(ours.status == 1);
    CHECK_THAT(ours.out, contains("Errors for 0000:0000:0000:0100 'leaf'\n   GUID 0000:0000:0000:0100 port ALL: [SymbolErrorCounter == "
                                  "2048 (2.000K)]\n   GUID 0000:0000:0000:0100 port 2:") &&
                             contains("Errors for 'other'\n"));
  }
  SECTION("counters of PortCounters are not") {
    f.simple();
    const auto theirs = diags(f.fabric, {"ibqueryerrors", "--switch"});
    CHECK_THAT(theirs.out, starts_with("Errors for 0x100 \"leaf\"\n   GUID 0x100 port 2: [SymbolErrorCounter == 2048]\n\n## Summary: 1 "));
    CHECK(f.other_pma.asked.empty());
    CHECK_THAT(diags(f.fabric, {"ibqueryerrors", "--ca"}).out, starts_with("Errors for \"other\"\n") && contains("## Summary: 2 nodes"));
    CHECK_THAT(diags(f.fabric, {"ibqueryerrors", "--router"}).out, starts_with("\n## Summary: 0 nodes"));
  }
  SECTION("one node only") {
    CHECK_THAT(diags(f.fabric, {"ibqueryerrors", "-D", "0,1"}).out, starts_with("Errors for 0x100") && contains("1 nodes checked"));
    CHECK_THAT(diags(f.fabric, {"ibqueryerrors", "-G", "0x302"}).out, starts_with("Errors for \"other\"") && contains("1 nodes checked"));
    CHECK_THAT(diags(f.fabric, {"ibqueryerrors", "-S", "0x100"}).out, starts_with("Errors for 0x100") && contains("1 nodes checked"));
    CHECK_THAT(ibtool(f.fabric, {"ibqueryerrors", "1"}).out, contains("'leaf'") && contains("## Summary: 1 nodes checked"));
    const auto none = diags(f.fabric, {"ibqueryerrors", "-G", "0xdead"});
    CHECK_THAT(none.err, contains("main: Failed to resolve 0xdead; attempting full scan\n") && ends_with("Failed to find node: 0xdead\n"));
    CHECK(none.status == 0);
    const auto without_node = diags(f.fabric, {"ibqueryerrors", "-D", "0,1,4"});
    CHECK(without_node.status == 0);
    CHECK(without_node.out.empty());
    CHECK_THAT(without_node.err, contains("mad_rpc: _do_madrpc failed; dport (DR path slid 65535; dlid 65535; 0,1,4)\n") &&
                                     ends_with("Failed to query local Node Info\n"));
    const auto elsewhere = diags(f.fabric, {"ibqueryerrors", "-C", "nodev"});
    CHECK(elsewhere.status == 255);
    CHECK_THAT(elsewhere.out, contains("iberror: failed: Failed to open port; nodev:0\n\n"));
  }
}

TEST_CASE("ibqueryerrors: ports with errors as a table") {
  Fabric f;
  f.pma.count(2, "symbol_error_counter") = 2048;
  f.pma.count(2, "link_downed_counter") = 1;
  f.other_pma.count(2, "port_rcv_errors") = 7;
  const auto table = ibtool(f.fabric, {"ibqueryerrors", "--format", "table"});
  CHECK(table.status == 1);
  CHECK(table.out ==
        "NODE   PORT  PEER   PORT  ERRORS\n"
        "leaf      2  other     1  SymbolErrorCounter 2048, LinkDownedCounter 1\n"
        "other     2  leaf      3  PortRcvErrors 7\n");
  const auto csv = ibtool(f.fabric, {"ibqueryerrors", "--format=csv", "--columns=lid,port_num,port_rcv_errors,errors", "--sort=-lid"});
  CHECK_THAT(csv.out,
             starts_with("lid,port_num,port_rcv_errors,errors\r\n4,2,7,\"[{\"\"counter\"\":\"\"port_rcv_errors\"\",\"\"count\"\":7,") &&
                 contains("\r\n1,2,0,"));
  CHECK(ibtool(f.fabric, {"ibqueryerrors", "--top", "1", "--columns=lid", "--format=tsv"}).out == "lid\n1\n");
  const auto data = ibtool(f.fabric, {"ibqueryerrors", "--counters", "--format", "table", "--sort=-port_rcv_pkts"});
  CHECK(data.status == 0);
  CHECK_THAT(data.out, starts_with("NODE   PORT  PEER   PORT  PortXmitData  PortRcvData  PortXmitPkts  PortRcvPkts\n"));
  const auto wide = ibtool(f.fabric, {"ibqueryerrors", "--format", "wide", "--details", "--data"});
  CHECK_THAT(wide.out, contains("VL15Dropped") && contains("PortInactiveDiscards") && contains("PortXmitData") && contains("SYSTEM"));
}

TEST_CASE("ibqueryerrors: a table without rows has its headings, and options that are not for it are refused") {
  Fabric f;
  CHECK(ibtool(f.fabric, {"ibqueryerrors", "--columns", "lid,errors", "--format", "csv"}).out == "lid,errors\r\n");
  CHECK(ibtool(f.fabric, {"ibqueryerrors", "--columns", "lid,errors"}).out == "LID  ERRORS\n");
  CHECK_THAT(ibtool(f.fabric, {"ibqueryerrors", "--format=csv"}).out, contains("counter,count,threshold,saturated\r\n"));
  const std::size_t asked = f.asked_in_all();
  const auto wrong = ibtool(f.fabric, {"ibqueryerrors", "--columns", "port_rcv_eror"});
  CHECK(wrong.status == 2);
  CHECK_THAT(wrong.err, contains("no column is called 'port_rcv_eror'") && contains("port_rcv_errors"));
  CHECK(ibtool(f.fabric, {"ibqueryerrors", "--columns", "errors", "--counters"}).status == 2);
  CHECK_THAT(ibtool(f.fabric, {"ibqueryerrors", "--sort=lid", "--json"}).err, contains("--sort is for a table, whose rows are ports"));
  CHECK(ibtool(f.fabric, {"ibqueryerrors", "--interval=1", "--format=table"}).status == 2);
  CHECK(f.asked_in_all() == asked);
}

TEST_CASE("ibqueryerrors: thresholds and what is suppressed") {
  Fabric f;
  f.simple();
  f.pma.count(2, "symbol_error_counter") = 30;
  f.pma.count(3, "symbol_error_counter") = 31;
  f.pma.count(3, "port_rcv_switch_relay_errors") = 1;
  const TemporaryFile file("# a comment\n\nSymbolErrorCounter=0x1e\nsymbolErrorCounter=1\nnothing\n");
  const auto theirs = diags(f.fabric, {"ibqueryerrors", "--threshold-file", file.path, "-c"});
  CHECK_THAT(theirs.out, starts_with("Errors for 0x100 \"leaf\"\n   GUID 0x100 port 3: [SymbolErrorCounter == 31]\n\n") &&
                             ends_with("## Thresholds: [SymbolErrorCounter = 30]\n## Suppressed: PortRcvSwitchRelayErrors\n"));
  const auto suppressed = diags(f.fabric, {"ibqueryerrors", "-s", "SymbolErrorCounter,NoSuch,PortSelect", "-s", "VL15Dropped"});
  CHECK_THAT(suppressed.out, contains("port 3: [PortRcvSwitchRelayErrors == 1]\n") && !contains("port 2:") &&
                                 ends_with("## Suppressed: SymbolErrorCounter PortSelect VL15Dropped\n"));
  // C prints a null pointer so where there is no file.
  CHECK_THAT(diags(f.fabric, {"ibqueryerrors", "--threshold-file", "/nonexistent"}).out, contains("\n## (null)\n"));
  CHECK(ibtool(f.fabric, {"ibqueryerrors", "-T", "/nonexistent"}).status == 2);
  const TemporaryFile spaced("SymbolErrors = 30\n");
  CHECK_THAT(ibtool(f.fabric, {"ibqueryerrors", "-T", spaced.path}).out, contains("## Thresholds: [SymbolErrorCounter = 30]\n"));
  for (const char* line : {"SymbolErrorCounter=-1\n", "SymbolErrorCounter=many\n", "SymbolErorCounter=30\n", "nothing\n"}) {
    const TemporaryFile bad(line);  // -1 would be a threshold that no counter exceeds
    const auto refused = ibtool(f.fabric, {"ibqueryerrors", "-T", bad.path});
    CHECK(refused.status == 2);
    CHECK_THAT(refused.err, contains(bad.path + ":1: "));
  }
  const auto wrong = ibtool(f.fabric, {"ibqueryerrors", "-s", "NoSuch"});
  CHECK(wrong.status == 2);
  CHECK_THAT(wrong.err, contains("no counter of PortCounters is called NoSuch"));
}

TEST_CASE("ibqueryerrors: details have the names of their own attribute") {
  Fabric f;
  f.simple();
  f.pma.count(2, "port_xmit_discards") = 5;
  f.pma.count(2, "port_inactive_discards") = 4;
  f.pma.count(2, "port_rcv_errors") = 9;
  f.pma.count(2, "port_local_physical_errors") = 8;
  const auto found = diags(f.fabric, {"ibqueryerrors", "--details"});
  CHECK_THAT(found.out, contains("port 2: [PortRcvErrors == 9] [PortLocalPhysicalErrors == 8] [PortXmitDiscards == 5] "
                                 "[PortInactiveDiscards == 4]\n"));
  CHECK(asked_for(f.pma, pm::PortRcvErrorDetails::attribute_id) == 1);
  f.pma.unsupported.insert(pm::PortXmitDiscardDetails::attribute_id);
  const auto refused = diags(f.fabric, {"ibqueryerrors", "--details"});
  CHECK_THAT(refused.err, contains("query_and_dump: PortXmitDiscardDetails query failed on leaf, Lid 1 port 2\n"));
  CHECK_THAT(refused.out, contains("##          1 PMA query failures\n"));
}

TEST_CASE("ibqueryerrors: data of ports with errors, or of all ports") {
  Fabric f;
  f.pma.count(2, "symbol_error_counter") = 1;
  f.pma.count(2, "port_xmit_data") = 1008;
  f.pma.count(2, "port_unicast_rcv_pkts") = std::uint64_t{1} << 40;
  const auto errors = diags(f.fabric, {"ibqueryerrors", "--data"});
  CHECK_THAT(errors.out, contains("port 2: [SymbolErrorCounter == 1 (1.000)] [PortXmitData == 1008 (3.938KB)] [PortUnicastRcvPkts == "
                                  "1099511627776 (1.000T)]\n"));
  const auto all = diags(f.fabric, {"ibqueryerrors", "--counters"});
  CHECK(all.status == 0);
  CHECK_THAT(all.out, contains("Data Counters for 0x100 \"leaf\"\n   GUID 0x100 port 1: [PortXmitData == 0 (0.000B)]") &&
                          contains("port 2: [PortXmitData == 1008 (3.938KB)]"));
  CHECK(count(all.out, "   GUID ") == 7);
}

TEST_CASE("ibqueryerrors: counts in units of 1024") {
  using tools::ibqueryerrors::human_count;
  CHECK(human_count(0, true) == "0.000B");
  CHECK(human_count(1023, false) == "1023.000");
  CHECK(human_count(1024, false) == "1.000K");
  CHECK(human_count(256, true) == "1024.000B");
  CHECK(human_count(257, true) == "1.004KB");
  CHECK(human_count(~std::uint64_t{0}, false) == "16.000E");
}

TEST_CASE("ibqueryerrors: the links of ports with errors") {
  Fabric f;
  f.simple();
  f.pma.count(2, "symbol_error_counter") = 1;
  f.pma.count(4, "symbol_error_counter") = 1;
  const auto found = diags(f.fabric, {"ibqueryerrors", "-r"});
  CHECK_THAT(found.out, contains("port 2: [SymbolErrorCounter == 1]\n       Link info:      1   2[  ] ==(") &&
                            contains(")==>  0x0000000000000301      3    1[  ] \"other\" (") && contains("           [  ] \"\" ( )\n"));
  CHECK_THAT(ibtool(f.fabric, {"ibqueryerrors", "-r"}).out, contains(")==>  0000:0000:0000:0301      3    1[  ] 'other' ("));
}

TEST_CASE("ibqueryerrors: a silent PMA costs one chain of tries, and is reported") {
  Fabric f;
  f.simple();
  f.pma.service().faults.silent = true;
  f.other_pma.count(1, "symbol_error_counter") = 1;
  const auto theirs = diags(f.fabric, {"ibqueryerrors"});
  CHECK(theirs.status == 1);
  CHECK_THAT(theirs.err, !contains("mad_rpc") && contains("query_cap_mask: classportinfo query failed on leaf, Lid 1 port 0\n") &&
                             contains("print_errors: IB_GSI_PORT_COUNTERS query failed on leaf, Lid 1 port 4\n"));
  CHECK(count(theirs.err, "print_errors:") == 4);
  CHECK_THAT(theirs.out, contains("##          5 PMA query failures\n") &&
                             contains("## Summary: 3 nodes checked, 1 bad nodes found\n##          7 ports checked, 1 ports have errors "));
  CHECK(f.pma.service().requests == 4);  // three tries, and one more at the end
  f.other_pma.count(1, "symbol_error_counter") = 0;
  const auto ours = ibtool(f.fabric, {"ibqueryerrors", "--json"});
  CHECK(ours.status == 4);
  const json found = json::parse(ours.out);
  CHECK(found["unreachable"].size() == 1);
  CHECK(found["unreachable"][0]["node_description"] == "leaf");
  CHECK(found["nodes"].empty());
  CHECK(found["nodes_checked"] == 2);
  CHECK(found["ports_checked"] == 3);
  const json grown = json::parse(ibtool(f.fabric, {"ibqueryerrors", "--interval", "1", "--count", "1", "--json"}).out)["readings"][0];
  CHECK(grown["nodes_checked"] == 2);
  CHECK(grown["ports_checked"] == 3);
  const json exported = json::parse(ibtool(f.fabric, {"exporter", "--once", "--hcas", "--json"}).out);
  CHECK(exported["nodes_checked"] == 3);  // each port of a channel adapter is a device
}

TEST_CASE("ibqueryerrors: nodes to which no GMP can be sent are not counted as checked") {
  Fabric f;
  f.sa.lie = [](std::uint16_t attribute, std::vector<ibtest::FakeSa::Record>& records) {
    if (attribute == sa::PathRecord::attribute_id)
      std::erase_if(records, [](const auto& record) { return sa::PathRecord::unpack(record).dlid == Lid{1}; });
  };
  for (const char* option : {"--data", "--json"}) {
    const auto ours = ibtool(f.fabric, {"ibqueryerrors", option});
    INFO(ours.out << ours.err);
    CHECK(ours.status == 4);
    CHECK_THAT(ours.err, contains("no GMPs are sent."));
    CHECK_THAT(ours.out, contains("## Summary: 2 nodes checked") || contains("\"nodes_checked\": 2,"));
  }
}

TEST_CASE("ibqueryerrors: counters are cleared right after they were read") {
  Fabric f;
  const auto prepare = [&] {
    for (const char* counter : {"symbol_error_counter", "port_xmit_data", "qp1_dropped", "port_xmit_wait"}) f.pma.count(2, counter) = 9;
  };
  const auto shown = [&](const char* counter) {
    const json found = json::parse(ibtool(f.fabric, {"perfquery", "-x", "1", "2", "--json"}).out);
    return found["ports"][0]["data"][counter].get<int>();
  };
  prepare();
  SECTION("nothing without a request") {
    CHECK(diags(f.fabric, {"ibqueryerrors", "--data"}).status == 1);
    CHECK(asked_for(f.pma, pm::PortCounters::attribute_id, set) + asked_for(f.pma, pm::PortCountersExt::attribute_id, set) == 0);
  }
  SECTION("errors, all ports at once") {
    CHECK_THAT(diags(f.fabric, {"ibqueryerrors", "-k"}).out, contains("[SymbolErrorCounter == 9 (9.000)]"));
    CHECK(asked_for(f.pma, pm::PortCounters::attribute_id, set) == 1);
    CHECK(asked_for(f.pma, pm::PortCountersExt::attribute_id, set) == 1);
    CHECK(shown("symbol_error_counter") == 0);
    CHECK(shown("port_xmit_wait") == 0);
    CHECK(shown("qp1_dropped") == 9);  // infiniband-diags leaves it
    CHECK(shown("port_xmit_data") == 9);
  }
  SECTION("data only") {
    CHECK(diags(f.fabric, {"ibqueryerrors", "-K"}).status == 1);
    CHECK(shown("symbol_error_counter") == 9);
    CHECK(shown("port_xmit_data") == 0);
  }
  SECTION("port by port, and a refusal is reported") {
    f.simple();
    f.pma.service().faults.status = mad::status::unsupported_method_attribute;
    f.pma.service().faults.status_attribute = pm::PortCounters::attribute_id;
    const auto refused = diags(f.fabric, {"ibqueryerrors", "-k", "--switch"});
    CHECK_THAT(refused.err, contains("Failed to reset errors leaf port 1\n") && contains("Failed to reset errors leaf port 4\n"));
  }
}

TEST_CASE("ibqueryerrors: without an SA the one program ends, the other uses SL 0 and says so") {
  Fabric f;
  f.pma.count(2, "symbol_error_counter") = 1;
  f.sa.silent = true;
  const auto theirs = diags(f.fabric, {"ibqueryerrors"});
  CHECK(theirs.out.empty());
  CHECK(theirs.status == 0);
  CHECK_THAT(theirs.err, contains("Query SA failed: ") && contains("sa call path_query failed\n"));
  const auto ours = ibtool(f.fabric, {"ibqueryerrors"});
  CHECK(ours.status == 1);
  CHECK_THAT(ours.err, contains("SL 0 is used: "));
  CHECK(diags(f.fabric, {"ibqueryerrors", "--skip-sl"}).status == 1);
  // The service level of the node of -G is not requested by itself: neither is a table of paths.
  const auto named = diags(f.fabric, {"ibqueryerrors", "-G", "0x100"});
  CHECK(named.status == 1);
  CHECK_THAT(named.out, contains("GUID 0x100 port 2: [SymbolErrorCounter == 1 (1.000)]") && contains("1 nodes checked, 1 bad nodes found"));
  CHECK_THAT(named.err, contains("Failed to resolve 0x100; attempting full scan\n") && !contains("Query SA failed"));
  const auto without_node = diags(f.fabric, {"ibqueryerrors", "-G", "0xdead"});
  CHECK(without_node.status == 0);
  CHECK_THAT(without_node.out, contains("0 nodes checked"));
  CHECK_THAT(diags(f.fabric, {"ibqueryerrors", "-D", "0,1"}).out, !contains("nodes checked"));
}

TEST_CASE("ibqueryerrors: what is found, as JSON") {
  Fabric f;
  f.pma.count(2, "symbol_error_counter") = 5;
  f.pma.count(2, "port_rcv_data") = 77;
  const auto found = ibtool(f.fabric, {"ibqueryerrors", "--json", "--data", "-c"});
  const json document = json::parse(found.out);
  CHECK(document["status"] == 1);
  CHECK(document["nodes_checked"] == 3);
  CHECK(document["ports_bad"] == 1);
  CHECK(document["suppressed"] == json::array({"port_rcv_switch_relay_errors"}));
  const json& node = document["nodes"].at(0);
  CHECK(node["node_description"] == "leaf");
  CHECK(node["all_ports"]["errors"][0]["counter"] == "symbol_error_counter");
  const json& port = node["ports"].at(0);
  CHECK(port["port_num"] == 2);
  CHECK(port["peer"]["node_description"] == "other");
  CHECK(port["errors"] == json::array({{{"counter", "symbol_error_counter"}, {"count", 5}, {"threshold", 0}, {"saturated", false}}}));
  CHECK(port["traffic"][1] == json({{"counter", "port_rcv_data"}, {"count", 77}}));
}

TEST_CASE("ibqueryerrors: a fabric that another program stored") {
  Fabric f;
  CHECK(diags(f.fabric, {"ibqueryerrors", "--load-cache", "/nonexistent"}).status == 255);
  CHECK_THAT(diags(f.fabric, {"ibqueryerrors", "--load-cache", "/nonexistent"}).err, ends_with("loading cached fabric failed\n"));
  const auto both = diags(f.fabric, {"ibqueryerrors", "--load-cache", "x", "-D", "0,1"});
  CHECK(both.status == 255);
  CHECK(both.err == "Cannot specify cache and direct route path\n");
  const TemporaryFile file("");
  CHECK(diags(f.fabric, {"ibnetdiscover", "--cache", file.path}).status == 0);
  f.pma.count(2, "symbol_error_counter") = 5;
  const auto whole = diags(f.fabric, {"ibqueryerrors"}), loaded = diags(f.fabric, {"ibqueryerrors", "--load-cache", file.path});
  CHECK(loaded.out == whole.out);
  CHECK(loaded.status == 1);
}

TEST_CASE("ibqueryerrors --interval: ports whose errors grow, and nothing is set") {
  Fabric f;
  f.pma.count(3, "symbol_error_counter") = 50;  // old ones
  auto& service = f.pma.service();
  service.answer = [&f, answer = service.answer](unsigned port, Bytes request) {
    f.pma.count(2, "symbol_error_counter") += 1;
    return answer(port, request);
  };
  const auto text = ibtool(f.fabric, {"ibqueryerrors", "--interval", "2", "--count", "2"});
  CHECK(text.status == 1);
  CHECK_THAT(text.out, contains("   GUID 0000:0000:0000:0100 port 2: [SymbolErrorCounter + 4 (2.000/s)]\n") && !contains("port 3:"));
  for (const FakePma::Asked& one : f.pma.asked) CHECK(one.method == get);
  CHECK(f.pma.times(mad::ClassPortInfo::attribute_id) == 1);
  const json found = json::parse(ibtool(f.fabric, {"ibqueryerrors", "--interval", "2", "--count", "2", "--json", "--data"}).out);
  CHECK(found["readings"][0]["ports"].empty());
  const json& port = found["readings"][1]["ports"][0];
  CHECK(port["port_num"] == 2);
  CHECK(port["errors"][0]["delta"] == 4);
  CHECK(port["errors"][0]["per_second"].get<double>() == Approx(2).epsilon(0.001));
  CHECK(ibtool(f.fabric, {"ibqueryerrors", "-k", "--interval", "1"}).status == 2);
}

TEST_CASE("ibqueryerrors: options that would have no effect beside another one are refused, both named") {
  Fabric f;
  const std::vector<std::pair<std::vector<std::string>, std::string>> lines{{{"--interval", "1", "--details"}, "--details"},
                                                                            {{"--interval", "1", "-r"}, "--report-port"},
                                                                            {{"--counters", "--details"}, "--details"},
                                                                            {{"--counters", "--data"}, "--data"},
                                                                            {{"--counters", "-s", "SymbolErrorCounter"}, "--suppress"},
                                                                            {{"--counters", "-c"}, "--suppress-common"},
                                                                            {{"--counters", "-T", "/dev/null"}, "--threshold-file"}};
  for (const auto& [options, other] : lines) {
    std::vector<std::string> words{"ibqueryerrors"};
    words.insert(words.end(), options.begin(), options.end());
    const auto refused = ibtool(f.fabric, words);
    INFO(refused.err);
    CHECK(refused.status == 2);
    CHECK_THAT(refused.err, contains(options.front()) && contains(other));
  }
  CHECK(diags(f.fabric, {"ibqueryerrors", "--counters", "--details"}).status == 0);  // Debian's takes both
}

TEST_CASE("ibqueryerrors: a full disk is an error") {
  Fabric f;
  CHECK(ibtool(f.fabric, {"ibqueryerrors"}, {.full_disk = true}).status == 3);
  CHECK(diags(f.fabric, {"ibqueryerrors"}, {.full_disk = true}).status == 255);
}

}  // namespace tools_ibqueryerrors_tests
