// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// saquery and query on a subnet administrator of this file's: what leaves, what is printed, what JSON says, and that
// nothing an SA or a node sends does harm.
#include <nlohmann/json.hpp>

#include "iba-gen/pm.hpp"
#include "iba-gen/sa.hpp"
#include "iba/registry.hpp"
#include "iba/text.hpp"
#include "sa/pattern.hpp"
#include "support/catch.hpp"
#include "support/fake_sa.hpp"
#include "support/program.hpp"
#include "support/sa_answer.hpp"
#include "unit/tools/sa_subnet.hpp"

namespace tools_saquery_tests {

using namespace ib;
using ibtest::contains;
using ibtest::diags;
using ibtest::FakeFabric;
using ibtest::ibtool;
using ibtest::padded;
using namespace ibtest::sa_subnet;
using nlohmann::json;

TEST_CASE("every record: text and JSON agree on how many there are") {
  Subnet subnet([](Bytes request) -> std::optional<FakeFabric::Answer> {
    const sa::Pattern pattern(*find_attribute(3, 2, load_be<std::uint16_t>(&request[16])));
    const StructInfo* info = &pattern.answer();
    const std::vector<std::uint8_t> record((info->bytes + 7) / 8 * 8, std::uint8_t{0x41});
    if (request[3] == 1) return ibtest::sa_record(request, record);
    std::vector<std::vector<std::uint8_t>> records;
    for (std::size_t room = 200; room >= record.size() && records.size() < 3; room -= record.size()) records.push_back(record);
    return ibtest::sa_table(request, records);
  });
  for (const QueryInfo& type : sa::record_types()) {
    for (const bool internal : {false, true}) {
      INFO(type.name.view() << internal);
      const std::string name(type.name), names = internal ? "--int-names" : "-K";
      const auto text = ibtool(subnet.fabric, {"saquery", name, names});
      const auto document = ibtool(subnet.fabric, {"saquery", name, "--json", "-K"});
      CHECK(text.err.empty());
      REQUIRE(text.status == 0);
      REQUIRE(document.status == 0);
      const json parsed = json::parse(document.out);
      const bool single = name == "ClassPortInfo";
      const sa::Pattern pattern(*type.info);
      const StructInfo& answer = pattern.answer();
      CHECK(parsed["attribute"] == answer.iba_name);
      CHECK(parsed["complete"] == true);
      CHECK(count(text.out, single ? ":\n\t" : " dump:\n\t") >= parsed["records"].size());
      CHECK(parsed["records"].size() == (single ? 1 : std::min<std::size_t>(3, 200 / ((answer.bytes + 7) / 8 * 8))));
      for (const json& record : parsed["records"]) CHECK(record.size() >= 2);
      const auto lines = ibtool(subnet.fabric, {"saquery", name, "--json=lines"});
      CHECK(count(lines.out, "\n") == parsed["records"].size() + 1);  // and what is no record
      const std::string method = single                      ? "SubnAdmGet"
                                 : name == "MultiPathRecord" ? "SubnAdmGetMulti"
                                 : name == "TraceRecord"     ? "SubnAdmGetTraceTable"
                                                             : "SubnAdmGetTable";
      const auto query = ibtool(subnet.fabric, {"query", method, std::string(type.info->iba_name), "--json", "-K"});
      CHECK(query.status == 0);
      const json reply = json::parse(query.out);
      CHECK((single ? json::array({reply["data"]}) : reply["records"]) == parsed["records"]);
    }
  }
}

TEST_CASE("the query has the given members, and -v shows them") {
  Subnet subnet([](Bytes request) { return ibtest::sa_table(request, {padded(node("leaf"))}); });
  const auto done = ibtool(subnet.fabric, {"saquery", "-v", "NR", "2", "nodeInfo.nodeType=2", "--smkey", "7"});
  CHECK_THAT(
      done.out,
      contains("Performing query on SANodeRecord with component mask:\n   0 LID = 2\n   4 nodeInfo.nodeType = 2\nNodeRecord dump:\n"));
  REQUIRE(subnet.asked.size() == 1);
  CHECK(subnet.asked[0][3] == 0x12);
  CHECK(mask_of(subnet.asked[0]) == 0x11);
  CHECK(load_be<std::uint64_t>(&subnet.asked[0][36]) == 7);
  CHECK(json::parse(ibtool(subnet.fabric, {"saquery", "--json", "NR", "2"}).out)["match"] == json{{"lid", 2}});
  CHECK(json::parse(ibtool(subnet.fabric, {"saquery", "--json", "NR", "nodeInfo.portGUID=0x100"}).out)["match"] ==
        json{{"node_info.port_guid", "0000:0000:0000:0100"}});
  CHECK(json::parse(ibtool(subnet.fabric, {"saquery", "--json", "NR", "nodeInfo.nodeType=2"}).out)["match"] ==
        json{{"node_info.node_type", 2}, {"node_info.node_type_text", "Switch"}});
  const json paths = json::parse(ibtool(subnet.fabric, {"saquery", "--json", "PR", "numbPath=3"}).out);
  CHECK(paths["match"]["numb_path"] == 3);
}

TEST_CASE("a table of paths has a source, and selectors") {
  Subnet subnet([](Bytes request) { return ibtest::sa_table(request, {}); });
  ibtool(subnet.fabric, {"saquery", "PR", "-M", "4"});
  CHECK(mask_of(subnet.asked.back()) == (1U << 3 | 1U << 12 | 1U << 16 | 1U << 17));
  CHECK(subnet.asked.back()[56 + 54] == 0x84);
  ibtool(subnet.fabric, {"saquery", "PR", "-M", "0x44", "--slid", "5"});
  CHECK(mask_of(subnet.asked.back()) == (1U << 5 | 1U << 12 | 1U << 16 | 1U << 17));
  CHECK(subnet.asked.back()[56 + 54] == 0x44);
  ibtool(subnet.fabric, {"saquery", "PR", "--no-defaults", "-M", "4"});
  CHECK(mask_of(subnet.asked.back()) == 1U << 17);
  ibtool(subnet.fabric, {"saquery", "--sgid-to-dgid", "fe80::1-fe80::2"});
  CHECK(mask_of(subnet.asked.back()) == (1U << 2 | 1U << 3 | 1U << 12));
  CHECK(subnet.asked.back()[56 + 49] == 0x7f);
}

TEST_CASE("a MultiPathRecord lists its ends, this port's GID if no other source") {
  Subnet subnet([](Bytes request) { return ibtest::sa_table(request, {}); });
  const auto asked = [&] {
    const auto& mad = subnet.asked.back();
    CHECK(mad[3] == 0x14);
    CHECK(mad[26] == 1);  // to go by RMPP
    return sa::MultiPathRecord::unpack(Bytes(mad).subspan(56));
  };
  ibtool(subnet.fabric, {"saquery", "MultiPath", "DGID=fe80::7", "DGID=fe80::8", "-n", "3"});
  CHECK(mask_of(subnet.asked.back()) == (1U << 6 | 1U << 19 | 1U << 20));
  CHECK(asked().sgid_count == 1);
  CHECK(asked().dgid_count == 2);
  CHECK(asked().numb_path == 3);
  CHECK(to_text(asked().sd_gid[0]) == "fe80::201");
  CHECK(to_text(asked().sd_gid[2]) == "fe80::8");
  ibtool(subnet.fabric, {"saquery", "MPR", "--dgid", "fe80::7", "--sgid", "fe80::5", "-M", "4"});
  CHECK(mask_of(subnet.asked.back()) == (1U << 10 | 1U << 11 | 1U << 19 | 1U << 20));
  CHECK(to_text(asked().sd_gid[0]) == "fe80::5");
  CHECK(to_text(asked().sd_gid[1]) == "fe80::7");
  ibtool(subnet.fabric,
         {"query", "SubnAdmGetMulti", "MultiPathRecord", "-f", "SGIDCount=1", "-f", "DGIDCount=1", "-f", "SDGID[1]=fe80::9"});
  CHECK(to_text(asked().sd_gid[1]) == "fe80::9");
}

TEST_CASE("a MultiPathRecord of many ends reaches the SA whole, and its paths come back") {
  auto fabric = FakeFabric::fat_tree(2, 2, 4);
  const ibtest::FakeSa sa(fabric);
  std::vector<std::string> words{"saquery", "--json", "MPR"};
  const json nodes = json::parse(ibtool(fabric, {"saquery", "--json", "NR"}).out)["records"];
  for (const json& record : nodes) {
    const std::string guid = record["node_info"]["port_guid"];
    const std::string gid = to_text(Gid::from(link_local_prefix, *parse_guid(guid)));
    words.push_back("SGID=" + gid);
    words.push_back("DGID=" + gid);
  }
  const auto done = ibtool(fabric, words);
  REQUIRE(done.status == 0);
  const json records = json::parse(done.out)["records"];
  CHECK(nodes.size() > 6);  // more ends than one MAD has room for
  CHECK(records.size() == nodes.size() * nodes.size());
  CHECK(records.back()["slid"] == nodes.back()["lid"]);
  CHECK(sa.asked.back().record.size() == 24 + nodes.size() * 32);
}

TEST_CASE("TraceRecords are requested by a path, from this port unless another is given") {
  sa::TraceRecord hop;
  hop.node_id = 0x1234;
  Subnet subnet([&](Bytes request) { return ibtest::sa_table(request, {padded(hop)}); });
  const auto done = ibtool(subnet.fabric, {"saquery", "TraceRecord", "DLID=2"});
  CHECK_THAT(done.out, contains("TraceRecord dump:\n"));
  const auto& mad = subnet.asked.back();
  CHECK(mad[3] == 0x13);
  CHECK(mad[17] == 0x39);
  CHECK(mask_of(mad) == (1U << 3 | 1U << 4));
  CHECK(sa::PathRecord::unpack(Bytes(mad).subspan(56)).dlid == Lid{2});
  const json reply = json::parse(ibtool(subnet.fabric, {"query", "SubnAdmGetTraceTable", "TraceRecord", "-f", "SLID=1", "--json"}).out);
  CHECK(reply["records"][0]["node_id"] == "0x0000000000001234");
  CHECK(mask_of(subnet.asked.back()) == 1U << 5);
}

TEST_CASE("the status of the SA for an unknown method is the error") {
  Subnet subnet([](Bytes request) {
    auto mad = ibtest::sa_record(request, {});
    mad[3] = request[3] | 0x80;
    mad[5] = 0x0c;
    return mad;
  });
  for (const std::string name : {"MultiPathRecord", "TraceRecord"}) {
    const auto done = ibtool(subnet.fabric, {"saquery", name, "DGID=fe80::1"});
    CHECK(done.status == 3);
    CHECK_THAT(done.err, contains("E: The SA does not support "));
  }
}

TEST_CASE("bad words end with one line and nothing is sent") {
  Subnet subnet([](Bytes request) { return ibtest::sa_table(request, {}); });
  for (const std::vector<std::string>& words : std::vector<std::vector<std::string>>{{"saquery", "zz"},
                                                                                     {"saquery", "S"},
                                                                                     {"saquery", "NR", "2", "3"},
                                                                                     {"saquery", "CPI", "5"},
                                                                                     {"saquery", "CPI", "zz=1"},
                                                                                     {"saquery", "NR", "LID=70000"},
                                                                                     {"saquery", "NR", "-M", "4"},
                                                                                     {"saquery", "MPR", "DLID=1"},
                                                                                     {"saquery", "MPR", "SGID=x"},
                                                                                     {"saquery", "TraceRecord", "nodeID=1"},
                                                                                     {"query", "SubnAdmGet", "SATraceRecord"},
                                                                                     {"saquery", "-l"},
                                                                                     {"saquery", "-O", "70000"},
                                                                                     {"saquery", "--src-to-dst", "4"},
                                                                                     {"query", "NoSuch", "SMPNodeInfo"},
                                                                                     {"query", "SubnGet", "PMPortCounters"},
                                                                                     {"query", "SubnGet", "SMPNodeInfo", "-f", "zz=1"},
                                                                                     {"query", "SubnAdmGet", "SANodeRecord", "-f", "LID"},
                                                                                     {"query", "SubnGet"}}) {
    INFO(words[1]);
    const auto done = ibtool(subnet.fabric, words);
    CHECK(done.status == 2);
    CHECK(done.out.empty());
    CHECK(count(done.err, "\n") == 1);
  }
  CHECK(subnet.asked.empty());
}

TEST_CASE("hostile names do not reach the terminal") {
  Subnet subnet([](Bytes request) { return ibtest::sa_table(request, {padded(node("\x1b[2J\xff\n"))}); });
  for (const std::vector<std::string>& words : std::vector<std::vector<std::string>>{{"saquery"},
                                                                                     {"saquery", "--int-names"},
                                                                                     {"saquery", "-D"},
                                                                                     {"saquery", "-O", "2"},
                                                                                     {"saquery", "--json"},
                                                                                     {"saquery", "-D", "--json"}}) {
    const auto done = ibtool(subnet.fabric, words);
    CHECK(done.status == 0);
    CHECK(done.out.find('\x1b') == std::string::npos);
    CHECK(done.out.find('\xff') == std::string::npos);
  }
}

TEST_CASE("an answer that ends within a record prints what came and ends with status 4") {
  Subnet subnet([](Bytes request) {
    auto mad = ibtest::sa_table(request, {padded(node("leaf"))});
    store_be<std::uint32_t>(&mad[32], 20 + 112 + 4);  // PayloadLength
    mad[56 + 112 + 1] = 8;
    return mad;
  });
  const auto done = ibtool(subnet.fabric, {"saquery"});
  CHECK(done.status == 4);
  CHECK_THAT(done.out, contains("NodeDescription.........leaf\n"));
  CHECK(done.err == "W: the answer of the SA was cut on its way: only the first record arrived\n");
  CHECK(json::parse(ibtool(subnet.fabric, {"saquery", "--json"}).out)["complete"] == false);
}

TEST_CASE("no records are no error") {
  Subnet subnet([](Bytes request) {
    auto mad = ibtest::sa_record(request, {});
    mad[3] |= 0x80;
    mad[4] = 3;
    return mad;
  });
  const auto done = ibtool(subnet.fabric, {"saquery", "--get", "NR", "LID=9"});
  CHECK(done.status == 0);
  CHECK(done.out == "No Records.\n");
  CHECK(json::parse(ibtool(subnet.fabric, {"saquery", "--get", "--json", "NR", "LID=9"}).out)["records"].empty());
  CHECK(ibtool(subnet.fabric, {"saquery", "-l", "leaf"}).status == 3);
}

TEST_CASE("keys are shown on demand only") {
  sa::PortInfoRecord record;
  record.port_info.m_key = 0x1234;
  Subnet subnet([&](Bytes request) { return ibtest::sa_table(request, {padded(record)}); });
  const auto hidden = ibtool(subnet.fabric, {"saquery", "PIR"});
  CHECK_THAT(hidden.out, contains("Mkey:............................<not displayed>\n"));
  CHECK_THAT(hidden.out, contains("\t\t# A key is set but not displayed: -K shows it\n"));
  CHECK_THAT(ibtool(subnet.fabric, {"saquery", "PIR", "-K"}).out, contains("Mkey:............................0x0000000000001234\n"));
  CHECK(json::parse(ibtool(subnet.fabric, {"saquery", "PIR", "--json"}).out)["records"][0]["port_info"]["m_key"].is_null());
}

TEST_CASE("a Set keeps what it does not name") {
  sa::PathRecord path;
  path.dlid = Lid{2};
  path.slid = Lid{1};
  pm::PortCounters counters;
  counters.port_select = 1;
  counters.symbol_error_counter = 77;
  Subnet subnet([&](Bytes request) {
    if (request[1] == 3) return ibtest::sa_record(request, padded(path));
    FakeFabric::Answer mad = ibtest::sa_record(request, {});
    counters.pack(MutableBytes(mad).subspan(64, pm::PortCounters::wire_size));
    return mad;
  });
  CHECK(ibtool(subnet.fabric, {"query", "PerformanceSet", "PMPortCounters", "2", "-f", "linkDownedCounter=3"}).status == 0);
  const auto& set = subnet.asked.back();
  CHECK(set[3] == 2);
  const auto sent = pm::PortCounters::unpack(Bytes(set).subspan(64, pm::PortCounters::wire_size));
  CHECK(sent.symbol_error_counter == 77);
  CHECK(sent.link_downed_counter == 3);
  ibtool(subnet.fabric, {"query", "--zero", "PerformanceSet", "PMPortCounters", "2", "-f", "linkDownedCounter=3"});
  CHECK(pm::PortCounters::unpack(Bytes(subnet.asked.back()).subspan(64, pm::PortCounters::wire_size)).symbol_error_counter == 0);
}

TEST_CASE("an attribute of a class with an OUI is sent as that class wants it") {
  sa::PathRecord path;
  path.dlid = Lid{2};
  path.slid = Lid{1};
  Subnet subnet([&](Bytes request) { return ibtest::sa_record(request, request[1] == 3 ? padded(path) : std::vector<std::uint8_t>()); });
  const auto done = ibtool(subnet.fabric, {"query", "VendGet", "OFASysStatPing", "2"});
  REQUIRE_FALSE(subnet.asked.empty());
  const auto& mad = subnet.asked.back();
  CHECK(mad[1] == 0x33);
  CHECK((mad[37] == 0 && mad[38] == 0x14 && mad[39] == 0x05));
  CHECK(done.status == 0);
}

TEST_CASE("saquery: a full disk is a failure in both dialects") {
  Subnet subnet([](Bytes request) { return ibtest::sa_table(request, {padded(node("leaf"))}); });
  CHECK(ibtool(subnet.fabric, {"saquery"}, {.full_disk = true}).status == 3);
  CHECK(diags(subnet.fabric, {"saquery"}, {.full_disk = true}).status == 255);
}

TEST_CASE("saquery: options that want different lists contradict each other") {
  Subnet subnet([](Bytes request) { return ibtest::sa_table(request, {}); });
  const auto done = ibtool(subnet.fabric, {"saquery", "-p", "-N"});
  CHECK(done.status == 2);
  CHECK_THAT(done.err, contains("-p and -N contradict each other"));
  CHECK(ibtool(subnet.fabric, {"saquery", "-L", "-O", "2"}).status == 2);
  CHECK(ibtool(subnet.fabric, {"saquery", "-D", "--dlid", "2"}).status == 2);
  CHECK(ibtool(subnet.fabric, {"saquery", "-g", "-m"}).status == 0);
  CHECK(ibtool(subnet.fabric, {"saquery", "-p", "--src-to-dst", "1:2"}).status == 0);
  CHECK(subnet.asked.size() == 2);
  CHECK(ibtool(subnet.fabric, {"saquery", "pr", "--src-to-dst", "1:2"}).status == 0);
  CHECK(ibtool(subnet.fabric, {"saquery", "NR", "--src-to-dst", "1:2"}).status == 2);
}

}  // namespace tools_saquery_tests
