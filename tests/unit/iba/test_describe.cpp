// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "iba/describe.hpp"

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
