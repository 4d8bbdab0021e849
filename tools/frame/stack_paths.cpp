// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Completes paths. The SA gives the SL of a path for GMPs. If no SA answers, ibtool uses SL 0. That is the right SL on most fabrics, and
// counters and pings are needed most when the subnet manager is dead. If an SA answers that it knows no path, there is no path.
#include <fmt/format.h>

#include <exception>
#include <utility>

#include "base/escape.hpp"
#include "iba-gen/sa.hpp"
#include "iba-gen/smp.hpp"
#include "iba/text.hpp"
#include "mad/error.hpp"
#include "path/path.hpp"
#include "sa/records.hpp"
#include "sa/resolve.hpp"
#include "subnet/model/port_paths.hpp"
#include "tools/frame/diags_words.hpp"
#include "tools/frame/host.hpp"
#include "tools/frame/set_guard.hpp"
#include "tools/frame/stack.hpp"

namespace ib::tools {
namespace {

/// Whether no SA answered: a timeout, a node that is not an SA or is busy, a stored fabric. An SA refuses by a status of its class.
bool is_no_answer(const mad::MadError& error) {
  if (dynamic_cast<const mad::MadClassError*>(&error) != nullptr) return false;
  return dynamic_cast<const mad::MadTimeout*>(&error) != nullptr || dynamic_cast<const mad::MadStatusError*>(&error) != nullptr ||
         dynamic_cast<const mad::NotRead*>(&error) != nullptr;
}

/// `path`, to whose GID no port answers, to the port of the node or system of its GUID. Throws UsageError if there are several.
async::Task<std::optional<path::Path>> to_port_of_node(mad::Transactor& transactor, path::Path path) {
  const Gid gid = path.ib().dgid.value_or(Gid{});
  const sa::Nodes nodes = co_await sa::find_nodes_by_guid(transactor, gid.guid());
  if (nodes.records.empty()) co_return std::nullopt;
  std::string choice;
  for (const sa::NodeRecord& node : nodes.records) {
    choice += fmt::format("{}{} ({} port {})", choice.empty() ? "" : ", ", to_text(node.node_info.port_guid),
                          in_quotes(fixed_text(node.node_description.node_string)), node.node_info.local_port_num);
  }
  if (nodes.records.size() > 1)
    throw UsageError(fmt::format("GUID {} has {} ports: name one of them, {}", to_text(gid.guid()), nodes.records.size(), choice));
  path.ib().dgid = Gid::from(gid.prefix(), nodes.records.front().node_info.port_guid);
  co_return path;
}

constexpr std::string_view no_path_of_sa = "the SA gives no path to it";

sa::PathWanted wanted_by(const CommonOptions& options, const path::IbPath& path) {
  sa::PathWanted wanted;
  if (options.pkey_index) wanted.properties.p_key(path.pkey.value);
  return wanted;
}

}  // namespace

void Stack::apply_options(path::Path& path) const {
  const CommonOptions& options = host_.options();
  path::IbPath& ib = path.ib();
  if (options.m_key != 0) ib.m_key = options.m_key;
  if (options.retries) ib.retries = *options.retries;
  if (options.timeout) ib.timeout = *options.timeout;
}

void Stack::set_pkey(path::IbPath& path) {
  const std::optional<std::uint16_t>& index = host_.options().pkey_index;
  if (!index) return;
  if (!as_libibmad()) return path::set_pkey_index(path, *index);
  const sys::PortTable<Pkey>& pkeys = host_.end_port().carrier(false).pkeys;
  if (*index < pkeys.size()) path.pkey = pkeys[*index];
}

path::Path Stack::here() {
  path::Path path = path::IbDrPath(&host_.end_port());
  apply_options(path);
  return path;
}

async::Task<> Stack::prepare_sa() {
  if (!sa_target_ || std::exchange(is_sa_prepared_, true)) co_return;
  path::Path path = *sa_target_;
  path::IbPath& ib = path.ib();
  ib.end_port = &host_.end_port();
  ib.dqpn = ib.sqpn = Qpn{1};
  ib.qkey = path::qp1_qkey;
  set_sa_path(path);
  const bool complete = ib.dlid != Lid{} && ib.slid != Lid{};
  // The SA of this port resolves the path to the other SA, with its SL.
  if (!complete) {
    sa::PathResolver resolver(transactor(), 0);
    path = co_await resolver.resolve(path);
  }
  debug_path("SA", path);
  transactor().sa_path() = path;
}

bool Stack::knows_sa() {
  const path::IbPath& sa = transactor().sa_path().ib();
  return sa.dlid != Lid{} || sa.has_grh;
}

sa::PathResolver& Stack::resolver() {
  if (!resolver_) resolver_ = std::make_unique<sa::PathResolver>(transactor());
  return *resolver_;
}

/// Whether a port that the SA does not know is looked for: not with --sa, in another subnet, or on RoCE, which has no subnet.
bool Stack::may_find(const path::IbPath& path) {
  const sys::EndPort& port = host_.end_port();
  const bool is_ours = path.dgid && (path.dgid->prefix() == link_local_prefix || path.dgid->prefix() == port.default_gid().prefix());
  return finder_ && is_ours && !as_libibmad() && !host_.options().use_sa && port.link_layer != sys::LinkLayer::ethernet;
}

/// `path` as the SA completes it. If the SA has no path to a GID, it may be a GID of the node or the system: if it is not, and if no SA
/// answers and `may_be_silent`, the answer says why there is none. Throws for other failures, and for a GID that nothing else can find.
async::Task<Stack::SaAnswer> Stack::path_of_sa(path::Path path, sa::PathWanted wanted, bool may_find, bool may_be_silent) {
  debug_path("SA", transactor().sa_path());
  SaAnswer answer;
  try {
    path::Path found = co_await resolver().mad_path(path, wanted);
    answer.path = std::move(found);
  } catch (const sa::PathNotFound&) {
    if (as_libibmad() || !path.ib().dgid || path.ib().dlid != Lid{}) throw;
    answer.not_found = std::current_exception();
    answer.why = no_path_of_sa;
  } catch (const mad::MadError& error) {
    if (as_libibmad() || !may_be_silent || !is_no_answer(error)) throw;
    answer.why = error.message();
  }
  if (answer.not_found) {
    const std::optional<path::Path> to_port = co_await to_port_of_node(transactor(), path);
    if (!to_port && !may_find) std::rethrow_exception(answer.not_found);
    if (!to_port) co_return answer;
    path::Path found = co_await resolver().mad_path(*to_port, wanted);
    answer.path = std::move(found);
  }
  co_return answer;
}

/// The path of SMPs to a GID: the SA's. If the SA does not know the port, or none answers, the port is looked for in the fabric.
async::Task<path::Path> Stack::smps_to_gid(path::Path path) {
  const bool may_find = this->may_find(path.ib());
  std::string why = may_find ? why_no_gmps() : "";
  open();
  if (may_find && why.empty() && !knows_sa()) why = subnet::no_sa_is_known;
  if (why.empty()) {
    require_lids();
    const sa::PathWanted any_path;
    SaAnswer answer = co_await path_of_sa(path, any_path, may_find, may_find);
    if (answer.path) co_return std::move(*answer.path);
    why = std::move(answer.why);
  }
  path::Path found = co_await finder_(path, std::move(why));
  found = co_await smp_path(&found);
  co_return found;
}

async::Task<path::Path> Stack::smp_path(const path::Path* target) {
  path::Path path = path::IbDrPath();
  if (target != nullptr) path = *target;
  path.ib().end_port = &host_.end_port();
  if (!path.ib().dqpn) path.ib().dqpn = Qpn{0};
  if (!path.ib().qkey) path.ib().qkey = 0;
  path.ib().sqpn = Qpn{0};
  apply_options(path);
  co_await prepare_sa();
  if (path.directed() == nullptr && path.ib().dlid == Lid{}) {
    path = co_await smps_to_gid(std::move(path));
    if (path.directed() != nullptr) co_return path;
    path::IbPath& ib = path.ib();
    // IBA 8.3.6: packets with hop limit 0 or 1 do not leave the subnet. On RoCE it has no meaning here, and no SMP can be sent.
    if (ib.hop_limit > 1 && host_.end_port().link_layer != sys::LinkLayer::ethernet) {
      throw Error(fmt::format("{} is behind a router, where SMPs do not go", to_text(ib.dgid.value_or(Gid{}))));
    }
    ib.has_grh = false;
  }
  stays_here(path) ? require_infiniband() : require_link();
  // SMPs travel on VL15, so no SL is needed. Only the source LID is missing.
  if (path.directed() == nullptr && path.ib().slid == Lid{}) path.ib().slid = host_.end_port().lid;
  debug_path("SMP", path);
  co_return path;
}

void Stack::report_sl_0(std::string_view why) {
  const bool sends_nothing = host_.options().from.has_value();
  if (why.empty() || reported_sl_0_ || as_libibmad() || sends_nothing) return;
  reported_sl_0_ = true;
  warn(fmt::format("SL 0 is used: {}", why));
}

async::Task<> Stack::read_service_levels(subnet::PortPaths& paths) {
  if (host_.options().skip_sl || !why_no_gmps().empty()) co_return;
  co_await prepare_sa();
  co_await paths.read_service_levels(transactor());
  report_sl_0(paths.why_sl_0());
}

/// The reason why no paths are queried from the SA; null if they are. With --skip-sl the reason is empty: the user knows it.
const std::string* Stack::why_no_sa() {
  if (as_libibmad() || host_.end_port().link_layer == sys::LinkLayer::ethernet) return nullptr;
  if (!no_sa_ && host_.options().skip_sl) no_sa_.emplace();
  if (!no_sa_ && !knows_sa()) no_sa_ = subnet::no_sa_is_known;
  return no_sa_ ? &*no_sa_ : nullptr;
}

/// The path to the LID at the end of a directed route. The SA gives the LID without an SMP. If no SA answers, the node itself is read.
async::Task<path::Path> Stack::lid_routed(path::Path path) {
  if (path.directed() == nullptr) co_return path;
  if (why_no_sa() == nullptr) {
    path = co_await resolver().lid_routed(std::move(path));
    co_return path;
  }
  const mad::Result<smp::PortInfo> port = co_await transactor().try_subn_get<smp::PortInfo>(path);
  if (!port) port.error().raise();
  co_return sa::to_lid(path, port->lid);
}

/// Completes `path`, which has a DLID or a DGID, from the SA. Without an SA, a path to a LID gets the SLID of this port and SL 0. Without
/// an SA, or if it does not know the port of a GID, the port is looked for in the fabric.
async::Task<path::Path> Stack::from_sa(path::Path path) {
  const path::IbPath& ib = path.ib();
  const bool may_find = ib.dlid == Lid{} && this->may_find(ib);
  const bool skips = host_.options().skip_sl;
  const bool has_lids = ib.dlid.is_unicast() && host_.end_port().lid.is_unicast();
  std::exception_ptr not_found;
  if (why_no_sa() == nullptr || (!has_lids && !skips && !may_find)) {
    const sa::PathWanted wanted = wanted_by(host_.options(), ib);
    SaAnswer answer = co_await path_of_sa(path, wanted, may_find, has_lids || may_find);
    if (answer.path) co_return std::move(*answer.path);
    not_found = answer.not_found;
    if (!not_found) no_sa_ = answer.why;
  }
  co_return co_await gmps_to_lid(std::move(path), not_found);
}

/// A path for GMPs that the SA does not give, with SL 0. If an SA has answered `not_found`, it knows no path, and there is none.
async::Task<path::Path> Stack::gmps_to_lid(path::Path path, std::exception_ptr not_found) {
  if (path.ib().dlid == Lid{} && may_find(path.ib())) {
    std::string why = no_sa_.value_or("");
    if (not_found) why = no_path_of_sa;
    const path::Path found = co_await finder_(path, std::move(why));
    const std::string whom = to_text(*path.ib().dgid);
    if (not_found)
      throw Error(fmt::format("{} is {}, and the SA gives no path to it from here: is it cut off, or in another partition?", whom,
                              mad::target_text(found)));
    if (found.directed() != nullptr) throw Error(fmt::format("{} has no LID, to which requests could be sent", whom));
    path.ib().dlid = found.ib().dlid;
    path.ib().expected_node_guid = found.ib().expected_node_guid;
    path.ib().dgid.reset();
  }
  const path::IbPath& ib = path.ib();
  if (!ib.dlid.is_unicast()) throw UsageError(fmt::format("--skip-sl: only the subnet administrator knows the LID of {}", to_text(path)));
  if (!host_.end_port().lid.is_unicast())
    throw Error(fmt::format("{} has no LID, to which answers could be sent", host_.end_port().name()));
  report_sl_0(no_sa_.value_or(""));
  path.ib().slid = host_.end_port().lid;
  path.ib().sl = 0;
  co_return path;
}

async::Task<path::Path> Stack::gmp_path(const path::Path* target) {
  const CommonOptions& options = host_.options();
  require_lids();
  if (!options.skip_sl) co_await prepare_sa();
  const sys::EndPort& end_port = host_.end_port();
  path::IbPath here;
  here.dlid = here.slid = end_port.lid;
  if (end_port.link_layer == sys::LinkLayer::ethernet) here.dgid = end_port.default_gid();
  path::Path path = here;
  if (target != nullptr) path = *target;
  path.ib().end_port = &end_port;
  path.ib().sqpn = Qpn{1};
  set_pkey(path.ib());
  apply_options(path);
  path = co_await lid_routed(std::move(path));
  if (path.ib().dlid == Lid{} || path.ib().slid == Lid{}) path = co_await from_sa(std::move(path));
  path = co_await resolver().mad_path(path, wanted_by(options, path.ib()));
  if (guard_ && target != nullptr && target->directed() != nullptr) {  // `path` has the LID that the SA or the node gave
    path::Path route = *target;
    route.ib().end_port = &end_port;
    apply_options(route);
    guard_->expect(path.ib().dlid, std::move(route));
  }
  debug_path("GMP", path);
  co_return path;
}

void Stack::debug_path(std::string_view name, const path::Path& path) const {
  if (manners_ != nullptr && host_.options().debug > 0)
    host_.debug(1, fmt::format("{} {}\n{:{}}{}", name, to_text(path), "", name.size() + 4, to_spec(path, host_.options().keys)));
}

}  // namespace ib::tools
