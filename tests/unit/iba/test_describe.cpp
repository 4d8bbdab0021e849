// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "iba/describe.hpp"

#include <fstream>
#include <functional>
#include <map>
#include <sstream>

#include "iba-gen/mad.hpp"
#include "iba/libibmad_text.hpp"
#include "support/catch.hpp"

using namespace ib;

TEST_CASE("states and types have words, unknown ones their number") {
  CHECK(describe(smp::NodeType::channel_adapter) == "Channel Adapter");
  CHECK(describe(smp::NodeType{7}) == "?? 7");
  CHECK(describe(smp::PortState::init) == "Init");
  CHECK(describe(smp::PortState{0}) == "?? 0");
  CHECK(describe(smp::PortPhysicalState::link_up) == "Link UP");
  CHECK(describe(smp::PortPhysicalState::config_training) == "Config.Train");
  CHECK(describe(smp::PortPhysicalState{0}) == "?? 0");
}

TEST_CASE("speeds and widths") {
  CHECK(link_speed_text(0).empty());
  CHECK(link_speed_text(15) == "SDR,DDR,QDR");
  CHECK(link_speed_ext_text(3) == "FDR,EDR");
  CHECK(link_speed_ext_text(15) == "FDR,EDR,HDR,NDR");
  CHECK(link_width_lanes(2) == 4);
  CHECK(link_width_lanes(16) == 2);
  CHECK(link_width_lanes(3) == 0);
  smp::PortInfo port;
  CHECK(active_speed_name(port).empty());
  port.link_speed_active = 4;
  CHECK(lane_kbps(port) == 10000000);
  CHECK(active_speed_name(port, true) == "FDR10");
  port.link_speed_ext_active = 2;
  CHECK(active_speed_name(port) == "EDR");
  port.link_speed_ext_active2 = 1;
  CHECK(active_speed_name(port) == "XDR");
}

TEST_CASE("rates, MTUs and timeouts have units") {
  CHECK(rate_mbps(sa::Rate::gbps_2_5) == 2500);
  CHECK(rate_mbps(sa::Rate::gbps_5) == 5000);
  CHECK(rate_mbps(sa::Rate::gbps_1200) == 1200000);
  CHECK(rate_mbps(sa::Rate{63}) == 0);
  CHECK(mtu_bytes(smp::Mtu::mtu_256) == 256);
  CHECK(mtu_bytes(smp::Mtu::mtu_4096) == 4096);
  CHECK(mtu_bytes(smp::Mtu{6}) == 0);
  CHECK(timeout_ns(0) == 4096);
  CHECK(timeout_ns(18) == 1073741824);
}

TEST_CASE("statuses have words") {
  CHECK(mad_status_text(0) == "Ok");
  CHECK(mad_status_text(1) == "BUSY Ok");
  CHECK(mad_status_text(7) == "BUSY REDIRECT Bad version");
  CHECK(mad_status_text(0x0c) == "Unsupported method+attr");
  CHECK(mad_status_text(0x1c) == "Invalid attr or modifier");
  CHECK(mad_status_text(0x10) == "??");
  CHECK(sa_status_text(0x0300) == "No records");
  CHECK(sa_status_text(0).empty());
  CHECK(sa_status_text(0x7f00) == "??");
}

TEST_CASE("methods have names") {
  CHECK(method_text(mad::method::get) == "MAD_METHOD_GET(1)");
  CHECK(method_text(0x81) == "MAD_METHOD_GET_RESP(129)");
  CHECK(method_text(0x12) == "MAD_METHOD_GET_TABLE(18)");
  CHECK(method_text(99) == "MAD_METHOD_?\?(99)");
  CHECK(mad_description(1, 4, 1, 0x12) == "MAD_METHOD_GET(1) PMFormat(4.1) PMPortCounters(18)");
  CHECK(mad_description(1, 126, 1, 0) == "MAD_METHOD_GET(1) ?\?(126.1) ?\?(0)");
}

TEST_CASE("enums tell their text") {
  CHECK(to_text(smp::SMState::master) == "Master");
  CHECK(to_text(mad::NoticeType{99}).empty());
  CHECK(enum_info(smp::SMState{}).values.size() == 4);
}

TEST_CASE("value texts equal python-rdma's, but for what it does not know") {
  using Describe = std::function<std::string(std::uint8_t)>;
  const std::map<std::string, Describe> functions = {
      {"node_type", [](std::uint8_t v) { return describe(smp::NodeType{v}); }},
      {"link_state", [](std::uint8_t v) { return describe(smp::PortState{v}); }},
      {"phys_link_state", [](std::uint8_t v) { return describe(smp::PortPhysicalState{v}); }},
      {"link_speed", link_speed_text},
      {"link_speed_ext", [](std::uint8_t v) { return link_speed_ext_text(v & 3U); }},  // HDR and NDR are newer
      {"link_width", [](std::uint8_t v) { return std::to_string(link_width_lanes(v)); }},
      {"mad_status", [](std::uint8_t v) { return mad_status_text(v); }},
      {"method", method_text},
  };
  const std::map<std::string, std::string> ours = {
      {"link_state 5", "ActDefer"},  // IBA 14.2.5.6
      {"link_width 16", "2"},        // newer
      {"method 6", "MAD_METHOD_REPORT(6)"},
      {"method 134", "MAD_METHOD_REPORT_RESP(134)"},
      {"method 146", "MAD_METHOD_GET_TABLE_RESP(146)"},
  };
  std::ifstream in(std::string(IBA_TEST_DATA) + "/value-texts.txt");
  int checked = 0;
  for (std::string line; std::getline(in, line); ++checked) {
    std::istringstream words(line);
    std::string function, text;
    unsigned value = 0;
    words >> function >> value;
    std::getline(words.ignore(1), text);
    const std::string key = function + ' ' + std::to_string(value);
    if (const auto at = text.find("REDIECT"); at != std::string::npos) text.replace(at, 7, "REDIRECT");
    if (ours.contains(key)) text = ours.at(key);
    INFO(key);
    CHECK(functions.at(function)(static_cast<std::uint8_t>(value)) == text);
  }
  CHECK(checked == 150);
}
