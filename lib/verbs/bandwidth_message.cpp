// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "verbs/bandwidth.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <type_traits>

#include "base/bytes.hpp"
#include "base/error.hpp"

namespace ib::verbs {
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

/// Reads the members of an offer or answer from the message at `p`, or writes them there if its bytes are not const.
template <class Byte>
void transfer(BandwidthMessage& m, Byte* p) {
  constexpr bool reads = std::is_const_v<Byte>;
  const auto number = [p]<class T>(std::size_t at, T& value) {
    if constexpr (reads) {
      value = load_be<T>(p + at);
    } else {
      store_be(p + at, value);
    }
  };
  auto flags = static_cast<std::uint8_t>((m.bidirectional ? flag_bidirectional : 0) | (m.path.has_grh ? flag_grh : 0));
  number(flags_at, flags);
  m.bidirectional = (flags & flag_bidirectional) != 0;
  m.path.has_grh = (flags & flag_grh) != 0;
  number(12, m.qpn);
  number(16, m.psn);
  number(20, m.remote_key);
  number(24, m.address);
  number(32, m.size);
  number(40, m.iterations);
  for (std::size_t at = 0; at < m.gid.bytes.size(); ++at) number(48 + at, m.gid.bytes[at]);
  number(64, m.mtu);
  number(65, m.ack_delay);
  number(66, m.path.slid.value);
  number(68, m.path.dlid.value);
  number(70, m.path.pkey.value);
  number(72, m.path.sl);
  number(73, m.path.rate);
  std::uint8_t life_time = m.path.packet_life_time.value_or(0);
  number(74, life_time);
  m.path.packet_life_time = life_time;
  number(75, m.path.hop_limit);
  number(76, m.path.traffic_class);
  number(80, m.path.flow_label);
}

}  // namespace

BandwidthMessage::Wire BandwidthMessage::pack() const {
  Wire wire{};
  std::ranges::copy(magic, wire.begin());
  store_be(&wire[version_at], protocol);
  wire[stage_at] = static_cast<std::uint8_t>(stage);
  if (stage == BandwidthStage::offer || stage == BandwidthStage::answer) {
    BandwidthMessage copy = *this;
    transfer(copy, wire.data());
  }
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
      transfer(message, wire.data());
      check_end(message);
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

}  // namespace ib::verbs
