// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The paths of GMPs. The SL of a path is the SA's to give. ibtool uses SL 0 where no SA answers: it is the right one on most fabrics, and
// when the subnet manager is dead, counters and pings are needed most. An SA that answers is believed: if it knows no path, there is none.
#include <fmt/format.h>

#include "base/log.hpp"
#include "iba-gen/smp.hpp"
#include "mad/rpc.hpp"
#include "path/indexes.hpp"
#include "sa/resolve.hpp"
#include "snapshot/transactor.hpp"
#include "subnet/port_paths.hpp"
#include "tools/frame/session.hpp"
#include "tools/frame/set_guard.hpp"

namespace ib::tools {
namespace {

/// Whether `error` is no answer of an SA: silence, a status of a node that is not an SA or is busy, or nothing in a stored fabric. An SA
/// that refuses does so by a status of its class.
bool is_no_answer(const mad::MadError& error) {
  if (dynamic_cast<const mad::MadClassError*>(&error) != nullptr) return false;
  return dynamic_cast<const mad::MadTimeout*>(&error) != nullptr || dynamic_cast<const mad::MadStatusError*>(&error) != nullptr ||
         dynamic_cast<const mad::NotRead*>(&error) != nullptr;
}

sa::PathWanted wanted_by(const CommonOptions& options, const path::IbPath& path) {
  sa::PathWanted wanted;
  if (options.pkey_index) wanted.properties.p_key(path.pkey.value);
  return wanted;
}

}  // namespace

void Session::tell_sl_0(std::string_view why) {
  if (why.empty() || told_sl_0_ || dialect_ == Dialect::diags) return;
  told_sl_0_ = true;
  log::warning(fmt::format("SL 0 is used: {}", why));
}

async::Task<> Session::read_service_levels(subnet::PortPaths& paths) {
  if (options_.skip_sl) co_return;
  co_await prepare_sa();
  co_await paths.read_service_levels(transactor());
  tell_sl_0(paths.why_sl_0());
}

/// Why the SA is asked for no paths; null if it is. The reason of --skip-sl is empty: the user knows it.
const std::string* Session::why_no_sa() {
  if (dialect_ == Dialect::diags || end_port().link_layer == sys::LinkLayer::ethernet) return nullptr;
  if (!no_sa_ && options_.skip_sl) no_sa_.emplace();
  if (!no_sa_) {
    const path::IbPath& sa = transactor().sa_path().ib();
    if (sa.dlid == Lid{} && !sa.has_grh) no_sa_ = subnet::no_sa_is_known;
  }
  return no_sa_ ? &*no_sa_ : nullptr;
}

/// The path to the LID at the end of a directed route. The SA knows it without an SMP; where none answers the node itself does.
async::Task<path::Path> Session::lid_routed(path::Path path) {
  if (path.directed() == nullptr) co_return path;
  if (why_no_sa() == nullptr) {
    path = co_await resolver().lid_routed(std::move(path));
    co_return path;
  }
  const mad::Result<smp::PortInfo> port = co_await transactor().try_subn_get<smp::PortInfo>(path);
  if (!port) port.error().raise();
  co_return sa::to_lid(path, port->lid);
}

/// `path`, which has a DLID or a DGID, with what the SA knows of it. Without an SA, a path to a LID has the SLID of this port and SL 0.
async::Task<path::Path> Session::from_sa(path::Path path) {
  const path::IbPath& ib = path.ib();
  const bool has_lids = ib.dlid.is_unicast() && end_port().lid.is_unicast();
  if (why_no_sa() == nullptr || (!has_lids && !options_.skip_sl)) {
    debug_path("SA", transactor().sa_path());
    try {
      const path::Path found = co_await resolver().mad_path(path, wanted_by(options_, ib));
      co_return found;
    } catch (const mad::MadError& error) {
      if (dialect_ == Dialect::diags || !has_lids || !is_no_answer(error)) throw;
      no_sa_ = error.message();
    }
  }
  if (!ib.dlid.is_unicast()) throw UsageError(fmt::format("--skip-sl: only the subnet administrator knows the LID of {}", to_text(path)));
  if (!has_lids) throw Error(fmt::format("{} has no LID, to which answers could be sent", end_port().name()));
  tell_sl_0(*no_sa_);
  path.ib().slid = end_port().lid;
  path.ib().sl = 0;
  co_return path;
}

async::Task<path::Path> Session::gmp_path(const path::Path* target) {
  if (!options_.skip_sl) co_await prepare_sa();
  path::IbPath here;
  here.dlid = here.slid = end_port().lid;
  if (end_port().link_layer == sys::LinkLayer::ethernet) here.dgid = end_port().default_gid();
  path::Path path = here;
  if (target != nullptr) path = *target;
  path.ib().end_port = &end_port();
  path.ib().sqpn = Qpn{1};
  if (options_.pkey_index) path::set_pkey_index(path.ib(), *options_.pkey_index);
  apply_options(path);
  path = co_await lid_routed(std::move(path));
  if (path.ib().dlid == Lid{} || path.ib().slid == Lid{}) path = co_await from_sa(std::move(path));
  path = co_await resolver().mad_path(path, wanted_by(options_, path.ib()));
  if (guard_ && target != nullptr && target->directed() != nullptr) {  // by what the SA, or the node, said of its LID
    path::Path route = *target;
    route.ib().end_port = &end_port();
    apply_options(route);
    guard_->expect(path.ib().dlid, std::move(route));
  }
  debug_path("GMP", path);
  co_return path;
}

}  // namespace ib::tools
