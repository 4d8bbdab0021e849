// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "mad/captured.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <string_view>

#include "base/error.hpp"
#include "iba-gen/hdr.hpp"
#include "iba/registry.hpp"
#include "mad/packet.hpp"

namespace ib::mad {
namespace {

/// Takes `size` bytes off the front of `rest`. Throws UsageError if there are fewer.
Bytes take(Bytes& rest, std::size_t size, std::string_view what) {
  if (rest.size() < size) throw UsageError(fmt::format("The input ends within {}: {} of {} bytes", what, rest.size(), size));
  const Bytes taken = rest.first(size);
  rest = rest.subspan(size);
  return taken;
}

template <class T>
T take(Bytes& rest, std::vector<CapturedPacket::Header>& headers) {
  headers.push_back({&T::info(), take(rest, T::wire_size, T::info().iba_name)});
  return T::unpack(headers.back().bytes);
}

/// The headers of an unreliable datagram before its MAD (IBA 7.7, 8.3, 9.2, 9.3.2).
void take_link_headers(Bytes& rest, std::vector<CapturedPacket::Header>& headers) {
  const auto lrh = take<hdr::Lrh>(rest, headers);
  if ((lrh.lnh & 2) == 0) throw UsageError("The packet is a raw packet: it has no BTH and no MAD");
  if ((lrh.lnh & 1) != 0) take<hdr::Grh>(rest, headers);
  const auto bth = take<hdr::Bth>(rest, headers);
  if (bth.service != 3 || (bth.function != 4 && bth.function != 5))
    throw UsageError(fmt::format("The packet is not a datagram: its BTH names service {}, function {}", bth.service, bth.function));
  take<hdr::Deth>(rest, headers);
  if (bth.function == 5) take<hdr::ImmDt>(rest, headers);
}

constexpr UmadField umad_members[]{
    {"agent_id", 0, 4, true},
    {"status", 4, 4, true},
    {"timeout_ms", 8, 4, true},
    {"retries", 12, 4, true},
    {"length", 16, 4, true},
    {"qpn", 20, 4},
    {"qkey", 24, 4},
    {"lid", 28, 2},
    {"sl", 30, 1},
    {"path_bits", 31, 1},
    {"grh_present", 32, 1},
    {"gid_index", 33, 1},
    {"hop_limit", 34, 1},
    {"traffic_class", 35, 1},
    {"gid", 36, 16},
    {"flow_label", 52, 4},
    {"pkey_index", 56, 2, true},
};

}  // namespace

void CapturedPacket::take_apart(Bytes packet, std::size_t offset, bool has_umad, bool has_lrh) {
  take(packet, offset, "the offset");
  if (has_umad) umad = take(packet, umad_header_bytes, "the umad header");
  if (has_lrh) take_link_headers(packet, headers);
  mad = packet.first(std::min(packet.size(), packet_size));
  take(packet, mad::Header::wire_size, "the MAD header");
  const auto header = mad::Header::unpack(mad);
  format = find_format(header.mgmt_class, header.class_version, header.base_version, mad_oui(mad));
}

std::uint64_t UmadField::number(Bytes header) const {
  const bool is_reversed = in_host_order && std::endian::native == std::endian::little;
  std::uint64_t value = 0;
  for (unsigned i = 0; i < bytes; ++i) value = value << 8 | header[at + (is_reversed ? bytes - 1 - i : i)];
  return value;
}

std::span<const UmadField> umad_fields() { return umad_members; }

}  // namespace ib::mad
