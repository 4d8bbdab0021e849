// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Path resolution by SubnAdmGet(PathRecord).
#include "sa/resolve.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "iba/text.hpp"
#include "mad/error.hpp"
#include "sa/records.hpp"
#include "sa/subn_adm.hpp"
#include "sa/transactor.hpp"

namespace ib::sa {

namespace {

constexpr std::uint8_t roce_hop_limit = 64;  // as Linux does for IP packets

PathRecord::Query make_query(const path::IbPath& path, const PathWanted& wanted) {
  PathRecord::Query query = wanted.properties;
  if (wanted.reversible) query.reversible(1);
  query.sgid(path.sgid.value_or(path.end_port->default_gid()));
  if (path.dgid) {
    query.dgid(*path.dgid);
  } else {
    query.dlid(path.dlid);
  }
  return query;
}

std::string note_on(const path::Path& path) { return fmt::format("The SA gives no path to {}", mad::target_text(path)); }

[[noreturn]] void fail(const std::shared_ptr<const mad::MadError>& error, const path::Path& path) {
  if (is_no_records(*error)) {
    PathNotFound not_found(error->request(), error->reply(), error->path());
    not_found.note(note_on(path));
    throw not_found;
  }
  error->raise_with(note_on(path));
}

/// Whether a path to `record` is one to `wanted`. A port has its GUID under the link-local prefix too (IBA 4.1.1).
bool is_same_port(const Gid& record, const Gid& wanted) {
  const bool same_subnet =
      record.prefix() == wanted.prefix() || record.prefix() == link_local_prefix || wanted.prefix() == link_local_prefix;
  return record.guid() == wanted.guid() && same_subnet;
}

constexpr std::uint16_t pkey_number = 0x7fff;  // the rest says whether a member is a full one (IBA 10.9.1.1)

/// Throws if the SA answered with another path than the one that was requested: MADs on it would go to another port or partition.
void check_answer(const path::Path& path, const PathRecord::Query& query, const PathRecord& record) {
  const path::IbPath& wanted = path.ib();
  std::string why;
  if (wanted.dgid && !is_same_port(record.dgid, *wanted.dgid)) {
    why = fmt::format("to {}, not to {}", to_text(record.dgid), to_text(*wanted.dgid));
  } else if (!wanted.dgid && record.dlid != wanted.dlid) {
    why = fmt::format("to LID {}, not to LID {}", record.dlid.value, wanted.dlid.value);
  } else if (((record.p_key ^ query.record.p_key) & pkey_number) != 0 && query.record.p_key != 0) {
    why = fmt::format("with P_Key 0x{:04x}, not 0x{:04x}", record.p_key, query.record.p_key);
  }
  if (!why.empty()) throw Error(fmt::format("The SA answered with a path {}", why)).note(note_on(path));
}

/// Copies the properties of the record to `path`, which is then meant for the port of its GID.
void take_over(path::Path& path, const PathRecord::Query& query, const PathRecord& record) {
  check_answer(path, query, record);
  if (!record.dlid.is_unicast() || !record.slid.is_unicast()) {
    throw Error(fmt::format("The SA's path record has the LIDs {} -> {}", record.slid.value, record.dlid.value)).note(note_on(path));
  }
  path::IbPath& ib = path.ib();
  if (ib.dgid && ib.expected_node_guid == Guid{}) ib.expected_node_guid = ib.dgid->guid();
  ib.dgid = record.dgid;
  ib.sgid = record.sgid;
  ib.dlid = record.dlid;
  ib.slid = record.slid;
  ib.flow_label = record.flow_label;
  ib.hop_limit = record.hop_limit;
  ib.traffic_class = record.t_class;
  ib.pkey = Pkey{record.p_key};
  ib.sl = record.sl;
  ib.mtu = static_cast<std::uint8_t>(record.mtu);
  ib.rate = static_cast<std::uint8_t>(record.rate);
  ib.packet_life_time = record.packet_life_time;
  ib.has_grh = record.hop_limit != 0;
}

bool is_roce(const path::IbPath& path) { return path.end_port->link_layer == sys::LinkLayer::ethernet; }

}  // namespace

void complete_roce(path::IbPath& path) {
  const sys::EndPort& port = *path.end_port;
  if (!path.dgid) {
    throw Error(fmt::format("{} is a RoCE port (Ethernet), which has neither LIDs nor a subnet administrator: address its targets by GID",
                            port.name()));
  }
  // A GID of the same subnet: a link-local GID reaches only link-local GIDs, and an IPv4 GID reaches only IPv4 GIDs.
  const auto same = [&path](const Gid& gid) { return gid != Gid{} && gid.prefix() == path.dgid->prefix(); };
  const auto sgid = std::ranges::find_if(port.gids, same);
  if (!path.sgid) path.sgid = sgid != port.gids.end() ? *sgid : port.default_gid();
  path.has_grh = true;
  if (path.hop_limit == 0) path.hop_limit = roce_hop_limit;
}

async::Task<mad::Result<PathRecord>> PathResolver::fetch(PathRecord::Query query) {
  std::string key(PathRecord::wire_size, '\0');
  query.record.pack(MutableBytes(reinterpret_cast<std::uint8_t*>(key.data()), key.size()));
  key += std::to_string(query.component_mask);
  if (answers_.find(key) == nullptr && answers_.size() >= capacity_) answers_.clear();
  async::Task<mad::Result<PathRecord>> fetching = answers_.get(std::move(key), try_subn_adm_get(transactor_, query));
  co_return co_await std::move(fetching);
}

async::Task<path::Path> PathResolver::resolve(path::Path path, PathWanted wanted) {
  path::IbPath& ib = path.ib();
  if (ib.end_port == nullptr) ib.end_port = &transactor_.end_port();
  if (is_roce(ib)) {
    complete_roce(ib);
    co_return path;
  }
  const PathRecord::Query query = make_query(ib, wanted);
  const mad::Result<PathRecord> answer = co_await fetch(query);
  if (!answer) fail(answer.shared_error(), path);
  take_over(path, query, *answer);
  co_return path;
}

path::IbPath to_lid(const path::Path& route, Lid lid) {
  path::IbPath ib = route.ib();
  ib.dlid = lid;
  ib.slid = {};
  ib.dqpn = ib.sqpn = {};
  ib.qkey = {};
  return ib;
}

async::Task<path::Path> PathResolver::lid_routed(path::Path target) {
  if (target.directed() == nullptr) co_return target;
  SaTransactor links(transactor_);
  const mad::Result<Lid> lid = co_await links.find_lid(target);
  if (lid) co_return to_lid(target, *lid);
  // The SA's data is outdated; the node knows its LID.
  const auto port = co_await transactor_.try_subn_get<smp::PortInfo>(target);
  if (!port) lid.error().raise();
  co_return to_lid(target, port->lid);
}

async::Task<path::Path> PathResolver::mad_path(path::Path target, PathWanted wanted) {
  target = co_await lid_routed(std::move(target));
  path::IbPath ib = target.ib();
  if (ib.end_port == nullptr) ib.end_port = &transactor_.end_port();
  if (!ib.dqpn) ib.dqpn = Qpn{1};
  if (!ib.sqpn) ib.sqpn = Qpn{1};
  if (!ib.qkey) ib.qkey = path::qp1_qkey;
  path::Path path = ib;
  if (!path::complete(path)) path = co_await resolve(std::move(path), wanted);
  co_return path;
}

}  // namespace ib::sa
