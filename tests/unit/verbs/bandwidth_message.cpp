// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The messages of rdma_bw: what one end packs the other reads, and nothing else is believed.
#include "verbs/bandwidth.hpp"

#include "base/error.hpp"
#include "iba/text.hpp"
#include "support/catch.hpp"

namespace verbs_bandwidth_message_tests {

using ib::verbs::BandwidthMessage;
using ib::verbs::BandwidthStage;

namespace {

BandwidthMessage answer() {
  BandwidthMessage m;
  m.stage = BandwidthStage::answer;
  m.bidirectional = m.path.has_grh = true;
  m.qpn = 0xabcdef;
  m.psn = 0x123456;
  m.remote_key = 0xdeadbeef;
  m.address = 0x1122334455667788;
  m.size = 1 << 30;
  m.iterations = 0xffffffff;
  m.gid = *ib::parse_gid("fe80::1:2:3:4");
  m.mtu = 5;
  m.ack_delay = 31;
  m.path.slid = ib::Lid{7};
  m.path.dlid = ib::Lid{9};
  m.path.pkey = ib::Pkey{0x8001};
  m.path.sl = 15;
  m.path.rate = 7;
  m.path.packet_life_time = 18;
  m.path.hop_limit = 64;
  m.path.traffic_class = 3;
  m.path.flow_label = 0xfffff;
  return m;
}

std::string complaint(const BandwidthMessage::Wire& wire) {
  try {
    BandwidthMessage::unpack(wire);
  } catch (const ib::Error& error) {
    return error.message();
  }
  return "nothing";
}

std::string complaint(void (*change)(BandwidthMessage&)) {
  BandwidthMessage message = answer();
  change(message);
  return complaint(message.pack());
}

}  // namespace

TEST_CASE("rdma_bw: every member of an answer arrives") {
  const BandwidthMessage sent = answer(), got = BandwidthMessage::unpack(sent.pack());
  CHECK(got.stage == BandwidthStage::answer);
  CHECK(got.bidirectional);
  CHECK(got.path.has_grh);
  CHECK(got.qpn == sent.qpn);
  CHECK(got.psn == sent.psn);
  CHECK(got.remote_key == sent.remote_key);
  CHECK(got.address == sent.address);
  CHECK(got.size == sent.size);
  CHECK(got.iterations == sent.iterations);
  CHECK(got.gid == sent.gid);
  CHECK(got.mtu == sent.mtu);
  CHECK(got.ack_delay == sent.ack_delay);
  CHECK(got.path.slid == sent.path.slid);
  CHECK(got.path.dlid == sent.path.dlid);
  CHECK(got.path.pkey == sent.path.pkey);
  CHECK(got.path.sl == sent.path.sl);
  CHECK(got.path.rate == sent.path.rate);
  CHECK(got.path.packet_life_time == sent.path.packet_life_time);
  CHECK(got.path.hop_limit == sent.path.hop_limit);
  CHECK(got.path.traffic_class == sent.path.traffic_class);
  CHECK(got.path.flow_label == sent.path.flow_label);
}

TEST_CASE("rdma_bw: the short messages") {
  BandwidthMessage message;
  message.stage = BandwidthStage::done;
  message.nanoseconds = 0x0102030405060708;
  CHECK(BandwidthMessage::unpack(message.pack()).nanoseconds == message.nanoseconds);
  message.stage = BandwidthStage::ready;
  CHECK(BandwidthMessage::unpack(message.pack()).stage == BandwidthStage::ready);
  message.stage = BandwidthStage::failed;
  message.text = "no verbs";
  CHECK(BandwidthMessage::unpack(message.pack()).text == "no verbs");
  message.text = std::string(500, 'x');
  CHECK(BandwidthMessage::unpack(message.pack()).text == std::string(112, 'x'));
}

TEST_CASE("rdma_bw: bytes that are not a message, and another version") {
  BandwidthMessage::Wire wire = answer().pack();
  wire[9] = 2;
  CHECK(complaint(wire) == "speaks version 2 of rdma_bw's protocol, this program version 1");
  wire = answer().pack();
  wire[0] = 'i';
  CHECK(complaint(wire) == "sent something that is not a message of rdma_bw");
  wire.fill(0xff);
  CHECK(complaint(wire) == "sent something that is not a message of rdma_bw");
  for (const unsigned kind : {0, 6, 255}) {
    wire = answer().pack();
    wire[10] = static_cast<std::uint8_t>(kind);
    CHECK_THAT(complaint(wire), ibtest::contains("unknown kind"));
  }
}

TEST_CASE("rdma_bw: impossible values are refused") {
  CHECK_THAT(complaint([](auto& m) { m.size = 0; }), ibtest::contains("a size of 0 bytes"));
  CHECK_THAT(complaint([](auto& m) { m.size = (1ULL << 30) + 1; }), ibtest::contains("a size of"));
  CHECK_THAT(complaint([](auto& m) { m.size = ~0ULL; }), ibtest::contains("a size of"));
  CHECK_THAT(complaint([](auto& m) { m.iterations = 0; }), ibtest::contains("no iterations"));
  CHECK_THAT(complaint([](auto& m) { m.qpn = 1; }), ibtest::contains("queue pair"));
  CHECK_THAT(complaint([](auto& m) { m.qpn = 1 << 24; }), ibtest::contains("queue pair"));
  CHECK_THAT(complaint([](auto& m) { m.psn = 1 << 24; }), ibtest::contains("sequence number"));
  CHECK_THAT(complaint([](auto& m) { m.mtu = 0; }), ibtest::contains("MTU"));
  CHECK_THAT(complaint([](auto& m) { m.mtu = 6; }), ibtest::contains("MTU"));
  CHECK_THAT(complaint([](auto& m) { m.ack_delay = 32; }), ibtest::contains("time"));
  CHECK_THAT(complaint([](auto& m) { m.gid = {}; }), ibtest::contains("no GID"));
  CHECK_THAT(complaint([](auto& m) { m.path.sl = 16; }), ibtest::contains("path"));
  CHECK_THAT(complaint([](auto& m) { m.path.flow_label = 1 << 20; }), ibtest::contains("path"));
  CHECK(complaint([](auto&) {}) == "nothing");
}

}  // namespace verbs_bandwidth_message_tests
