// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "tools/rdma_bw/bandwidth_message.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "base/error.hpp"

namespace ib::tools {
namespace {

constexpr std::string_view magic = "IBTRDMBW";
constexpr std::size_t text_at = 16;

// Where each member stands.
enum At : std::size_t {
  at_version = 8,
  at_kind = 10,
  at_flags = 11,
  at_qpn = 12,
  at_psn = 16,
  at_remote_key = 20,
  at_address = 24,
  at_size = 32,
  at_iterations = 40,
  at_gid = 48,
  at_mtu = 64,
  at_ack_delay = 65,
  at_slid = 66,
  at_dlid = 68,
  at_pkey = 70,
  at_sl = 72,
  at_rate = 73,
  at_life_time = 74,
  at_hop_limit = 75,
  at_traffic_class = 76,
  at_flow_label = 80,
  at_nanoseconds = 16,
};
constexpr std::uint8_t flag_bidirectional = 1, flag_grh = 2;

[[noreturn]] void bad(std::string_view what) { throw Error(fmt::format("sent an rdma_bw message with {}", what)); }

void check_end(const BandwidthMessage& m) {
  if (m.qpn < 2 || m.qpn >= 1U << 24) bad("an impossible queue pair number");
  if (m.psn >= 1U << 24) bad("an impossible packet sequence number");
  if (m.size < 1 || m.size > BandwidthMessage::most_bytes) bad(fmt::format("a size of {} bytes: 1 to 1073741824 are possible", m.size));
  if (m.iterations < 1) bad("no iterations");
  if (m.mtu < 1 || m.mtu > 5) bad("an unknown MTU");
  if (m.ack_delay > 31 || m.packet_life_time > 63) bad("an impossible time");
  if (m.gid == Gid{}) bad("no GID");
  if (m.sl > 15 || m.rate > 63 || m.flow_label >= 1U << 20) bad("an impossible path");
}

void unpack_end(BandwidthMessage& m, const std::uint8_t* p) {
  m.bidirectional = (p[at_flags] & flag_bidirectional) != 0;
  m.has_grh = (p[at_flags] & flag_grh) != 0;
  m.qpn = load_be<std::uint32_t>(p + at_qpn);
  m.psn = load_be<std::uint32_t>(p + at_psn);
  m.remote_key = load_be<std::uint32_t>(p + at_remote_key);
  m.address = load_be<std::uint64_t>(p + at_address);
  m.size = load_be<std::uint64_t>(p + at_size);
  m.iterations = load_be<std::uint32_t>(p + at_iterations);
  std::copy_n(p + at_gid, m.gid.bytes.size(), m.gid.bytes.begin());
  m.mtu = p[at_mtu];
  m.ack_delay = p[at_ack_delay];
  m.slid = Lid{load_be<std::uint16_t>(p + at_slid)};
  m.dlid = Lid{load_be<std::uint16_t>(p + at_dlid)};
  m.pkey = Pkey{load_be<std::uint16_t>(p + at_pkey)};
  m.sl = p[at_sl];
  m.rate = p[at_rate];
  m.packet_life_time = p[at_life_time];
  m.hop_limit = p[at_hop_limit];
  m.traffic_class = p[at_traffic_class];
  m.flow_label = load_be<std::uint32_t>(p + at_flow_label);
  check_end(m);
}

void pack_end(const BandwidthMessage& m, std::uint8_t* p) {
  p[at_flags] = static_cast<std::uint8_t>((m.bidirectional ? flag_bidirectional : 0) | (m.has_grh ? flag_grh : 0));
  store_be(p + at_qpn, m.qpn);
  store_be(p + at_psn, m.psn);
  store_be(p + at_remote_key, m.remote_key);
  store_be(p + at_address, m.address);
  store_be(p + at_size, m.size);
  store_be(p + at_iterations, m.iterations);
  std::ranges::copy(m.gid.bytes, p + at_gid);
  p[at_mtu] = m.mtu;
  p[at_ack_delay] = m.ack_delay;
  store_be(p + at_slid, m.slid.value);
  store_be(p + at_dlid, m.dlid.value);
  store_be(p + at_pkey, m.pkey.value);
  p[at_sl] = m.sl;
  p[at_rate] = m.rate;
  p[at_life_time] = m.packet_life_time;
  p[at_hop_limit] = m.hop_limit;
  p[at_traffic_class] = m.traffic_class;
  store_be(p + at_flow_label, m.flow_label);
}

}  // namespace

BandwidthMessage::Wire BandwidthMessage::pack() const {
  Wire wire{};
  std::ranges::copy(magic, wire.begin());
  store_be(&wire[at_version], protocol);
  wire[at_kind] = static_cast<std::uint8_t>(kind);
  if (kind == Kind::offer || kind == Kind::answer) pack_end(*this, wire.data());
  if (kind == Kind::done) store_be(&wire[at_nanoseconds], nanoseconds);
  if (kind == Kind::failed) std::ranges::copy(std::string_view(text).substr(0, wire_size - text_at), &wire[text_at]);
  return wire;
}

BandwidthMessage BandwidthMessage::unpack(const Wire& wire) {
  if (!std::equal(magic.begin(), magic.end(), wire.begin())) throw Error("sent something that is not a message of rdma_bw");
  if (const auto version = load_be<std::uint16_t>(&wire[at_version]); version != protocol)
    throw Error(fmt::format("speaks version {} of rdma_bw's protocol, this program version {}", version, protocol));
  BandwidthMessage message;
  message.kind = static_cast<Kind>(wire[at_kind]);
  switch (message.kind) {
    case Kind::offer:
    case Kind::answer:
      unpack_end(message, wire.data());
      break;
    case Kind::ready:
      break;
    case Kind::done:
      message.nanoseconds = load_be<std::uint64_t>(&wire[at_nanoseconds]);
      break;
    case Kind::failed:
      message.text.assign(wire.begin() + text_at, std::find(wire.begin() + text_at, wire.end(), 0));
      break;
    default:
      bad(fmt::format("the unknown kind {}", wire[at_kind]));
  }
  return message;
}

}  // namespace ib::tools
