// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Paths in the words of verbs, which needs no device; the rest of the layer is tested on a real kernel (tests/kernel).
#include "verbs/objects.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "iba/text.hpp"
#include "support/catch.hpp"

namespace verbs_address_tests {

using namespace ib;
using namespace std::chrono_literals;

namespace {

struct Host {
  Host() {
    device.name = "fake0";
    port.device = &device;
    port.number = 2;
    port.link_layer = sys::LinkLayer::infiniband;
    port.lid = Lid{8};
    port.lmc = 2;
    port.gids = {*parse_gid("fe80::1"), *parse_gid("fec0::1")};
    port.pkeys = {Pkey{0x8001}, Pkey{0xffff}};
    path.end_port = &port;
    path.dlid = Lid{20};
    path.slid = Lid{11};
    path.sl = 3;
    path.rate = 7;
  }
  sys::Device device;
  sys::EndPort port;
  path::IbPath path;
};

}  // namespace

TEST_CASE_METHOD(Host, "an address by LID") {
  const ibv_ah_attr address = verbs::address_of(path);
  CHECK(address.dlid == 20);
  CHECK(address.src_path_bits == 3);
  CHECK(address.sl == 3);
  CHECK(address.static_rate == IBV_RATE_40_GBPS);
  CHECK(address.port_num == 2);
  CHECK(address.is_global == 0);
}

TEST_CASE_METHOD(Host, "an address with a GRH") {
  path.has_grh = true;
  path.sgid = port.gids[1];
  path.dgid = parse_gid("fec0::2");
  path.hop_limit = 5;
  path.traffic_class = 6;
  path.flow_label = 0x12345;
  const ibv_ah_attr address = verbs::address_of(path);
  CHECK(address.is_global == 1);
  CHECK(std::ranges::equal(address.grh.dgid.raw, path.dgid->bytes));
  CHECK(address.grh.sgid_index == 1);
  CHECK(address.grh.hop_limit == 5);
  CHECK(address.grh.traffic_class == 6);
  CHECK(address.grh.flow_label == 0x12345);
  path.sgid = parse_gid("fec0::9");
  CHECK_THROWS_AS(verbs::address_of(path), Error);
}

TEST_CASE_METHOD(Host, "RoCE has no SA that gives a rate, so the rate is unlimited") {
  port.link_layer = sys::LinkLayer::ethernet;
  CHECK(verbs::address_of(path).static_rate == IBV_RATE_MAX);
}

TEST_CASE_METHOD(Host, "the P_Key's place in the port's table") {
  CHECK(verbs::pkey_index_of(path) == 1);
  path.pkey = Pkey{0x0001};  // the same partition
  CHECK(verbs::pkey_index_of(path) == 0);
  path.pkey = Pkey{0x8003};
  CHECK_THROWS_AS(verbs::pkey_index_of(path), Error);
  port.pkeys = {};
  CHECK(verbs::pkey_index_of(path) == 0);
}

TEST_CASE("times become the next longer code") {
  CHECK(verbs::time_code(0ns) == 1);  // 0 would be no limit
  CHECK(verbs::time_code(8192ns) == 1);
  CHECK(verbs::time_code(8193ns) == 2);
  CHECK(verbs::time_code(1s) == 18);
  CHECK(verbs::time_code(24h) == 31);
}

TEST_CASE_METHOD(Host, "a device without verbs says so") {
  CHECK_THROWS_WITH(verbs::Context(device), ibtest::starts_with("fake0 has no verbs device"));
}

}  // namespace verbs_address_tests
