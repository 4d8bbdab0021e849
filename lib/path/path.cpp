// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "path/path.hpp"

#include <algorithm>

namespace ib::path {

namespace {

/// The duration of a time code of the IBA: 4.096 µs · 2^code. Codes have 5 bits. A PathRecord can hold a greater code, which
/// counts as 31.
Duration from_code(unsigned code) { return Duration(std::int64_t{4096} << std::min(code, 31U)); }

}  // namespace

IbDrPath::IbDrPath() {
  dlid = slid = permissive_lid;
  dqpn = sqpn = Qpn{0};
  qkey = 0;
}

IbDrPath::IbDrPath(const sys::EndPort* from) : IbDrPath() { end_port = from; }

std::optional<IbDrPath> IbDrPath::advance(std::uint8_t port) const {
  if (hops >= max_hops) return std::nullopt;
  IbDrPath next = *this;
  next.route[++next.hops] = port;
  return next;
}

const IbPath& Path::ib() const {
  return std::visit([](const auto& path) -> const IbPath& { return path; }, value_);
}

IbPath& Path::ib() {
  return std::visit([](auto& path) -> IbPath& { return path; }, value_);
}

std::uint8_t packet_life_time(const IbPath& path) {
  if (path.packet_life_time) return *path.packet_life_time;
  return path.end_port != nullptr ? static_cast<std::uint8_t>(path.end_port->subnet_timeout) : std::uint8_t{18};
}

Duration mad_timeout(const IbPath& path) {
  return path.timeout.value_or(2 * from_code(packet_life_time(path)) + from_code(path.resp_time));
}

Duration qp_timeout(const IbPath& path) { return 2 * from_code(packet_life_time(path)) + from_code(path.dack_resp_time); }

bool complete(const Path& path) {
  const IbPath& p = path.ib();
  if (p.end_port == nullptr) return false;
  if (path.directed() != nullptr) return true;
  const bool roce = p.end_port->link_layer == sys::LinkLayer::ethernet;
  const bool lids = p.dlid.is_unicast() && p.slid.is_unicast();
  const bool gids = p.sgid && p.dgid;
  return p.dqpn.has_value() && (roce ? p.has_grh && gids : lids && (gids || !p.has_grh));
}

void reverse(Path& path, bool for_reply) {
  IbPath& p = path.ib();
  std::swap(p.dlid, p.slid);
  std::swap(p.dgid, p.sgid);
  std::swap(p.dqpn, p.sqpn);
  std::swap(p.dqpsn, p.sqpsn);
  std::swap(p.dack_resp_time, p.sack_resp_time);
  std::swap(p.drdatomic, p.srdatomic);
  if (p.has_grh && for_reply) p.hop_limit = 0xff;
}

}  // namespace ib::path
