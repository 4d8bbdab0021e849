// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// ibccquery and ibccconfig in both dialects, on an agent for congestion control in memory: every attribute, the CC_Key, blocks of ports and
// of the table, words that are wrong, nodes that are silent or refuse.
#include <map>
#include <nlohmann/json.hpp>

#include "iba-gen/cc.hpp"
#include "support/catch.hpp"
#include "support/fake_channel.hpp"
#include "support/program.hpp"

namespace tools_congestion_tests {

using namespace ib;
using ibtest::contains;
using ibtest::FakeFabric;
using ibtest::starts_with;
using nlohmann::json;

namespace {

constexpr std::size_t key_offset = 24, log_offset = 32, data_offset = 64;

/// A switch with 40 ports (LID 1), the host of the test (2) and another one (3). The agents of switch and host hold what is set.
struct Congested {
  FakeFabric fabric;
  FakeFabric::NodeId leaf, here, other;
  std::map<std::pair<std::uint16_t, std::uint32_t>, std::vector<std::uint8_t>> values;  // data by attribute and modifier
  std::vector<std::uint8_t> log;
  std::vector<FakeFabric::Answer> asked;

  Congested() {
    leaf = fabric.add_switch(0x100, 40, "leaf");
    here = fabric.add_ca(0x200, 1, "here");
    other = fabric.add_ca(0x300, 1, "other");
    fabric.link(leaf, 1, here, 1);
    fabric.link(leaf, 2, other, 1);
    fabric.assign_lids();
    fabric.attach(here);
    for (const auto id : {leaf, other}) {
      fabric.node(id).services[mad::mgmt_class::congestion].answer = [this](unsigned, Bytes request) { return answer(request); };
    }
    fabric.network.gmp = [](Bytes, const path::Path&) { return std::nullopt; };
  }

  std::optional<FakeFabric::Answer> answer(Bytes request) {
    asked.emplace_back(request.begin(), request.end());
    const auto attribute = load_be<std::uint16_t>(&request[16]);
    FakeFabric::Answer reply = ibtest::answer_to(request);
    if (attribute == cc::CongestionLogSwitch::attribute_id) {
      std::ranges::copy(log, reply.begin() + log_offset);
      return reply;
    }
    std::vector<std::uint8_t>& value = values[{attribute, load_be<std::uint32_t>(&request[20])}];
    value.resize(192);
    if (request[3] == mad::method::set) value.assign(request.begin() + data_offset, request.end());
    std::ranges::copy(value, reply.begin() + data_offset);
    return reply;
  }

  template <class T>
  void hold(const T& value, std::uint32_t modifier = 0) {
    auto& bytes = values[{T::attribute_id, modifier}];
    bytes.assign(192, 0);
    value.pack(MutableBytes(bytes).first(T::wire_size));
  }
  template <class T>
  T held(std::uint32_t modifier = 0) {
    return T::unpack(values.at({T::attribute_id, modifier}));
  }
  template <class T>
  void hold_log(const T& value) {
    log.assign(224, 0);
    value.pack(MutableBytes(log).first(T::wire_size));
  }

  ibtest::Outcome ibtool(std::vector<std::string> words) { return ibtest::ibtool(fabric, std::move(words)); }
  ibtest::Outcome diags(std::vector<std::string> words) { return ibtest::diags(fabric, std::move(words)); }
  json query(std::vector<std::string> words) {
    words.insert(words.begin(), {"ibccquery", "--json"});
    return json::parse(ibtool(std::move(words)).out);
  }
};

}  // namespace

TEST_CASE_METHOD(Congested, "ibccquery prints an attribute as libibmad lists it") {
  hold(cc::CongestionInfo{.congestion_info = 1, .control_table_cap = 2});
  const auto queried = diags({"ibccquery", "congestioninfo", "1"});
  CHECK(queried.status == 0);
  CHECK(queried.out == "# CongestionInfo: Lid 1\nCongestionInfo:..................0x0001\nControlTableCap:.................2\n");
  CHECK_THAT(ibtool({"ibccquery", "CongestionI", "IBPath(DLID=1, SLID=2)"}).out, contains("ControlTableCap:.................2\n"));
  CHECK(query({"CI", "IBPath(DLID=1, SLID=2)"})["data"]["control_table_cap"] == 2);
  CHECK(load_be<std::uint16_t>(&asked.back()[16]) == 0x11);
  CHECK(asked.back()[2] == 2);
}

TEST_CASE_METHOD(Congested, "requests carry the CC_Key, and only -K shows one") {
  hold(cc::CongestionKeyInfo{.cc_key = 0xabcdef, .cc_key_lease_period = 9});
  CHECK_THAT(diags({"ibccquery", "-c", "0x1234", "CK", "1"}).out, contains("CC_Key:..........................0x0000000000abcdef\n"));
  CHECK(load_be<std::uint64_t>(&asked.back()[key_offset]) == 0x1234);
  const std::string target = "IBPath(DLID=1, SLID=2)";
  const auto hidden = ibtool({"ibccquery", "--cckey", "7", "CK", target});
  CHECK_THAT(hidden.out, contains("CC_KeyLeasePeriod:...............9\n") && contains("-K shows it") && !contains("abcdef"));
  CHECK(load_be<std::uint64_t>(&asked.back()[key_offset]) == 7);
  CHECK_THAT(ibtool({"ibccquery", "-K", "CK", target}).out, contains("abcdef"));
  CHECK(query({"CK", target})["data"]["cc_key"].is_null());
}

TEST_CASE_METHOD(Congested, "the log has the form of a switch or of an adapter") {
  cc::CongestionLogSwitch of_switch;
  of_switch.log_type = 1;
  of_switch.log_events_counter = 2;
  of_switch.entry_list[3] = {.slid = Lid{5}, .dlid = Lid{6}, .sl = 7, .timestamp = 8};
  hold_log(of_switch);
  const std::string text = diags({"ibccquery", "CL", "1"}).out;
  CHECK_THAT(text, starts_with("# CongestionLog: Lid 1\nLogType:.........................1\n") &&
                       contains("\n\nSLID:............................5\n"));
  CHECK(query({"CL", "IBPath(DLID=1, SLID=2)"})["data"]["entry_list"][3]["dlid"] == 6);
  cc::CongestionLogCa of_ca;
  of_ca.log_type = 2;
  of_ca.log_event[12].remote_qp = 0x123456;
  hold_log(of_ca);
  CHECK_THAT(diags({"ibccquery", "CL", "3"}).out,
             contains("ThresholdEventCounter:") && contains("Remote_QP_Number_CN_Entry:.......1193046\n"));
  log.assign(224, 0);
  CHECK(diags({"ibccquery", "CL", "3"}).out == "ibccquery: iberror: failed: operation CL: unrecognized log type\n");
}

TEST_CASE_METHOD(Congested, "settings of ports come in blocks of 32") {
  cc::SwitchPortCongestionSetting first, second;
  first.block[31].packet_size = 31;
  second.block[8].packet_size = 40;
  hold(first);
  hold(second, 1);
  const std::string all = diags({"ibccquery", "SP", "1"}).out;
  CHECK_THAT(all, contains("Port:............................31\n") && contains("Port:............................40\n") &&
                      !contains("Port:............................41\n"));
  CHECK_THAT(diags({"ibccquery", "SP", "1", "40"}).out, contains("Packet_Size:.....................40\n") && !contains("Port:"));
  CHECK(diags({"ibccquery", "SP", "1", "41"}).out ==
        "# SwitchPortCongestionSetting: Lid 1\nibccquery: iberror: failed: operation SP: invalid port number specified\n");
  CHECK(diags({"ibccquery", "SP", "3"}).out == "ibccquery: iberror: failed: operation SP: destination not a switch\n");
  const std::string target = "IBPath(DLID=1, SLID=2)";
  CHECK(query({"SP", target})["ports"][40]["data"]["packet_size"] == 40);
  CHECK(ibtool({"ibccquery", "SP", "IBPath(DLID=3, SLID=2)"}).status == 2);
  CHECK(ibtool({"ibccquery", "CI", target, "4"}).status == 2);
}

TEST_CASE_METHOD(Congested, "the table of an adapter ends at its limit") {
  cc::CongestionControlTable block;
  block.ccti_limit = 65;
  block.entry_list[1] = {.shift = 3, .multiplier = 16383};
  hold(block);
  hold(block, 1);
  const std::string text = diags({"ibccquery", "CT", "3"}).out;
  CHECK_THAT(
      text, contains("Entry:...........................65\nCCT_Shift:.......................3\nCCT_Multiplier:..................16383\n") &&
                !contains("Entry:...........................66\n"));
  CHECK(query({"CT", "IBPath(DLID=3, SLID=2)"})["records"].size() == 2);
  block.ccti_limit = 0;
  hold(block);
  CHECK_THAT(diags({"ibccquery", "CT", "3"}).out, !contains("Entry"));
}

TEST_CASE_METHOD(Congested, "ibccconfig sets what its words say") {
  const auto set = diags({"ibccconfig", "SS", "1", "0x1F", "0x1FFFFFFFFF", "1", "0xF", "8", "2", "2:5", "513"});
  CHECK(set.status == 0);
  CHECK(set.out.empty());
  const auto setting = held<cc::SwitchCongestionSetting>();
  CHECK(setting.control_map == 0x1f);
  CHECK(setting.victim_mask[27] == 0x1f);
  CHECK(setting.credit_mask[31] == 1);
  CHECK(setting.threshold == 15);
  CHECK(setting.cs_threshold == 2);
  CHECK(setting.cs_return_delay == 0x8005);
  CHECK(setting.marking_rate == 513);
  CHECK(diags({"ibccconfig", "-c", "0x55", "CS", "3", "1", "0x8001", "150", "1", "7", "9"}).status == 0);
  CHECK(load_be<std::uint64_t>(&asked.back()[key_offset]) == 0x55);
  const auto adapter = held<cc::CaCongestionSetting>();
  CHECK(adapter.entry_list[15].ccti_timer == 150);
  CHECK(adapter.entry_list[0].ccti_min == 9);
  CHECK(adapter.entry_list[1].ccti_timer == 0);
  CHECK(diags({"ibccconfig", "CT", "3", "65", "1", "1:64", "3:65"}).status == 0);
  CHECK(held<cc::CongestionControlTable>(1).entry_list[1].multiplier == 65);
}

TEST_CASE_METHOD(Congested, "the setting of one port leaves the others of its block as they are") {
  cc::SwitchPortCongestionSetting block;
  block.block[7].packet_size = 99;
  hold(block, 1);
  CHECK(diags({"ibccconfig", "SP", "1", "40", "1", "0", "15", "8", "513"}).status == 0);
  const auto now = held<cc::SwitchPortCongestionSetting>(1);
  CHECK(now.block[7].packet_size == 99);
  CHECK(now.block[8].packet_size == 8);
  CHECK(now.block[8].valid == 1);
  CHECK(now.block[8].cong_parm_marking_rate == 513);
  CHECK_THAT(diags({"ibccconfig", "SP", "3", "1", "1", "0", "15", "8", "1"}).out, contains("destination not a switch"));
  CHECK_THAT(diags({"ibccconfig", "SP", "1", "41", "1", "0", "15", "8", "1"}).out, contains("invalid port number specified"));
}

TEST_CASE_METHOD(Congested, "words of ibccconfig that are wrong set nothing") {
  for (const auto& [words, complaint] : std::map<std::vector<std::string>, std::string>{
           {{"CK", "1", "1"}, "invalid number of parameters for CongestionKeyInfo"},
           {{"CK", "1", "1", "2", "0", "0"}, "invalid cc_keyprotectbit value"},
           {{"CK", "1", "1", "1", "65536", "0"}, "invalid cc_keyleaseperiod value"},
           {{"CK", "1", "1z", "1", "0", "0"}, "invalid integer input"},
           {{"CK", "1", "0x10000000000000000", "1", "0", "0"}, "value out of range"},
           {{"SS", "1", "1", "zz", "0", "0", "0", "0", "0:0", "0"}, "invalid hex digit read"},
           {{"SS", "1", "1", std::string(65, 'f'), "0", "0", "0", "0", "0:0", "0"}, "hex code too long"},
           {{"SS", "1", "1", "0", "0", "0", "0", "0", "00", "0"}, "ccts are formatted shift:multiplier"},
           {{"CT", "3", "63", "0", "0:0"}, "invalid number of cct entries input given ccti_limit and index"}}) {
    auto line = words;
    line.insert(line.begin(), "ibccconfig");
    CHECK(diags(line).out == "ibccconfig: iberror: failed: operation " + words[0] + ": " + complaint + "\n");
    const auto ours = ibtool(line);
    CHECK(ours.status == 2);
    CHECK_THAT(ours.err, contains(complaint) || contains("Bad New CC_Key"));
  }
  CHECK(ibtool({"ibccconfig", "SS", "1", "0", "0", "0", "16", "0", "0", "0:0", "0"}).status == 2);
  CHECK(asked.empty());
  CHECK(diags({"ibccconfig", "XX", "1"}).out == "ibccconfig: iberror: failed: operation 'XX' not supported\n");
  CHECK(diags({"ibccconfig", "CK"}).status == 2);
  CHECK_THAT(ibtool({"ibccquery", "C", "1"}).err, contains("Ambiguous operation 'c'"));
  CHECK_THAT(ibtool({"ibccquery", "CongestionKeyInf0", "1"}).err, contains("did you mean CongestionKeyInfo?"));
}

TEST_CASE_METHOD(Congested, "an agent that is silent or refuses ends the command") {
  fabric.node(other).faults.silent = true;
  const auto silent = diags({"ibccquery", "TI", "3"});
  CHECK(silent.status == 255);
  CHECK(silent.out == "ibccquery: iberror: failed: operation TI: timestamp query failed\n");
  CHECK_THAT(silent.err, contains("_do_madrpc failed; dport (Lid 3)"));
  CHECK(ibtool({"ibccquery", "TI", "IBPath(DLID=3, SLID=2)"}).status == 3);
  CHECK(diags({"ibccconfig", "CT", "3", "0", "0", "0:0"}).out ==
        "ibccconfig: iberror: failed: operation CT: congestion control table config failed\n");
  hold(cc::TimeStamp{.timestamp = 5});
  CHECK(ibtest::diags(fabric, {"ibccquery", "TI", "1"}, {.full_disk = true}).status == 255);
}

}  // namespace tools_congestion_tests
