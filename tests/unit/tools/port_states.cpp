// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// set_port_state and init_all_ports: which ports are set, in what order and by which way.
#include <algorithm>

#include <nlohmann/json.hpp>

#include "base/bytes.hpp"
#include "support/catch.hpp"
#include "support/program.hpp"
#include "support/small_fabric.hpp"

namespace tools_port_states_tests {

using ib::smp::PortInfo;
using ib::smp::PortPhysicalState;
using ib::smp::PortState;
using ibtest::contains;
using ibtest::FakeFabric;
using ibtest::ibtool;
using nlohmann::json;

namespace {

struct Twice : ibtest::TwoWayFabric {
  Twice() { fabric.node(near).sm_info = ib::smp::SMInfo{}; }
  ibtest::Outcome set(std::vector<std::string> words) {
    words.insert(words.begin(), {"set_port_state", "--discovery=DR"});
    fabric.sets.clear();
    return ibtool(fabric, std::move(words));
  }
  PortInfo sent(std::size_t at) const { return PortInfo::unpack(ib::Bytes(fabric.sets.at(at)).subspan(64)); }
  unsigned port(std::size_t at) const { return fabric.sets.at(at)[23]; }
  unsigned hops(std::size_t at) const { return fabric.sets.at(at)[7]; }
};

}  // namespace

TEST_CASE_METHOD(Twice, "set_port_state goes around the links that it takes down") {
  CHECK(set({"2@2"}).out == "Would have changed 0000:0000:0000:0200@2 on DR Path (0, 1, 3)\n");
  CHECK(set({"2@3"}).out == "Would have changed 0000:0000:0000:0200@3 on DR Path (0, 1, 2)\n");
  CHECK(set({"0000:0000:0000:0100@2", "0,1@3"}).out ==
        "Would have changed 0000:0000:0000:0100@2 on DR Path (0, 1)\nWould have changed 0000:0000:0000:0100@3 on DR Path (0, "
        "1)\n");
  CHECK(fabric.sets.empty());
  CHECK_THAT(set({"--disable", "2@2", "2@3"}).err, contains("No DR path exists to 0000:0000:0000:0200 port 2 - try using the peer "
                                                            "0000:0000:0000:0100 port 2\n"));
  CHECK(fabric.sets.empty());
}

TEST_CASE_METHOD(Twice, "set_port_state sets what its options say") {
  CHECK(set({"--disable", "1@2", "1@3"}).status == 0);
  REQUIRE(fabric.sets.size() == 2);
  CHECK(sent(0).port_physical_state == PortPhysicalState::disabled);
  CHECK(sent(0).port_state == PortState::no_change);
  CHECK(port(1) == 3);
  const auto up = set({"--enable", "1@2", "1@3"});
  CHECK(up.out.empty());
  CHECK(up.err == "Enabled 0000:0000:0000:0100@2 'near', 0000:0000:0000:0100@3 'near'\n");
  CHECK(sent(1).port_physical_state == PortPhysicalState::polling);
  const auto down = set({"--init", "1@2", "--json"});
  CHECK(json::parse(down.out)["dry_run"] == false);
  CHECK(json::parse(down.out)["operation"] == "init");
  CHECK(sent(0).port_state == PortState::down);
  CHECK(sent(0).port_physical_state == PortPhysicalState::no_change);
  CHECK(set({"--init", "1@2", "-n"}).out == "Would have changed 0000:0000:0000:0100@2 'near' on DR Path (0, 1)\n");
  CHECK(fabric.sets.empty());
}

TEST_CASE_METHOD(Twice, "set_port_state and init_all_ports say once that ports stay in Initialize if no subnet manager answers") {
  constexpr const char* stay = ": the ports stay in Initialize until a subnet manager activates them\n";
  CHECK_THAT(set({"--init", "1@2"}).err, !contains(stay));
  fabric.node(near).faults.ignores = ib::smp::SMInfo::attribute_id;
  CHECK_THAT(set({"--init", "1@2"}).err, ibtest::starts_with("W: No subnet manager answers at LID 1 (2 tries in ") && contains(stay));
  CHECK_THAT(set({"--enable", "1@2"}).err, contains(stay));
  for (const char* words : {"--disable", "--dry-run"}) CHECK_THAT(set({words, "1@2"}).err, !contains(stay));
  CHECK_THAT(set({"--init", "--dry-run", "1@2"}).err, !contains(stay));
  CHECK_THAT(ibtool(fabric, {"init_all_ports", "--yes"}).err,
             ibtest::starts_with("W: No subnet manager answers at LID 1 ") && contains(stay));
  Twice ended;
  ended.fabric.node(ended.near).sm_info.reset();
  CHECK_THAT(ibtool(ended.fabric, {"init_all_ports", "--yes"}).err,
             ibtest::starts_with(std::string("W: No subnet manager runs at LID 1") + stay));
  fabric.node(near).faults.ignores = 0;
  fabric.node(near).faults.status = ib::mad::status::busy;
  fabric.node(near).faults.status_attribute = ib::smp::SMInfo::attribute_id;
  CHECK_THAT(set({"--init", "1@2"}).err, contains(stay) && !contains("No subnet manager"));  // there is one
}

TEST_CASE_METHOD(Twice, "set_port_state does not reach a port of an adapter by way of the other one") {
  const auto both = fabric.add_ca(0x500, 2, "both");
  fabric.link(near, 4, both, 1);
  fabric.link(far, 1, both, 2);
  fabric.assign_lids();
  const auto refused = set({"--disable", "0000:0000:0000:0502"});
  CHECK(refused.status == 2);
  CHECK_THAT(refused.err, contains("No DR path exists to 0000:0000:0000:0502 port 2 - try using the peer 0000:0000:0000:0200 port 1"));
  CHECK(fabric.sets.empty());
  CHECK(set({"0000:0000:0000:0501@2"}).out == "Would have changed 0000:0000:0000:0501@2 on DR Path (0, 1, 4)\n");
}

TEST_CASE_METHOD(Twice, "set_port_state refuses ports that do not exist, have no route or carry its own requests") {
  const auto complaint = [&](std::vector<std::string> words) {
    const auto outcome = set(std::move(words));
    CHECK(outcome.status == 2);
    CHECK(fabric.sets.empty());
    return outcome.err;
  };
  CHECK_THAT(complaint({"--disable", "1"}), contains("0000:0000:0000:0100 is a switch: TARGET@PORT"));
  CHECK_THAT(complaint({"--disable", "1@9"}), contains("0000:0000:0000:0100 has no port 9: its ports are 1 to 4"));
  CHECK_THAT(complaint({"--disable", "1@0"}), contains("has no port 0"));
  CHECK_THAT(complaint({"--disable", "1@x"}), contains("Invalid command line argument #1 '1@x'"));
  CHECK_THAT(complaint({"--disable", "77@1"}), contains("Could not find path Path 0 -> 77 "));
  CHECK_THAT(complaint({"--disable", "4"}), contains("No DR path exists to 0000:0000:0000:0401 port 1 - try using the peer"));
  CHECK_THAT(complaint({"--disable", "3@1"}), contains("it is the port of this host"));
  CHECK_THAT(complaint({"--disable", "1@1"}), contains("it is linked to this host"));
  CHECK_THAT(complaint({"--disable", "--enable", "1@2"}), contains("--disable and --enable contradict each other"));
  CHECK_THAT(complaint({"--disable"}), contains("TARGET@PORT_NUM is missing") && contains("usage: "));
  CHECK_THAT(complaint({}), contains("TARGET@PORT_NUM is missing"));
  CHECK_THAT(complaint({"--disable", "2@3", "1@9"}), contains("no port 9"));
}

TEST_CASE_METHOD(Twice, "set_port_state: a part of the fabric that does not answer makes status 4") {
  fabric.node(other).faults.silent = true;
  const auto elsewhere = set({"--enable", "1@2", "--json"});
  CHECK(elsewhere.status == 4);
  CHECK(fabric.sets.size() == 1);
  CHECK(json::parse(elsewhere.out)["unreachable"].size() == 1);
  CHECK(set({"--enable", "4"}).status == 4);
  CHECK(fabric.sets.empty());
}

TEST_CASE_METHOD(Twice, "set_port_state sets nothing where one of the ports has fallen silent") {
  const unsigned before = fabric.node(far).answered;
  CHECK(set({"1@3", "2@4"}).status == 0);
  // It answers the sweep, and not what comes last.
  fabric.node(far).faults.answers_left = 2 * fabric.node(far).answered - before - 1;
  const auto silent = set({"--disable", "1@3", "2@4", "--json"});
  INFO(silent.err);
  CHECK(silent.status == 4);
  CHECK(fabric.sets.empty());
  CHECK(json::parse(silent.out)["ports"].empty());
  CHECK(json::parse(silent.out)["unreachable"][0]["port_num"] == 4);
  CHECK_THAT(silent.err, contains("0000:0000:0000:0200@4 cannot be read, so nothing is set"));
}

TEST_CASE_METHOD(Twice, "init_all_ports sets nothing without --yes or a confirmation") {
  const auto refused = ibtool(fabric, {"init_all_ports"});
  CHECK(refused.status == 2);
  CHECK_THAT(refused.err, contains("--yes") && contains("--dry-run"));
  const auto dry = ibtool(fabric, {"init_all_ports", "--dry-run"});
  CHECK(dry.status == 0);
  CHECK(std::ranges::count(dry.out, '\n') == 8);
  CHECK_THAT(dry.out, ibtest::starts_with("Would have set port 1 of 0000:0000:0000:0400 'other' down on DR Path (0, 1, 2, 4)\n"));
  CHECK(ibtool(fabric, {"init_all_ports", "--dry-run", "--yes"}).status == 2);
  CHECK(fabric.sets.empty());
}

TEST_CASE_METHOD(Twice, "init_all_ports begins with the ports that are farthest away") {
  const auto outcome = ibtool(fabric, {"init_all_ports", "--yes", "--json"});
  INFO(outcome.err);
  CHECK(outcome.status == 0);
  CHECK(json::parse(outcome.out)["ports_set"] == 8);
  REQUIRE(fabric.sets.size() == 8);
  for (std::size_t at = 0; at < 8; ++at) {
    CHECK(sent(at).port_state == PortState::down);
    if (at > 0) CHECK(hops(at) <= hops(at - 1));
  }
  CHECK(port(3) == 2);  // of the far switch, the port that leads back comes last
  CHECK_THAT(outcome.err, contains("Took down 8 of 8 ports that carried data"));
  CHECK(ibtool(fabric, {"init_all_ports", "--yes"}).out.empty());
}

TEST_CASE_METHOD(Twice, "init_all_ports sets of an adapter the port that it is reached by") {
  const auto both = fabric.add_ca(0x500, 2, "both");
  fabric.link(near, 4, both, 1);
  fabric.link(far, 1, both, 2);
  fabric.assign_lids();
  const auto outcome = ibtool(fabric, {"init_all_ports", "--yes", "--json"});
  INFO(outcome.err);
  CHECK(outcome.status == 0);
  CHECK(json::parse(outcome.out)["ports_set"] == 11);  // 4 of each switch, 1 of each host
}

TEST_CASE_METHOD(Twice, "init_all_ports --dry-run says that no port carries data") {
  fabric.network.tamper = [](ib::Bytes request, std::optional<FakeFabric::Answer> answer) {
    constexpr std::size_t state_at = 64 + 32;
    constexpr std::uint8_t state_mask = 0x0f, active = 4, initialize = 2;
    const bool is_info = ib::mad::HeaderView(request).attribute_id() == PortInfo::attribute_id;
    if (answer && is_info && (answer->at(state_at) & state_mask) == active) answer->at(state_at) ^= active ^ initialize;
    return answer ? std::vector<FakeFabric::Answer>{*answer} : std::vector<FakeFabric::Answer>{};
  };
  const auto dry = ibtool(fabric, {"init_all_ports", "--dry-run"});
  CHECK(dry.status == 0);
  CHECK(dry.out.empty());
  CHECK_THAT(dry.err, contains("No port carries data: nothing would be set\n"));
}

TEST_CASE_METHOD(Twice, "init_all_ports goes on where a port does not answer") {
  fabric.node(other).faults.status = 0x1c;
  fabric.node(other).faults.status_attribute = PortInfo::attribute_id;
  const auto outcome = ibtool(fabric, {"init_all_ports", "--yes"});
  CHECK(outcome.status == 4);
  CHECK(outcome.out.empty());
  CHECK(fabric.sets.size() == 7);
}

}  // namespace tools_port_states_tests
