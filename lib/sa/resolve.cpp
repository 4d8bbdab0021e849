// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Path resolution by SubnAdmGet(PathRecord).
#include "sa/resolve.hpp"

#include <fmt/format.h>

#include "base/escape.hpp"
#include "base/split.hpp"
#include "iba/text.hpp"
#include "mad/error.hpp"
#include "sa/records.hpp"
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

constexpr std::string_view no_path_of_sa = "the SA gives no path to it";

/// Whether no SA answered: a timeout, a node that is not an SA or is busy, a stored fabric. An SA refuses by a status of its class.
bool is_no_answer(const mad::MadError& error) {
  if (dynamic_cast<const mad::MadClassError*>(&error) != nullptr) return false;
  return dynamic_cast<const mad::MadTimeout*>(&error) != nullptr || dynamic_cast<const mad::MadStatusError*>(&error) != nullptr ||
         dynamic_cast<const mad::NotRead*>(&error) != nullptr;
}

/// The GID of the port of the node or system of the GUID of `gid`, to which no port answers. Throws UsageError if there are several.
async::Task<std::optional<Gid>> port_of_node(mad::Transactor& transactor, Gid gid) {
  const Nodes nodes = co_await find_nodes_by_guid(transactor, gid.guid());
  if (nodes.records.empty()) co_return std::nullopt;
  std::string choice;
  for (const NodeRecord& node : nodes.records) {
    add_part(choice, fmt::format("{} ({} port {})", to_text(node.node_info.port_guid),
                                 in_quotes(fixed_text(node.node_description.node_string)), node.node_info.local_port_num));
  }
  if (nodes.records.size() > 1)
    throw UsageError(fmt::format("GUID {} has {} ports: name one of them, {}", to_text(gid.guid()), nodes.records.size(), choice));
  co_return Gid::from(gid.prefix(), nodes.records.front().node_info.port_guid);
}

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
  std::optional<mad::Result<Lid>> lid;
  if (!no_sa_) {
    SaTransactor links(transactor_);
    lid = co_await links.find_lid(target);
    if (*lid) co_return to_lid(target, **lid);
  }
  // The SA's data is outdated, or there is none; the node knows its LID.
  const auto port = co_await transactor_.try_subn_get<smp::PortInfo>(target);
  if (!port) (lid ? lid->error() : port.error()).raise();
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

/// If the SA has no path to a GID, it may be a GID of the node or the system: if it is not, and if no SA answers and `may_be_silent`, the
/// answer says why there is none. Throws for other failures, and for a GID that nothing else can find.
async::Task<PathResolver::Answer> PathResolver::query(path::Path path, PathWanted wanted, bool may_find, bool may_be_silent) {
  Answer answer;
  try {
    path::Path found = co_await mad_path(path, wanted);
    answer.path = std::move(found);
  } catch (const PathNotFound&) {
    if (!path.ib().dgid || path.ib().dlid != Lid{}) throw;
    answer.not_found = std::current_exception();
    answer.why = no_path_of_sa;
  } catch (const mad::MadError& error) {
    if (!may_be_silent || !is_no_answer(error)) throw;
    answer.why = error.message();
  }
  if (answer.not_found) {
    const std::optional<Gid> port = co_await port_of_node(transactor_, *path.ib().dgid);
    if (!port && !may_find) std::rethrow_exception(answer.not_found);
    if (!port) co_return answer;
    path.ib().dgid = port;
    path::Path found = co_await mad_path(std::move(path), wanted);
    answer.path = std::move(found);
  }
  co_return answer;
}

async::Task<path::Path> PathResolver::path_to_gid(path::Path target, std::string why_not, PortFinder find) {
  const bool may_find = find != nullptr;
  if (may_find && why_not.empty() && !transactor_.knows_sa()) why_not = mad::no_sa_is_known;
  if (why_not.empty()) {
    const PathWanted any_path;
    Answer answer = co_await query(target, any_path, may_find, may_find);
    if (answer.path) co_return std::move(*answer.path);
    why_not = std::move(answer.why);
  }
  co_return co_await find(std::move(target), std::move(why_not));
}

async::Task<path::Path> PathResolver::gmp_path(path::Path target, PathWanted wanted, bool skips_sa, PortFinder find) {
  const path::IbPath& ib = target.ib();
  const sys::EndPort& end_port = *ib.end_port;
  const bool is_complete = target.directed() == nullptr && ib.dlid != Lid{} && ib.slid != Lid{};
  if (is_complete || is_roce(ib)) co_return co_await mad_path(std::move(target), wanted);
  if (!no_sa_ && skips_sa) no_sa_.emplace();
  if (!no_sa_ && !transactor_.knows_sa()) no_sa_ = mad::no_sa_is_known;
  target = co_await lid_routed(std::move(target));
  const bool may_find = find != nullptr && target.ib().dlid == Lid{};
  const bool has_lids = target.ib().dlid.is_unicast() && end_port.lid.is_unicast();
  std::exception_ptr not_found;
  if (!no_sa_ || (!has_lids && !skips_sa && !may_find)) {
    Answer answer = co_await query(target, wanted, may_find, has_lids || may_find);
    if (answer.path) co_return std::move(*answer.path);
    not_found = answer.not_found;
    if (!not_found) no_sa_ = answer.why;
  }
  if (!may_find) find = nullptr;
  target = co_await without_sa(std::move(target), not_found, std::move(find));
  co_return co_await mad_path(std::move(target), wanted);
}

/// A path for GMPs that the SA does not give, with SL 0. If an SA has answered `not_found`, it knows no path, and there is none.
async::Task<path::Path> PathResolver::without_sa(path::Path path, std::exception_ptr not_found, PortFinder find) {
  path::IbPath& ib = path.ib();
  if (find) {
    std::string why(not_found ? no_path_of_sa : no_sa_.value_or(""));
    const path::Path found = co_await find(path, std::move(why));
    const std::string whom = to_text(*ib.dgid);
    if (not_found)
      throw Error(fmt::format("{} is {}, and the SA gives no path to it from here: is it cut off, or in another partition?", whom,
                              mad::target_text(found)));
    if (found.directed() != nullptr) throw Error(fmt::format("{} has no LID, to which requests could be sent", whom));
    ib.dlid = found.ib().dlid;
    ib.expected_node_guid = found.ib().expected_node_guid;
    ib.dgid.reset();
  }
  if (!ib.dlid.is_unicast())
    throw UsageError(fmt::format("only the subnet administrator knows the LID of {}, and it is not queried", to_text(path)));
  if (!ib.end_port->lid.is_unicast()) throw Error(fmt::format("{} has no LID, to which answers could be sent", ib.end_port->name()));
  ib.slid = ib.end_port->lid;
  ib.sl = 0;
  co_return path;
}

}  // namespace ib::sa
