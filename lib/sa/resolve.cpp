// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Path resolution by one SubnAdmGet(PathRecord).
#include "sa/resolve.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "iba-gen/sa.hpp"

namespace ib::sa {

namespace {

constexpr std::uint8_t no_records = 3;       // IBA 15.2.4
constexpr std::uint8_t roce_hop_limit = 64;  // as Linux sends IP

PathRecord::Query make_query(const path::IbPath& path, const sys::EndPort& end_port) {
  PathRecord::Query query;
  query.reversible(1).sgid(path.sgid.value_or(end_port.default_gid()));
  if (path.dgid) {
    query.dgid(*path.dgid);
  } else {
    query.dlid(path.dlid);
  }
  return query;
}

void take_over(path::IbPath& path, const PathRecord& record) {
  path.dgid = record.dgid;
  path.sgid = record.sgid;
  path.dlid = record.dlid;
  path.slid = record.slid;
  path.flow_label = record.flow_label;
  path.hop_limit = record.hop_limit;
  path.traffic_class = record.t_class;
  path.pkey = Pkey{record.p_key};
  path.sl = record.sl;
  path.mtu = static_cast<std::uint8_t>(record.mtu);
  path.rate = static_cast<std::uint8_t>(record.rate);
  path.packet_life_time = record.packet_life_time;
  path.has_grh = record.hop_limit != 0;
}

}  // namespace

void complete_roce(path::IbPath& path) {
  const sys::EndPort& port = *path.end_port;
  if (!path.dgid) {
    throw Error(fmt::format("{} is a RoCE port (Ethernet), which has neither LIDs nor a subnet administrator: address its targets by GID",
                            port.name()));
  }
  // The GID of the same subnet: a link-local one does not reach further, nor an IPv4 one an IPv6 one.
  const auto same = [&path](const Gid& gid) { return gid != Gid{} && gid.prefix() == path.dgid->prefix(); };
  const auto sgid = std::ranges::find_if(port.gids, same);
  if (!path.sgid) path.sgid = sgid != port.gids.end() ? *sgid : port.default_gid();
  path.has_grh = true;
  if (path.hop_limit == 0) path.hop_limit = roce_hop_limit;
}

async::Task<path::Path> resolve_path(mad::Transactor& transactor, const path::Path& path) {
  path::Path resolved = path;
  path::IbPath& ib = resolved.ib();
  if (ib.end_port == nullptr) ib.end_port = &transactor.end_port();
  if (ib.end_port->link_layer == sys::LinkLayer::ethernet) {
    complete_roce(ib);
    co_return resolved;
  }
  const PathRecord::Query query = make_query(ib, *ib.end_port);
  const mad::Result<PathRecord> record = co_await transactor.try_subn_adm_get(query);
  if (!record) {
    const mad::MadError& error = record.error();
    const std::string note = fmt::format("Failed getting path record for path {}.", to_spec(path));
    if (const auto* sa = dynamic_cast<const mad::SaError*>(&error); sa != nullptr && sa->code() == no_records) {
      PathNotFound not_found(error.request(), error.reply(), error.path());
      not_found.note(note);
      throw not_found;
    }
    record.shared_error()->raise_with(note);
  }
  if (!record->dlid.is_unicast() || !record->slid.is_unicast()) {
    throw Error(fmt::format("The SA's path record has the LIDs {} -> {}", record->slid.value, record->dlid.value))
        .note(fmt::format("Failed getting path record for path {}.", to_spec(path)));
  }
  take_over(ib, *record);
  co_return resolved;
}

}  // namespace ib::sa
