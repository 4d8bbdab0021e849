// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "path/path.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.hpp"
#include "iba/text.hpp"

namespace ib::path {

namespace {

/// The duration of a time code of the IBA: 4.096 µs · 2^code. Codes have 5 bits. A PathRecord can hold a greater code, which counts as 31.
Duration from_code(unsigned code) { return Duration(std::int64_t{4096} << std::min(code, 31U)); }

constexpr std::uint16_t membership_bit = 0x8000;
constexpr std::uint16_t last_sgid_index = 0xff;  // umad and verbs have 8 bits for it

const sys::EndPort& end_port(const IbPath& path) {
  if (path.end_port == nullptr) throw Error("The path has no end port");
  return *path.end_port;
}

/// The end port whose P_Key and GID tables apply to the path. Only GMPs matter: an SMP can choose neither.
const sys::EndPort& gsi_port(const IbPath& path) { return end_port(path).carrier(false); }

template <class T>
std::optional<std::uint16_t> index_of(const sys::PortTable<T>& table, const T& value) {
  const auto it = std::find(table.begin(), table.end(), value);
  if (it == table.end()) return std::nullopt;
  return static_cast<std::uint16_t>(it - table.begin());
}

/// The low bits of a LID of `port` that LMC leaves free.
std::uint16_t lmc_mask(const sys::EndPort& port) { return static_cast<std::uint16_t>((1U << std::min(port.lmc, 7U)) - 1); }

}  // namespace

void IbPath::use_qp(Qpn qp) {
  dqpn = sqpn = qp;
  qkey = qp == Qpn{0} ? 0 : qp1_qkey;
}

IbDrPath::IbDrPath() {
  dlid = slid = permissive_lid;
  use_qp(Qpn{0});
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

std::uint8_t sgid_index(const IbPath& path) {
  const auto& port = gsi_port(path);
  if (!path.sgid) return 0;
  const auto index = index_of(port.gids, *path.sgid);
  if (!index) throw Error(fmt::format("GID {} not available on {}", to_text(*path.sgid), port.name()));
  if (*index > last_sgid_index)
    throw Error(fmt::format("GID {} of {} has index {}, and packets leave from the first {} GIDs only", to_text(*path.sgid), port.name(),
                            *index, last_sgid_index + 1));
  return static_cast<std::uint8_t>(*index);
}

std::uint16_t pkey_index(const IbPath& path) {
  const auto& port = gsi_port(path);
  if (const auto index = index_of(port.pkeys, path.pkey)) return *index;
  if (const auto index = index_of(port.pkeys, Pkey{static_cast<std::uint16_t>(path.pkey.value ^ membership_bit)})) return *index;
  throw Error(fmt::format("PKey 0x{:x} not available on {}", path.pkey.value, port.name()));
}

void set_pkey_index(IbPath& path, unsigned index) {
  const auto& port = gsi_port(path);
  if (index >= port.pkeys.size() || (port.pkeys[index].value & ~membership_bit) == 0) {
    throw UsageError(fmt::format("PKey index {} not available on {}", index, port.name()));
  }
  path.pkey = port.pkeys[index];
}

std::uint8_t slid_bits(const IbPath& path) { return static_cast<std::uint8_t>(path.slid.value & lmc_mask(end_port(path))); }

void visit(report::Sink& sink, std::string_view key, const Path& path) {
  const IbPath& ib = path.ib();
  sink.begin_object(key);
  sink.value("kind", path.directed() != nullptr ? "directed" : ib.has_grh ? "gid" : "lid");
  sink.text_or_null("end_port", ib.end_port != nullptr ? ib.end_port->name() : "");
  sink.lid_or_null("slid", ib.slid);
  sink.lid_or_null("dlid", ib.dlid);
  sink.value("sl", ib.sl);
  sink.value("pkey", ib.pkey);
  sink.value("dqpn", ib.dqpn);
  sink.value("sgid", ib.sgid);
  sink.value("dgid", ib.dgid);
  sink.value_or_null("hop_limit", ib.has_grh, ib.hop_limit);
  sink.value_or_null("traffic_class", ib.has_grh, ib.traffic_class);
  sink.value_or_null("flow_label", ib.has_grh, ib.flow_label);
  if (const IbDrPath* directed = path.directed()) {
    sink.begin_array("route");
    for (const std::uint8_t port : directed->ports()) sink.value({}, port);
    sink.end_array();
    sink.value("dr_slid", directed->dr_slid);
    sink.value("dr_dlid", directed->dr_dlid);
  } else {
    for (const char* absent : {"route", "dr_slid", "dr_dlid"}) sink.null(absent);
  }
  sink.end_object();
}

}  // namespace ib::path
