// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Whole command lines on a fabric in memory: what ibsim cannot play (keys, hostile text, silent nodes), and JSON.
#include <nlohmann/json.hpp>

#include "support/catch.hpp"
#include "support/program.hpp"
#include "support/small_fabric.hpp"

namespace tools_commands_tests {

using ibtest::contains;
using ibtest::FakeFabric;
using ibtest::ibtool;
using nlohmann::json;

namespace {

using Small = ibtest::SmallFabric;

json parsed(const ibtest::Outcome& outcome) {
  INFO(outcome.out << outcome.err);
  CHECK(outcome.status == 0);
  return json::parse(outcome.out);
}

}  // namespace

TEST_CASE_METHOD(Small, "ibaddr as text and as JSON") {
  const auto text = ibtool(fabric, {"ibaddr", "3"});
  CHECK(text.out == "GID fe80::301 LID start 3 end 3\n");
  CHECK(text.err.empty());
  CHECK(text.status == 0);
  const json document = parsed(ibtool(fabric, {"ibaddr", "0,1,2", "--json"}));
  const json wanted = json::parse(R"({"command": "ibaddr", "schema": 3, "gid": "fe80::301", "port_guid": "0000:0000:0000:0301",
                                      "lid": 3, "lmc": 0, "last_lid": 3, "status": 0})");
  for (const auto& [key, value] : wanted.items()) CHECK(document.at(key) == value);
  CHECK(document.at("path").at("route") == json::parse("[1, 2]"));
}

TEST_CASE_METHOD(Small, "ibaddr uses the subnet prefix that the port has") {
  fabric.node(other).ports.at(1).info.gid_prefix = ib::GidPrefix{0xfec0000000000000};
  CHECK(ibtool(fabric, {"ibaddr", "-g", "3"}).out == "GID fec0::301\n");
}

TEST_CASE_METHOD(Small, "smpquery shows an M_Key on demand only") {
  fabric.node(other).ports.at(1).info.m_key = 0x1234;
  const auto hidden = ibtool(fabric, {"smpquery", "PI", "3"});
  CHECK_THAT(hidden.out,
             contains("Mkey:............................<not displayed>\n") && contains("# A key is set but not displayed: -K shows it\n"));
  CHECK(hidden.out.find("1234") == std::string::npos);
  CHECK_THAT(ibtool(fabric, {"smpquery", "-K", "PI", "3"}).out, contains("Mkey:............................0x0000000000001234\n"));
  CHECK(ibtool(fabric, {"smpquery", "-vv", "PI", "3"}).out.find("1234") == std::string::npos);
  CHECK(parsed(ibtool(fabric, {"smpquery", "--json", "PI", "3"}))["data"]["m_key"].is_null());
  CHECK(parsed(ibtool(fabric, {"smpquery", "--json", "-K", "PI", "3"}))["data"]["m_key"] == "0x0000000000001234");
}

TEST_CASE_METHOD(Small, "hostile node descriptions reach no terminal") {
  auto& description = fabric.node(other).description;
  description.fill('x');
  description[0] = 0x1b;
  description[1] = '[';
  description[2] = 0xff;
  const std::string rest(61, 'x');
  CHECK(ibtool(fabric, {"smpquery", "ND", "3"}).out == "Node Description: '\\x1b[\\xff" + rest + "'\n");
  CHECK(parsed(ibtool(fabric, {"smpquery", "ND", "3", "--json"}))["node_description"] == "\x1b[\xef\xbf\xbd" + rest);
}

TEST_CASE_METHOD(Small, "smpquery's JSON has numbers, their texts and the path") {
  const json document = parsed(ibtool(fabric, {"smpquery", "--json", "NI", "0,1"}));
  CHECK(document.at("operation") == "NodeInfo");
  CHECK(document.at("path")["kind"] == "directed");
  CHECK(document.at("path")["route"] == json::parse("[1]"));
  CHECK(document.at("data")["node_type"] == 2);
  CHECK(document.at("data")["node_type_text"] == "Switch");
  CHECK(document.at("data")["node_guid"] == "0000:0000:0000:0100");
  const json table = parsed(ibtool(fabric, {"smpquery", "--json=lines", "LFT", "1"}));
  CHECK(table["port_by_lid"].size() == table["top"].get<std::size_t>() + 1);
  CHECK(table["port_by_lid"][3] == 2);
}

TEST_CASE_METHOD(Small, "a node that does not answer, and one that answers with an error") {
  fabric.node(other).faults.silent = true;
  const auto silent = ibtool(fabric, {"smpquery", "NI", "3", "--stats"});
  CHECK(silent.status == 3);
  CHECK(silent.out == "# Node info: Path 2 -> 3 SL=0 PKey=0xffff DQPN=0\n");
  CHECK_THAT(silent.err, ibtest::starts_with("E: No answer from LID 3 about NodeInfo (4 tries in ") && !ibtest::contains("RPC"));
  CHECK_THAT(ibtool(fabric, {"smpquery", "NI", "3", "-v"}).err,
             contains("\nE: +RPC MAD_METHOD_GET(1) SMPFormat(1.1) SMPNodeInfo(17) timed out to 'Path 2 -> 3 SL=0 PKey=0xffff DQPN=0'\n"));
  CHECK_THAT(ibtool(fabric, {"smpquery", "NI", "3", "-e"}).err, contains("trying again"));

  fabric.node(other).faults.silent = false;
  const auto error = ibtool(fabric, {"smpquery", "-v", "SI", "3"});
  CHECK(error.status == 3);
  CHECK_THAT(error.err, contains("got error status 0xc - Unsupported method+attr\nE: +MAD path was IBPath(end_port='fake0/1', DLID=3, "));
  const auto refused = ibtool(fabric, {"smpquery", "--json", "SI", "3"});
  const json failure = json::parse(refused.out);
  CHECK(failure["status"] == 3);
  CHECK_THAT(failure["error"].get<std::string>(), contains("(LID 3) is a channel adapter: it has no forwarding table"));
}

TEST_CASE_METHOD(Small, "the M_Key and the route of a request") {
  std::uint64_t m_key = 0;
  fabric.node(leaf).faults.lie = [&](FakeFabric::Answer& answer) {
    for (unsigned i = 0; i < 8; ++i) m_key = m_key << 8 | answer[24 + i];
  };
  CHECK(ibtool(fabric, {"smpquery", "-y", "0x1122334455667788", "NI", "1"}).status == 0);
  CHECK(m_key == 0x1122334455667788U);
  CHECK_THAT(ibtool(fabric, {"smpquery", "-c", "ND", "1", "0,2"}).out, contains("'other'"));
}

TEST_CASE_METHOD(Small, "targets choose the end port, and must agree with -P") {
  CHECK(ibtool(fabric, {"ibaddr", "-P", "fake0/1", "0,1"}).status == 0);
  CHECK(ibtool(fabric, {"ibaddr", "-C", "nosuch"}).status == 2);
  CHECK_THAT(ibtool(fabric, {"ibaddr", "fe80::301%nosuch/1"}).err, contains("Invalid command line argument #1 'fe80::301%nosuch/1' - "));
}

TEST_CASE_METHOD(Small, "usage errors are one line with status 2") {
  const std::vector<std::vector<std::string>> wrong = {{"nosuch"},
                                                       {"ibaddr", "--nosuch"},
                                                       {"ibaddr", "1", "2"},
                                                       {"ibaddr", "zzz"},
                                                       {"smpquery", "zz", "3"},
                                                       {"smpquery", "NI"},
                                                       {"smpdump", "1"},
                                                       {"smpdump", "1", "-1"},
                                                       {"smpdump", "1", "65536"},
                                                       {"ibv_devices", "x"},
                                                       {"help", "nosuch"},
                                                       {"ibaddr", "-t", "0"},
                                                       {"smpquery", "PI", "1", "x"},
                                                       {"ibaddr", "--json=xml"},
                                                       {"ibaddr", "--sa-path", "zzz"},
                                                       {"ibaddr", "--sa-path", "0,1"},
                                                       {"sminfo", "1", "-1"},
                                                       {"sminfo", "-s", "16"},
                                                       {"sminfo", "-p", "300"}};
  for (const auto& words : wrong) {
    const auto outcome = ibtool(fabric, words);
    INFO(words.front() << " " << words.back() << ": " << outcome.err);
    CHECK(outcome.status == 2);
    CHECK(outcome.out.empty());
    const std::string err = outcome.err_after_wait();
    CHECK_THAT(err, ibtest::starts_with("E: "));
    CHECK(std::ranges::count(err, '\n') == 1);
  }
}

TEST_CASE_METHOD(Small, "smpdump in its forms") {
  const auto words = ibtool(fabric, {"smpdump", "3", "0x10"});
  CHECK_THAT(words.out, ibtest::starts_with("6f74 6865 7200 0000 0000 0000 0000 0000\n") && ibtest::ends_with("SMP status: 0x0000\n"));
  CHECK_THAT(ibtool(fabric, {"smpdump", "0,1", "16"}).out, ibtest::ends_with("SMP status: 0x8000\n"));
  CHECK(ibtool(fabric, {"smpdump", "-s", "3", "0x10"}).out == "other\n");
  CHECK_THAT(ibtool(fabric, {"smpdump", "-p", "3", "0x11"}).out, ibtest::starts_with("SMPFormat\n  0 01010181 baseVersion=1,"));
  const json document = parsed(ibtool(fabric, {"smpdump", "--json", "3", "0x11"}));
  CHECK(document.at("hex").get<std::string>().size() == 128);
  CHECK(document.at("mad")["data"]["node_guid"] == "0000:0000:0000:0300");
}

TEST_CASE_METHOD(Small, "a mistyped word is answered with the nearest right one") {
  const auto complaint = [this](std::vector<std::string> words) {
    const auto outcome = ibtool(fabric, std::move(words));
    CHECK(outcome.status == 2);
    CHECK(outcome.out.empty());
    return outcome.err;
  };
  CHECK(complaint({"smpqery"}) == "E: Bad command smpqery: did you mean smpquery?\n");
  CHECK(complaint({"perfectly"}) == "E: Bad command perfectly (see ibtool help)\n");
  CHECK(complaint({"links"}) == "E: Bad command links: did you mean iblinkinfo, phy, health? (ibtool help links lists what fits)\n");
  CHECK_THAT(complaint({"diff"}), contains("did you mean subnet_diff, snapshot"));
  CHECK_THAT(complaint({"trace"}), contains("did you mean ibtracert, ibroute? (ibtool help trace"));
  CHECK_THAT(complaint({"errors"}), contains("did you mean ibqueryerrors, health, "));
  CHECK_THAT(complaint({"help", "ibnetdiscovr"}), contains("Bad command ibnetdiscovr: did you mean ibnetdiscover?"));
  CHECK_THAT(complaint({"smpquery", "NodeInof", "3"}), contains("Unknown operation 'nodeinof': did you mean NodeInfo?"));
  CHECK_THAT(complaint({"smpquery", "NI", "3", "--timout", "5"}), contains("unrecognized option '--timout': did you mean --timeout?"));
  CHECK_THAT(complaint({"saquery", "NodeRecrod"}), contains("Unknown operation 'noderecrod': did you mean NodeRecord?"));
  CHECK_THAT(complaint({"query", "SubnGte", "SMPNodeInfo"}), contains("'SubnGte' - Invalid method: did you mean SubnGet?"));
  CHECK_THAT(complaint({"query", "SubnGet", "SMPNodeInof"}),
             contains("'SMPNodeInof' - Invalid attribute for SubnGet: did you mean SMPNodeInfo?"));
}

TEST_CASE_METHOD(Small, "options of all commands may stand before the name") {
  const json document = parsed(ibtool(fabric, {"--json", "ibaddr", "3"}));
  CHECK(document.at("lid") == 3);
  CHECK(ibtool(fabric, {"-v", "-t", "100", "ibaddr", "3"}).out == ibtool(fabric, {"ibaddr", "3"}).out);
  CHECK(ibtool(fabric, {"--stats", "ibaddr", "3"}).err == ibtool(fabric, {"ibaddr", "3", "--stats"}).err);
  const auto nothing = ibtool(fabric, {"-v"});
  CHECK(nothing.status == 2);
  CHECK(nothing.err == "E: No command is named (see ibtool help)\n");
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"--json"}, {"--json", "--nosuch", "ibaddr"}, {"--json", "nosuch"}}) {
    const auto refused = ibtool(fabric, words);
    CHECK(refused.status == 2);
    CHECK(json::parse(refused.out)["status"] == 2);
    CHECK_FALSE(json::parse(refused.out)["error"].get<std::string>().empty());
  }
}

}  // namespace tools_commands_tests
