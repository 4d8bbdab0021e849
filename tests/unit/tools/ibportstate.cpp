// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// ibportstate on a fabric in memory: what goes out in a SubnSet, what is refused before, and how the peer is found.
#include <nlohmann/json.hpp>

#include "base/bytes.hpp"
#include "support/catch.hpp"
#include "support/fake_sa.hpp"
#include "support/program.hpp"

namespace tools_ibportstate_tests {

using ib::smp::PortInfo;
using ib::smp::PortPhysicalState;
using ib::smp::PortState;
using ibtest::contains;
using ibtest::FakeFabric;
using nlohmann::json;

namespace {

/// A switch (LID 1) with the host of the test (LID 2) at port 1, another host (LID 3) at port 2 and a switch (LID 4) at port 3.
struct Ports {
  FakeFabric fabric;
  FakeFabric::NodeId leaf, here, other, spine;

  Ports() {
    leaf = fabric.add_switch(0x100, 4, "leaf 1");
    here = fabric.add_ca(0x200, 1, "here");
    other = fabric.add_ca(0x300, 1, "other");
    spine = fabric.add_switch(0x400, 9, "spine 1");
    fabric.link(leaf, 1, here, 1);
    fabric.link(leaf, 2, other, 1);
    fabric.link(leaf, 3, spine, 7);
    fabric.assign_lids();
    fabric.attach(here);
    for (const FakeFabric::NodeId node : {leaf, other}) {
      for (FakeFabric::Port& port : fabric.node(node).ports) {
        port.info.link_speed_supported = port.info.link_speed_enabled = 7;
        port.info.link_width_supported = port.info.link_width_enabled = 3;
        port.info.vl_cap = ib::smp::VLCap{4};
        port.info.mtu_cap = ib::smp::Mtu{4};
      }
    }
  }

  ibtest::Outcome run(std::vector<std::string> words) {
    words.insert(words.begin(), "ibportstate");
    return ibtest::ibtool(fabric, std::move(words));
  }
  /// Runs it and returns the one PortInfo that was set.
  PortInfo sent(std::vector<std::string> words) {
    fabric.sets.clear();
    const auto outcome = run(std::move(words));
    INFO(outcome.out << outcome.err);
    CHECK(outcome.status == 0);
    CHECK(outcome.out.empty());
    REQUIRE(fabric.sets.size() == 1);
    return PortInfo::unpack(ib::Bytes(fabric.sets[0]).subspan(64));
  }
  std::uint32_t modifier() const { return ib::load_be<std::uint32_t>(&fabric.sets.at(0)[20]); }
  /// Runs what is refused before anything is set, and returns the complaint.
  std::string refused(std::vector<std::string> words) {
    fabric.sets.clear();
    const auto outcome = run(std::move(words));
    CHECK(outcome.status == 2);
    CHECK(outcome.out.empty());
    CHECK(fabric.sets.empty());
    return outcome.err;
  }
};

std::string heading(const ibtest::Outcome& outcome) { return outcome.out.substr(0, outcome.out.find('\n')); }

}  // namespace

TEST_CASE_METHOD(Ports, "a Set changes only what was requested") {
  PortInfo& port = fabric.node(leaf).ports.at(3).info;
  port.capability_mask = 0x5050;
  port.operational_vls = ib::smp::VLCap{3};
  port.link_speed_ext_enabled = 3;
  port.hoq_life = 9;
  PortInfo expected = port;
  expected.local_port_num = 1;
  expected.link_speed_enabled = expected.link_width_enabled = expected.link_speed_ext_enabled = 0;  // no change, as are the states
  expected.port_physical_state = PortPhysicalState::disabled;
  CHECK(sent({"0,1", "3", "disable"}) == expected);
  CHECK(modifier() == 3);
  expected.port_physical_state = PortPhysicalState::polling;
  for (const char* word : {"enable", "on", "reset"}) {
    CHECK(sent({"1", "3", word}) == expected);
    fabric.set_link(leaf, 3, false);
  }
  fabric.set_link(leaf, 3, true);
  expected.port_physical_state = PortPhysicalState::no_change;
  for (const auto& [word, state] : {std::pair{"down", PortState::down}, {"arm", PortState::armed}, {"active", PortState::active}}) {
    expected.port_state = state;
    CHECK(sent({"0,1", "3", word}) == expected);
  }
}

TEST_CASE_METHOD(Ports, "several settings go out in one set") {
  const PortInfo info = sent({"0,1", "3", "speed", "0x3", "width", "2", "vls", "2", "mtu", "3", "down"});
  CHECK(info.link_speed_enabled == 3);
  CHECK(info.link_width_enabled == 2);
  CHECK(info.operational_vls == ib::smp::VLCap{2});
  CHECK(info.neighbor_mtu == ib::smp::Mtu{3});
  CHECK(info.port_state == PortState::down);
  CHECK(sent({"0,1", "3", "speed", "15", "width", "255"}).link_speed_enabled == 15);
}

TEST_CASE_METHOD(Ports, "LIDs and M_Keys of an end port") {
  const PortInfo info = sent({"3", "1", "lid", "8", "smlid", "2", "lmc", "3", "mkeylease", "60", "mkeyprot", "2"});
  CHECK(info.lid == ib::Lid{8});
  CHECK(info.master_sm_lid == ib::Lid{2});
  CHECK(info.lmc == 3);
  CHECK(info.m_key_lease_period == 60);
  CHECK(info.m_key_protect_bits == 2);
  CHECK(sent({"0,1,2", "1", "mkey", "0x1122334455667788"}).m_key == 0x1122334455667788U);
  CHECK_THAT(refused({"0,1,2", "1", "lid", "9", "lmc", "3"}), contains("With LMC 3 the LID must be a multiple of 8, and 9 is not"));
  CHECK_THAT(refused({"1", "3", "mkey", "5"}), contains("Port 3 of a switch has no mkey of its own: port 0 has"));
  CHECK_THAT(refused({"1", "3", "lmc", "0"}), contains("has no lmc of its own"));
}

TEST_CASE_METHOD(Ports, "a key is printed only if requested") {
  const auto hidden = run({"3", "1", "mkey", "0x7777", "-n"});
  CHECK(hidden.out == "# Would set on 'other' 0000:0000:0000:0300 port 1\nMKey.....................(not displayed)\n");
  const json document = json::parse(run({"3", "1", "mkey", "0x7777", "--json"}).out);
  CHECK(document.at("changes")[0]["to"].is_null());
  CHECK(document.at("data")["m_key"].is_null());
  CHECK_THAT(run({"3", "1", "mkey", "0x7778", "-n", "-K"}).out, contains("0x0000000000007777 -> 0x0000000000007778"));
}

TEST_CASE_METHOD(Ports, "extended speeds need a node that has them") {
  CHECK_THAT(refused({"1", "3", "espeed", "2"}), contains("its linkSpeedExtSupported is 0"));
  PortInfo& port = fabric.node(leaf).ports.at(3).info;
  port.link_speed_ext_supported = 15;
  port.link_speed_ext_supported2 = 1;
  CHECK_THAT(refused({"1", "3", "espeed", "2"}), contains("does not support extended link speeds"));
  fabric.node(leaf).ports.at(0).info.capability_mask |= ib::smp::capability_mask::is_extended_speeds_supported;
  CHECK(sent({"1", "3", "espeed", "6"}).link_speed_ext_enabled == 6);
  CHECK(modifier() == (3U | 1U << 31));  // else the node would not look at the field
  CHECK(sent({"1", "3", "espeed", "30"}).link_speed_ext_enabled == 30);
  const PortInfo xdr = sent({"1", "3", "espeed", "40"});
  CHECK(xdr.link_speed_ext_enabled == 8);
  CHECK(xdr.link_speed_ext_enabled2 == 1);
  CHECK_THAT(refused({"1", "3", "espeed", "16"}), contains("The port does not take espeed 16"));
  fabric.node(leaf).info.device_id = 0xb924;
  CHECK_THAT(refused({"1", "3", "fdr10", "1"}), contains("knows no FDR10"));
}

TEST_CASE_METHOD(Ports, "speeds and widths have names") {
  PortInfo info = sent({"1", "3", "speed", "qdr,DDR", "width", "4x", "mtu", "2048"});  // a port without extended speeds
  CHECK(info.link_speed_enabled == 6);
  CHECK(info.link_speed_ext_enabled == 0);
  CHECK(info.link_width_enabled == 2);
  CHECK(info.neighbor_mtu == ib::smp::Mtu{4});
  CHECK(modifier() == 3);
  PortInfo& port = fabric.node(leaf).ports.at(3).info;
  port.link_speed_ext_supported = 15;
  port.link_speed_ext_supported2 = 1;
  fabric.node(leaf).ports.at(0).info.capability_mask |= ib::smp::capability_mask::is_extended_speeds_supported;
  info = sent({"1", "3", "speed", "QDR"});  // not above QDR
  CHECK(info.link_speed_enabled == 4);
  CHECK(info.link_speed_ext_enabled == 30);
  CHECK(modifier() == (3U | 1U << 31));
  info = sent({"1", "3", "speed", "HDR,NDR"});  // links train with the speeds up to QDR: they stay as they are
  CHECK(info.link_speed_enabled == 0);
  CHECK(info.link_speed_ext_enabled == 12);
  CHECK(sent({"1", "3", "espeed", "EDR"}).link_speed_ext_enabled == 2);
  info = sent({"1", "3", "speed", "XDR,EDR,SDR"});
  CHECK(info.link_speed_enabled == 1);
  CHECK(info.link_speed_ext_enabled == 2);
  CHECK(info.link_speed_ext_enabled2 == 1);
  CHECK_THAT(refused({"1", "3", "speed", "HDX"}), contains("not 'HDX': did you mean HDR?"));
  CHECK_THAT(refused({"1", "3", "speed", "HDR,"}), contains(", not ''"));
  CHECK_THAT(refused({"1", "3", "width", "3x"}), contains("'width' takes a number or one of 1x, 4x, 8x, 12x, 2x, not '3x'"));
}

TEST_CASE_METHOD(Ports, "a new speed acts when the link trains: --and-reset makes it") {
  CHECK(sent({"1", "3", "speed", "SDR", "--and-reset"}).port_physical_state == PortPhysicalState::polling);
  CHECK_THAT(run({"1", "3", "speed", "SDR"}).err, contains("uses this after it trains the next time"));
  for (const char* word : {"reset", "down", "disable"}) {
    CHECK_THAT(run({"1", "3", "width", "1x", word}).err, !contains("trains the next time"));
    fabric.set_link(leaf, 3, true);
  }
  CHECK_THAT(run({"1", "3", "mtu", "1"}).err, !contains("trains the next time"));
  CHECK_THAT(refused({"1", "3", "--and-reset"}), contains("--and-reset goes with a setting"));
  CHECK_THAT(refused({"1", "3", "speed", "SDR", "down", "--and-reset"}),
             contains("--and-reset and the operation 'down' exclude each other"));
}

TEST_CASE_METHOD(Ports, "a value that no port accepts is refused before anything is sent") {
  for (const auto& [op, value] : {std::pair{"speed", "0"},
                                  {"speed", "16"},
                                  {"width", "256"},
                                  {"vls", "6"},
                                  {"mtu", "0"},
                                  {"lid", "0"},
                                  {"smlid", "0xc000"},
                                  {"lmc", "8"},
                                  {"mkeylease", "65536"},
                                  {"mkeyprot", "4"},
                                  {"fdr10", "2"},
                                  {"speed", "x"},
                                  {"speed", "-1"}}) {
    const std::size_t before = fabric.requests_to(leaf);
    CHECK_THAT(refused({"1", "3", op, value}), contains("E: ") && contains(op));
    CHECK(fabric.requests_to(leaf) == before);
  }
  CHECK_THAT(refused({"1", "3", "nosuch"}), contains("Operation 'nosuch' is not known"));
  CHECK_THAT(refused({"1", "3", "speed"}), contains("Operation 'speed' needs a value"));
  CHECK_THAT(refused({"1", "3", "down", "on"}), contains("'down' and 'on' exclude each other"));
  CHECK_THAT(refused({"1", "3", "query", "speed", "1"}), contains("goes with no other"));
  CHECK_THAT(refused({"1", "255", "query"}), contains("PORTNUM: 255 is not within 0…254"));
  CHECK_THAT(refused({"1", "-1", "query"}), contains("PORTNUM: -1 is not within"));
  CHECK(run({"1", "3"}).out == run({"1", "3", "query"}).out);
  CHECK_THAT(refused({"1"}), contains("Too few arguments"));
}

TEST_CASE_METHOD(Ports, "a value that this port does not accept is refused before anything is set") {
  CHECK_THAT(refused({"1", "3", "speed", "8"}), contains("its linkSpeedSupported is SDR or DDR or QDR (7)"));
  CHECK_THAT(refused({"1", "3", "width", "4"}), contains("its linkWidthSupported is 1x or 4x (3)"));
  CHECK_THAT(refused({"1", "3", "vls", "5"}), contains("its VLCap is VL0-7 (4)"));
  CHECK_THAT(refused({"1", "3", "mtu", "5"}), contains("its MTUCap is 2048 (4)"));
  CHECK_THAT(refused({"1", "0", "disable"}), contains("Port 0 of a switch has no link"));
}

TEST_CASE_METHOD(Ports, "the way back is not cut by accident") {
  CHECK_THAT(refused({"0,1", "1", "disable"}), contains("is on the way to it") && contains("--force"));
  CHECK_THAT(refused({"1", "1", "off"}), contains("is on the way to it") && contains("--force"));
  CHECK_THAT(refused({"-D", "0", "1", "disable"}), contains("is on the way to it") && contains("--force"));
  CHECK(run({"0,1", "1", "reset"}).status == 0);
  CHECK(sent({"0,1", "1", "disable", "--force"}).port_physical_state == PortPhysicalState::disabled);
}

TEST_CASE_METHOD(Ports, "on does nothing to a port that is not disabled, and a dry run to any") {
  CHECK(run({"1", "3", "on"}).out == "The port is not disabled: there is nothing to do\n");
  CHECK(run({"0,1", "3", "disable", "speed", "1", "--dry-run"}).out ==
        "# Would set on 'leaf 1' 0000:0000:0000:0100 port 3\nPortPhysicalState........Link UP (5) -> Disabled (3)\n"
        "LinkSpeedEnabled.........SDR or DDR or QDR (7) -> SDR (1)\n");
  CHECK(fabric.sets.empty());
}

TEST_CASE_METHOD(Ports, "a port that ignores a value is reported") {
  fabric.node(leaf).faults.lie = [](FakeFabric::Answer& answer) { answer[64 + 29] = 3; };
  const auto outcome = run({"1", "3", "width", "1"});
  CHECK(outcome.status == 1);
  CHECK_THAT(outcome.err, contains("The port did not take over linkWidthEnabled 1x (1): it answers 1x or 4x (3)"));
}

TEST_CASE_METHOD(Ports, "query finds the peer by directed route, also from a LID on, and back from a host") {
  CHECK(heading(run({"0,1", "3", "query"})) == "# Port info: 'leaf 1' (LID 1) port 3 (peer is 'spine 1' (LID 4) port 7)");
  CHECK(heading(run({"1", "3", "query"})) == "# Port info: 'leaf 1' (LID 1) port 3 (peer is 'spine 1' (LID 4) port 7)");
  CHECK(heading(run({"-D", "0", "1", "query"})) == "# Port info: 'here' (LID 2) port 1 (peer is 'leaf 1' (LID 1) port 1)");
  CHECK(heading(run({"0,1,2", "1", "query"})) == "# Port info: 'other' (LID 3) port 1 (peer is 'leaf 1' (LID 1) port 2)");
  CHECK(heading(run({"0,1,2", "0", "query"})) == "# Port info: 'other' (LID 3) port 1 (peer is 'leaf 1' (LID 1) port 2)");
  CHECK(heading(run({"1", "0", "query"})) == "# Port info: 'leaf 1' (LID 1) port 0");
  CHECK(heading(run({"1", "4", "query"})) == "# Port info: 'leaf 1' (LID 1) port 4");
  const json document = json::parse(run({"0,1", "3", "query", "--json"}).out);
  CHECK(document.at("port_num") == 3);
  CHECK(document.at("peer").at("port_num") == 7);
  CHECK(document.at("peer").at("path").at("route") == json::parse("[1, 3]"));
  CHECK(document.at("data")["port_state_text"] == "Active");
}

TEST_CASE_METHOD(Ports, "a peer that keeps silent costs only itself") {
  fabric.node(spine).faults.silent = true;
  const auto outcome = run({"0,1", "3", "query"});
  CHECK(outcome.status == 4);
  CHECK(heading(outcome) == "# Port info: 'leaf 1' (LID 1) port 3 (the peer was not read)");
  CHECK_THAT(outcome.out, contains("PortState............................Active (4)\n"));
  CHECK_THAT(outcome.err, contains("E: What is behind 'leaf 1' (LID 1) port 3 was not read\nE: +No answer from route 0,1,3 about "));
  CHECK(json::parse(run({"0,1", "3", "query", "--json"}).out)["peer"].is_null());
  CHECK(sent({"0,1", "3", "disable"}).port_physical_state == PortPhysicalState::disabled);
}

TEST_CASE_METHOD(Ports, "where directed routes cannot start at a LID, the peer comes from the SA") {
  fabric.network.combined_routes = false;
  fabric.network.gmp = [](ib::Bytes request, const ib::path::Path&) -> std::optional<FakeFabric::Answer> {
    FakeFabric::Answer answer = ibtest::answer_to(request);
    const std::size_t link = 56;  // LinkRecord (IBA 15.2.5.13): FromLID, FromPort, ToPort, ToLID
    CHECK(ib::load_be<std::uint16_t>(&request[16]) == 0x20);
    CHECK(ib::load_be<std::uint16_t>(&request[link]) == 1);
    CHECK(request[link + 2] == 3);
    answer[link + 3] = 7;
    answer[link + 5] = 4;
    return answer;
  };
  CHECK(heading(run({"1", "3", "query"})) == "# Port info: 'leaf 1' (LID 1) port 3 (peer is 'spine 1' (LID 4) port 7)");
  const json by_sa = json::parse(run({"1", "3", "query", "--json"}).out);
  fabric.network.combined_routes = true;  // the same is shown of it
  CHECK(json::parse(run({"1", "3", "query", "--json"}).out) == by_sa);
  CHECK(by_sa["peer"]["path"]["kind"] == "lid");
  fabric.network.combined_routes = false;
  fabric.network.gmp = nullptr;
  // Without an SA it is not known which of the two is silent, the route or the node.
  CHECK_THAT(run({"1", "3", "query"}).err, contains("+No subnet administrator answers at LID 1 (LinkRecord: "));
}

TEST_CASE_METHOD(Ports, "JSON names the peer: its node, and the LID of the switch whose port it is") {
  for (std::size_t port = 1; port < fabric.node(leaf).ports.size(); ++port) fabric.node(leaf).ports[port].info.lid = ib::Lid{};
  for (const std::vector<std::string>& words :
       std::vector<std::vector<std::string>>{{"3", "1", "query", "--json"}, {"-G", "0x301", "1", "query", "--json"}}) {
    const ibtest::FakeSa sa(fabric);
    const auto outcome = run(words);
    INFO(outcome.err);
    const json peer = json::parse(outcome.out).at("peer");
    CHECK(peer["node_guid"] == "0000:0000:0000:0100");
    CHECK(peer["node_type_text"] == "Switch");
    CHECK(peer["lid"] == 1);
    CHECK(peer["port_num"] == 2);
  }
  fabric.node(leaf).faults.ignores = ib::smp::NodeInfo::attribute_id;
  const ibtest::FakeSa sa(fabric);
  CHECK(json::parse(run({"3", "1", "query", "--json"}).out).at("peer")["node_guid"].is_null());
}

TEST_CASE("with --sa the PortInfo of the other port of an HCA comes from the LID of that port") {
  FakeFabric fabric;
  const auto leaf = fabric.add_switch(0x100, 4, "leaf"), here = fabric.add_ca(0x200, 1, "here"), dual = fabric.add_ca(0x300, 2, "dual");
  fabric.link(leaf, 1, here, 1);
  fabric.link(leaf, 2, dual, 1);
  fabric.link(leaf, 3, dual, 2);
  fabric.assign_lids();
  fabric.attach(here);
  const ibtest::FakeSa sa(fabric);
  const std::string first = std::to_string(fabric.node(dual).ports[1].info.lid.value);
  const auto other = ibtest::ibtool(fabric, {"smpquery", "PI", first, "2", "--sa", "--json"});
  INFO(other.err);
  CHECK(other.status == 0);
  CHECK(json::parse(other.out).at("data")["lid"] == fabric.node(dual).ports[2].info.lid.value);
  CHECK(json::parse(ibtest::ibtool(fabric, {"smpquery", "PI", first, "1", "--sa", "--json"}).out).at("data")["lid"] ==
        fabric.node(dual).ports[1].info.lid.value);
  CHECK(ibtest::ibtool(fabric, {"smpquery", "PI", first, "3", "--sa"}).status == 3);
}

}  // namespace tools_ibportstate_tests
