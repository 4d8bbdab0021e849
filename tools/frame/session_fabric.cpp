// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The fabric side of a session: the transactor stack, and paths made fit for use.
#include <fmt/format.h>

#include <cstdio>

#include "base/escape.hpp"
#include "base/log.hpp"
#include "iba-gen/smp.hpp"
#include "iba/text.hpp"
#include "mad/channel.hpp"
#include "mad/describe.hpp"
#include "mad/rpc.hpp"
#include "path/indexes.hpp"
#include "sa/resolve.hpp"
#include "sa/simulator_tables.hpp"
#include "sa/transactor.hpp"
#include "snapshot/cache.hpp"
#include "snapshot/snapshot.hpp"
#include "snapshot/transactor.hpp"
#include "tools/frame/session.hpp"
#include "tools/frame/set_guard.hpp"

namespace ib::tools {
namespace {

/// For -e: prints errors of single tries, also if a later try succeeds.
class ErrorTracer final : public mad::Tracer {
 public:
  void completed(Bytes, const path::Path&, Bytes) override {}
  void retried(Bytes request, const path::Path& path) override {
    log::warning(fmt::format("no good answer to RPC {} from '{}', asking again", mad::describe(request), to_text(path)));
  }
  void unexpected(Bytes mad, const path::Path& path, bool late) override {
    log::warning(fmt::format("{} {} on '{}'", late ? "late answer" : "unexpected MAD", mad::describe(mad), to_text(path)));
  }
};

}  // namespace

Session::Session(const World& world, Dialect dialect, std::string_view program, CommonOptions options, std::vector<std::string> operands,
                 async::Loop& loop)
    : world_(world),
      dialect_(dialect),
      program_(program),
      options_(std::move(options)),
      operands_(std::move(operands)),
      loop_(loop),
      progress_(loop, world.err) {}

Session::~Session() = default;

mad::Transactor& Session::lowest_transactor() {
  if (options_.from) {
    if (!stored_) open_snapshot();
    return *stored_;
  }
  return rpc();
}

/// What answers requests, with the guard of Sets on it where these can be sent.
mad::Transactor& Session::guarded() {
  mad::Transactor& lowest = lowest_transactor();
  return guard_ ? *guard_ : lowest;
}

mad::Transactor& Session::below_sa() {
  mad::Transactor& live = guarded();
  return cache_ ? *cache_ : live;
}

mad::Transactor& Session::transactor() {
  mad::Transactor& below = below_sa();
  return transactor_ ? *transactor_ : below;
}

mad::Transactor& Session::smp_transactor() { return dialect_ == Dialect::diags ? transactor() : below_sa(); }

std::unique_ptr<mad::Channel> Session::open_channel() {
  if (dialect_ == Dialect::diags) return open_diags_channel();
  debug(1, fmt::format("Using end port {} {}", end_port().name(), to_text(end_port().default_gid())));
  return world_.open_channel(end_port(), options_.gmp);
}

mad::Rpc& Session::rpc() {
  require_fabric(program_);
  if (!rpc_) open_fabric();
  return *rpc_;
}

void Session::require_fabric(std::string_view what) const {
  if (options_.from) throw snapshot::NeedsFabric(fmt::format("{} needs a fabric: it can not be done to a snapshot", what));
}

void Session::open_fabric() {
  mad::Limits limits;
  if (options_.outstanding_smps) limits = mad::Limits::outstanding(*options_.outstanding_smps);
  auto channel = open_channel();
  const bool loses_segments = channel->loses_segments();
  auto rpc = std::make_unique<mad::Rpc>(loop_, std::move(channel), limits);
  // infiniband-diags has its own lines for the first -d. With a second -d, our lines show the packets.
  if (options_.debug > (dialect_ == Dialect::diags ? 1 : 0)) {
    tracer_ = std::make_unique<mad::LineTracer>(options_.debug, log::debug, options_.keys);
  } else if (options_.show_errors && dialect_ == Dialect::ibtool) {
    tracer_ = std::make_unique<ErrorTracer>();
  }
  rpc->set_tracer(tracer_.get());
  set_sa_path(rpc->sa_path());
  rpc_ = std::move(rpc);
  progress_.count_mads(rpc_->stats());
  if (loses_segments) {
    std::function<void(std::string_view)> tell;
    if (dialect_ == Dialect::ibtool && options_.debug >= 1) tell = log::debug;
    whole_tables_ = std::make_unique<sa::SimulatorTables>(*rpc_, std::move(tell));
  }
  mad::Transactor& live = whole_tables_ ? *whole_tables_ : *rpc_;
  guard_ = std::make_unique<SetGuard>(live, why_no_sets_, options_.dry_run);
  stack_transactor();
}

void Session::open_snapshot() {
  if (options_.keys == Keys::shown && !snapshot().has_keys())
    log::warning(fmt::format("{} was taken without -K: keys that are set are shown as zero", quoted(*options_.from)));
  stored_ = std::make_unique<snapshot::SnapshotTransactor>(snapshot(), end_port(), options_.keys);
  set_sa_path(stored_->sa_path());
  stack_transactor();
}

snapshot::Snapshot& Session::snapshot() {
  if (!snapshot_) snapshot_ = std::make_unique<snapshot::Snapshot>(options_.from.value());
  return *snapshot_;
}

/// Puts what the options say of queries to the SA into the path to it.
void Session::set_sa_path(path::Path& path) {
  apply_options(path);
  path::IbPath& sa = path.ib();
  sa.sm_key = options_.sm_key;
  if (options_.sm_lid) sa.dlid = *options_.sm_lid;
  if (dialect_ == Dialect::diags) {
    set_diags_pkey(sa);
  } else if (options_.pkey_index) {
    path::set_pkey_index(sa, *options_.pkey_index);
  }
}

void Session::stack_transactor() {
  if (dialect_ == Dialect::diags) {
    stack_diags_transactor(below_sa());
  } else if (options_.use_sa) {
    stack_sa_transactor();
  }
}

void Session::stack_sa_transactor() { transactor_ = std::make_unique<sa::SaTransactor>(below_sa()); }

void Session::read_from_sa() {
  const bool is_open = rpc_ || stored_;
  if (is_open && !options_.use_sa) stack_sa_transactor();  // a name was looked up before
  options_.use_sa = true;
}

/// No Set leaves this session: a TARGET does not say for sure what is meant.
void Session::refuse_sets(std::string why) { why_no_sets_ = std::move(why); }

void Session::require_exact_targets() const {
  if (!why_no_sets_.empty()) throw UsageError(why_no_sets_);
}

PlannedSets Session::planned_sets() const {
  PlannedSets planned;
  if (guard_) planned.sets = guard_->planned();
  planned.keys = options_.keys;
  return planned;
}

void Session::make_cache(const std::string& file) {
  const auto lost = [](const Error& error) { log::warning(fmt::format("{}; what is read is not kept", error.message())); };
  cache_ = std::make_unique<snapshot::Cache>(below_sa(), file, options_.keys, lost);
}

void Session::begin_cache(const std::string& cache, const subnet::Subnet& subnet, bool fdr10) {
  make_cache(cache);
  cache_->begin(subnet, fdr10);
}

void Session::use_cache(std::unique_ptr<snapshot::Snapshot> cache) {
  make_cache(cache->file());
  cache_->use(std::move(cache));
}

bool Session::uses_cache() const { return cache_ && cache_->is_used(); }

void Session::save_cache() {
  if (cache_ && cache_->save() && options_.error_level() >= 1)
    log::debug(fmt::format("Saving discovery cache to {}", quoted(cache_->file())));
}

async::Task<> Session::prepare_sa() {
  if (!sa_target_) co_return;
  path::Path path = *sa_target_;
  sa_target_.reset();
  path::IbPath& ib = path.ib();
  ib.end_port = &end_port();
  ib.dqpn = ib.sqpn = Qpn{1};
  ib.qkey = path::qp1_qkey;
  ib.sm_key = options_.sm_key;
  if (options_.pkey_index) path::set_pkey_index(ib, *options_.pkey_index);
  apply_options(path);
  const bool complete = ib.dlid != Lid{} && ib.slid != Lid{};
  // The SA of this port resolves the path to the other SA, with its SL.
  if (!complete) path = co_await sa::resolve_path(transactor(), path);
  debug_path("SA", path);
  transactor().sa_path() = path;
}

void Session::apply_options(path::Path& path) const {
  path::IbPath& ib = path.ib();
  if (options_.m_key != 0) ib.m_key = options_.m_key;
  if (options_.retries) ib.retries = *options_.retries;
  if (options_.timeout) ib.timeout = *options_.timeout;
}

path::Path Session::here() {
  path::Path path = path::IbDrPath(&end_port());
  apply_options(path);
  return path;
}

sa::PathResolver& Session::resolver() {
  if (!resolver_) resolver_ = std::make_unique<sa::PathResolver>(transactor());
  return *resolver_;
}

async::Task<path::Path> Session::smp_path(const path::Path* target) {
  path::Path path = path::IbDrPath();
  if (target != nullptr) path = *target;
  path::IbPath& ib = path.ib();
  ib.end_port = &end_port();
  if (!ib.dqpn) ib.dqpn = Qpn{0};
  if (!ib.qkey) ib.qkey = 0;
  ib.sqpn = Qpn{0};
  apply_options(path);
  co_await prepare_sa();
  if (path.directed() == nullptr && ib.dlid == Lid{}) {
    debug_path("SA", transactor().sa_path());
    path = co_await resolver().resolve(path);
    // IBA 8.3.6: 0 and 1 do not leave the subnet. On RoCE it says nothing, and no SMP can be sent at all.
    if (ib.hop_limit > 1 && end_port().link_layer != sys::LinkLayer::ethernet) {
      throw Error(fmt::format("{} is behind a router, where SMPs do not go", to_text(ib.dgid.value_or(Gid{}))));
    }
    ib.has_grh = false;
  }
  // SMPs travel on VL15, so no SL is needed. Only the source LID is missing.
  if (path.directed() == nullptr && ib.slid == Lid{}) ib.slid = end_port().lid;
  debug_path("SMP", path);
  co_return path;
}

async::Task<Destination> Session::smp_node(const Target& target) {
  if (dialect_ == Dialect::diags) return diags_node(target);
  return named(smp_path(target.path ? &*target.path : nullptr));
}

async::Task<Destination> Session::gmp_node(const Target& target) {
  if (dialect_ == Dialect::diags) return diags_gmp_node(target);
  return named(gmp_path(target.path ? &*target.path : nullptr));
}

async::Task<Destination> Session::named(async::Task<path::Path> found) const {
  const path::Path path = co_await std::move(found);
  co_return Destination{path, name_of(path)};
}

Destination Session::beyond(const Destination& node, std::uint8_t port) const {
  path::IbDrPath path;
  if (const path::IbDrPath* directed = node.path.directed()) {
    path = *directed;
  } else {
    static_cast<path::IbPath&>(path) = node.path.ib();
    path.dr_slid = end_port_->lid;
  }
  const auto longer = path.advance(port);
  if (!longer) refuse(Error(fmt::format("{} is as far as a directed route goes", node.name)), {"main", "Too many hops"});
  return {*longer, name_of(*longer)};
}

std::string Session::name_of(const path::Path& path) const { return dialect_ == Dialect::diags ? diags_name(path) : to_text(path); }

void Session::give_up(const std::shared_ptr<const mad::MadError>& error, const DiagsWords& words) const {
  if (dialect_ == Dialect::ibtool) error->raise();
  tell_failure(*error);
  throw DiagsFailure(words);
}

void Session::debug_path(std::string_view name, const path::Path& path) const {
  if (dialect_ == Dialect::diags) return;  // infiniband-diags prints nothing of paths
  debug(1, fmt::format("{} {}\n{:{}}{}", name, to_text(path), "", name.size() + 4, to_spec(path, options_.keys)));
}

void Session::count_plan(const subnet::DiscoverStats& stats) {
  if (stored_) return;  // nothing is sent
  plan_.plan += stats.plan;
  plan_.asked += stats.asked;
  for (const auto& [reason, count] : stats.beyond) plan_.add(reason, count);
}

void Session::print_stats() const {
  if (!options_.stats || (!rpc_ && !stored_)) return;
  static const mad::Stats nothing_sent;
  const mad::Stats* stats = rpc_ ? rpc_->stats() : &nothing_sent;
  const auto line = [this](std::string_view text) { std::fwrite(text.data(), 1, text.size(), world_.err); };
  std::uint64_t asked = 0;
  for (const auto& [reason, count] : stats->first_tries) asked += reason == mad::asked ? count : 0;
  line(fmt::format("mads planned: {}\nmads sent: {}\n", plan_.plan + asked - plan_.asked, stats->sent()));
  for (const auto& [reason, count] : plan_.beyond) line(fmt::format("mads beyond plan: {} {}\n", reason, count));
  for (const auto& [reason, count] : stats->first_tries) {
    if (reason != mad::asked) line(fmt::format("mads beyond plan: {} {}\n", reason, count));
  }
  for (const auto& [what, count] : {std::pair{"no answer", stats->retries_lost},
                                    {"busy", stats->retries_busy},
                                    {"further segments of requests", stats->request_segments},
                                    {"acknowledgements of segments", stats->acks}}) {
    if (count != 0) line(fmt::format("mads beyond plan: {} {}\n", what, count));
  }
  for (const auto& [what, count] : {std::pair{"late", stats->late}, {"unexpected", stats->unexpected}, {"contradictory", stats->invalid}}) {
    if (count != 0) line(fmt::format("mads received: {} {}\n", what, count));
  }
}

}  // namespace ib::tools
