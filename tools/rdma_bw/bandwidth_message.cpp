// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "tools/rdma_bw/bandwidth_message.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "base/bytes.hpp"
#include "base/error.hpp"

namespace ib::tools {
namespace {

constexpr std::string_view magic = "IBTRDMBW";
constexpr std::size_t version_at = 8, stage_at = 10, flags_at = 11, nanoseconds_at = 16, text_at = 16;
constexpr std::uint8_t flag_bidirectional = 1, flag_grh = 2;

[[noreturn]] void bad(std::string_view what) { throw Error(fmt::format("sent an rdma_bw message with {}", what)); }

void check_end(const BandwidthMessage& m) {
  if (m.qpn < 2 || m.qpn >= 1U << 24) bad("an impossible queue pair number");
  if (m.psn >= 1U << 24) bad("an impossible packet sequence number");
  if (m.size < 1 || m.size > BandwidthMessage::most_bytes) bad(fmt::format("a size of {} bytes: 1 to 1073741824 are possible", m.size));
  if (m.iterations < 1) bad("no iterations");
  if (m.mtu < 1 || m.mtu > 5) bad("an unknown MTU");
  if (m.ack_delay > 31 || m.path.packet_life_time > 63) bad("an impossible time");
  if (m.gid == Gid{}) bad("no GID");
  if (m.path.sl > 15 || m.path.rate > 63 || m.path.flow_label >= 1U << 20) bad("an impossible path");
}

/// Calls `each(place, member)` for the members of an offer or answer but the flags.
template <class Message, class Each>
void for_each_member(Message& m, const Each& each) {
  each(12, m.qpn);
  each(16, m.psn);
  each(20, m.remote_key);
  each(24, m.address);
  each(32, m.size);
  each(40, m.iterations);
  each(48, m.gid);
  each(64, m.mtu);
  each(65, m.ack_delay);
  each(66, m.path.slid);
  each(68, m.path.dlid);
  each(70, m.path.pkey);
  each(72, m.path.sl);
  each(73, m.path.rate);
  each(74, m.path.packet_life_time);
  each(75, m.path.hop_limit);
  each(76, m.path.traffic_class);
  each(80, m.path.flow_label);
}

void unpack_end(BandwidthMessage& m, const std::uint8_t* p) {
  m.bidirectional = (p[flags_at] & flag_bidirectional) != 0;
  m.path.has_grh = (p[flags_at] & flag_grh) != 0;
  for_each_member(m, [p]<class T>(std::size_t at, T& member) {
    if constexpr (requires { member.has_value(); }) {
      member = p[at];
    } else if constexpr (requires { member.value; }) {
      member.value = load_be<decltype(member.value)>(p + at);
    } else if constexpr (requires { member.bytes; }) {
      std::copy_n(p + at, member.bytes.size(), member.bytes.begin());
    } else {
      member = load_be<T>(p + at);
    }
  });
  check_end(m);
}

void pack_end(const BandwidthMessage& m, std::uint8_t* p) {
  p[flags_at] = static_cast<std::uint8_t>((m.bidirectional ? flag_bidirectional : 0) | (m.path.has_grh ? flag_grh : 0));
  for_each_member(m, [p](std::size_t at, const auto& member) {
    if constexpr (requires { member.has_value(); }) {
      p[at] = member.value_or(0);
    } else if constexpr (requires { member.value; }) {
      store_be(p + at, member.value);
    } else if constexpr (requires { member.bytes; }) {
      std::ranges::copy(member.bytes, p + at);
    } else {
      store_be(p + at, member);
    }
  });
}

}  // namespace

BandwidthMessage::Wire BandwidthMessage::pack() const {
  Wire wire{};
  std::ranges::copy(magic, wire.begin());
  store_be(&wire[version_at], protocol);
  wire[stage_at] = static_cast<std::uint8_t>(stage);
  if (stage == BandwidthStage::offer || stage == BandwidthStage::answer) pack_end(*this, wire.data());
  if (stage == BandwidthStage::done) store_be(&wire[nanoseconds_at], nanoseconds);
  if (stage == BandwidthStage::failed) std::ranges::copy(std::string_view(text).substr(0, wire_size - text_at), &wire[text_at]);
  return wire;
}

BandwidthMessage BandwidthMessage::unpack(const Wire& wire) {
  if (!std::equal(magic.begin(), magic.end(), wire.begin())) throw Error("sent something that is not a message of rdma_bw");
  if (const auto version = load_be<std::uint16_t>(&wire[version_at]); version != protocol)
    throw Error(fmt::format("speaks version {} of rdma_bw's protocol, this program version {}", version, protocol));
  BandwidthMessage message;
  message.stage = static_cast<BandwidthStage>(wire[stage_at]);
  switch (message.stage) {
    case BandwidthStage::offer:
    case BandwidthStage::answer:
      unpack_end(message, wire.data());
      break;
    case BandwidthStage::ready:
      break;
    case BandwidthStage::done:
      message.nanoseconds = load_be<std::uint64_t>(&wire[nanoseconds_at]);
      break;
    case BandwidthStage::failed:
      message.text.assign(wire.begin() + text_at, std::find(wire.begin() + text_at, wire.end(), 0));
      break;
    default:
      bad(fmt::format("the unknown kind {}", wire[stage_at]));
  }
  return message;
}

}  // namespace ib::tools
