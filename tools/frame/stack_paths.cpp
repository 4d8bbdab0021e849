// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Completes paths as the options and the dialect say: sa/resolve.hpp has how.
#include <fmt/format.h>

#include <utility>

#include "iba/text.hpp"
#include "sa/resolve.hpp"
#include "subnet/model/port_paths.hpp"
#include "subnet/set/set_guard.hpp"
#include "tools/frame/common_options.hpp"
#include "tools/frame/diags_words.hpp"
#include "tools/frame/host.hpp"
#include "tools/frame/stack.hpp"

namespace ib::tools {

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

path::Path Stack::smp_path_to(Lid lid) {
  path::IbPath smp;
  smp.end_port = &host_.end_port();
  smp.slid = host_.end_port().lid;
  smp.dlid = lid;
  smp.use_qp(Qpn{0});
  path::Path path = smp;
  apply_options(path);
  return path;
}

async::Task<> Stack::prepare_sa() {
  if (!sa_target_ || std::exchange(is_sa_prepared_, true)) co_return;
  path::Path path = *sa_target_;
  path::IbPath& ib = path.ib();
  ib.end_port = &host_.end_port();
  ib.use_qp(Qpn{1});
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

sa::PathResolver& Stack::resolver() {
  if (!resolver_) resolver_ = std::make_unique<sa::PathResolver>(transactor());
  return *resolver_;
}

/// What looks for a port that the SA does not know: not with --sa, in another subnet, or on RoCE, which has no subnet. May be null.
Stack::PortFinder Stack::finder_for(const path::IbPath& path) {
  const sys::EndPort& port = host_.end_port();
  const bool is_ours = path.dgid && (path.dgid->prefix() == link_local_prefix || path.dgid->prefix() == port.default_gid().prefix());
  const bool may_find = is_ours && !as_libibmad() && !host_.options().use_sa && port.link_layer != sys::LinkLayer::ethernet;
  return may_find ? finder_ : nullptr;
}

void Stack::prepare_smp_path(path::Path& path) const {
  path::IbPath& ib = path.ib();
  ib.end_port = &host_.end_port();
  if (!ib.dqpn) ib.dqpn = Qpn{0};
  if (!ib.qkey) ib.qkey = 0;
  ib.sqpn = Qpn{0};
  apply_options(path);
}

/// The path of SMPs to a GID: the SA's. If the SA does not know the port, or none answers, the port is looked for in the fabric.
async::Task<path::Path> Stack::smps_to_gid(path::Path path) {
  PortFinder find = finder_for(path.ib());
  std::string why = find ? why_no_gmps() : "";
  open();
  if (!find) require_lids();
  if (why.empty() && transactor().knows_sa()) debug_path("SA", transactor().sa_path());
  path = co_await resolver().path_to_gid(std::move(path), std::move(why), std::move(find));
  prepare_smp_path(path);
  path::IbPath& ib = path.ib();
  // IBA 8.3.6: packets with hop limit 0 or 1 do not leave the subnet. On RoCE it has no meaning here, and no SMP can be sent.
  if (ib.hop_limit > 1 && host_.end_port().link_layer != sys::LinkLayer::ethernet)
    throw Error(fmt::format("{} is behind a router, where SMPs do not go", to_text(ib.dgid.value_or(Gid{}))));
  ib.has_grh = false;
  co_return path;
}

async::Task<path::Path> Stack::smp_path(const path::Path* target) {
  path::Path path = path::IbDrPath();
  if (target != nullptr) path = *target;
  prepare_smp_path(path);
  co_await prepare_sa();
  if (path.directed() == nullptr && path.ib().dlid == Lid{}) path = co_await smps_to_gid(std::move(path));
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
  sa::PathWanted wanted;
  if (options.pkey_index) wanted.properties.p_key(path.ib().pkey.value);
  const bool is_complete = path.directed() == nullptr && path.ib().dlid != Lid{} && path.ib().slid != Lid{};
  if (!is_complete && !options.skip_sl && transactor().knows_sa()) debug_path("SA", transactor().sa_path());
  if (as_libibmad()) {
    path = co_await resolver().mad_path(path, wanted);
  } else {
    PortFinder find = finder_for(path.ib());
    path = co_await resolver().gmp_path(path, wanted, options.skip_sl, std::move(find));
    report_sl_0(resolver().why_no_sa().value_or(""));
  }
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
    host_.debug(fmt::format("{} {}\n{:{}}{}", name, to_text(path), "", name.size() + 4, to_spec(path, host_.options().keys)));
}

}  // namespace ib::tools
