// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "tools/frame/stack.hpp"

#include <fmt/format.h>

#include <chrono>
#include <tuple>

#include "async/group.hpp"
#include "base/escape.hpp"
#include "iba/text.hpp"
#include "mad/rpc/rpc.hpp"
#include "mad/rpc_names.hpp"
#include "sa/resolve.hpp"
#include "sa/transactor.hpp"
#include "snapshot/cache.hpp"
#include "snapshot/stored_fabric.hpp"
#include "snapshot/transactor.hpp"
#include "subnet/diff/counterparts.hpp"
#include "subnet/set/set_guard.hpp"
#include "sys/umad_port.hpp"
#include "tools/frame/common_options.hpp"
#include "tools/frame/diags_words.hpp"
#include "tools/frame/host.hpp"
#include "tools/frame/manners.hpp"
#include "tools/frame/options.hpp"
#include "tools/frame/progress.hpp"
#include "tools/frame/terminal.hpp"
#include "tools/frame/world.hpp"

namespace ib::tools {
namespace {

mad::Task<mad::Result<mad::Reply>> refused(const mad::Request& request, std::string why) {
  const std::vector<std::uint8_t> sent = mad::to_mad(request);
  std::string cause = why;
  co_return std::make_shared<mad::NotRead>(std::move(why), std::move(cause), sent, request.path);
}

}  // namespace

bool stays_here(const path::Path& path) {
  const path::IbDrPath* const directed = path.directed();
  return directed != nullptr && directed->hops == 0 && directed->begins_here();
}

/// The layer above the Rpc that knows the state of the end port. What cannot leave this host in that state is not sent: the error names the
/// port and its state, where a timeout would make the fabric look empty or silent. Directed routes of no hop always pass. It also remembers
/// an SA that does not answer.
class PortGate final : public mad::Layer {
 public:
  PortGate(mad::Transactor& below, Stack& stack) : Layer(below), stack_(stack) {}

  /// Throws PortDown. A GMP that cannot leave the port in Initialize or Armed is mad::NotRead. If an SA has let a request wait for its
  /// whole timeout, further requests that read from it get one short try, for a minute or until it answers. Commands have other ways: a
  /// sweep, and SL 0. Where no terminal shows the progress, a line says once that the SA is waited for.
  mad::Task<mad::Result<mad::Reply>> try_call(const mad::Request& request) override;

 private:
  /// An SA that does not answer.
  struct SilentSa {
    Lid lid;
    async::Time until;   ///< when it gets the whole timeout again
    std::string before;  ///< of MadTimeout
  };
  async::Task<> report_wait(const mad::Request& request);
  mad::Task<mad::Result<mad::Reply>> query_sa(const mad::Request& request);

  Stack& stack_;
  std::optional<SilentSa> silent_sa_;
  bool has_reported_wait_{};
};

/// Writes the line when `request`, which must outlive the task, has waited for long.
async::Task<> PortGate::report_wait(const mad::Request& request) {
  constexpr std::chrono::seconds patience{5};
  co_await async::sleep_for(patience);
  if (std::exchange(has_reported_wait_, true)) co_return;
  stack_.warn(fmt::format("Waiting for the subnet administrator at {} ({} was requested {} s ago)", mad::target_text(request.path),
                          mad::attribute_text(mad::to_mad(request)), patience.count()));
}

mad::Task<mad::Result<mad::Reply>> PortGate::try_call(const mad::Request& request) {
  if (mad::is_smp(request.mgmt_class)) {
    if (!stays_here(request.path)) stack_.require_link();
    return below_.try_call(request);
  }
  const bool is_for_sa = request.mgmt_class == mad::mgmt_class::sa;
  const std::string why = stack_.why_no_gmps();
  if (!why.empty()) return refused(request, why);
  if (!is_for_sa) return below_.try_call(request);
  stack_.require_sa();
  return query_sa(request);
}

mad::Task<mad::Result<mad::Reply>> PortGate::query_sa(const mad::Request& request) {
  constexpr std::chrono::milliseconds short_try{500};
  constexpr std::chrono::minutes memory{1};
  const Lid lid = request.path.ib().dlid;
  const bool reads = !mad::changes_something(request.method);
  const bool is_silent = silent_sa_ && silent_sa_->lid == lid && stack_.loop().now() < silent_sa_->until;
  path::Path path = request.path;
  if (is_silent && reads) {
    path.ib().retries = 0;
    if (!path.ib().timeout) path.ib().timeout = short_try;
  }
  const mad::Request sent = mad::on_path(request, path);
  async::TaskGroup waiting(stack_.loop());
  if (!has_reported_wait_ && !is_terminal(stack_.host().world().err)) waiting.spawn(report_wait(sent));
  mad::Result<mad::Reply> reply = co_await below_.try_call(sent);
  const auto* const silence = reply ? nullptr : dynamic_cast<const mad::MadTimeout*>(&reply.error());
  if (silence == nullptr) {
    silent_sa_.reset();
  } else if (!is_silent) {
    silent_sa_ =
        SilentSa{lid, stack_.loop().now() + memory,
                 fmt::format("{}: {}", mad::attribute_text(silence->request()), mad::effort_text(silence->tries(), silence->waited()))};
  } else if (silent_sa_ && reads) {
    const auto again =
        std::make_shared<mad::MadTimeout>(silence->request(), silence->path(), silence->tries(), silence->waited(), silent_sa_->before);
    again->set_reported(silence->reported());
    reply = std::shared_ptr<const mad::MadError>(again);
  }
  co_return reply;
}

Stack::Stack(Host& host, async::Loop& loop, Manners* manners)
    : host_(host),
      loop_(loop),
      manners_(manners),
      progress_(std::make_unique<ProgressLine>(loop, host.world(), manners != nullptr)),
      sets_(std::make_unique<subnet::SetPolicy>()) {
  sets_->rehearses = host.options().dry_run;
  sets_->names_by_sa = host.options().use_sa;
}

Stack::~Stack() { close(); }

void Stack::close() {
  resolver_.reset();
  is_sa_prepared_ = false;
  top_.reset();
  cache_.reset();
  guard_.reset();
  gate_.reset();
  progress_->count_mads(nullptr);
  rpc_.reset();
  tracer_.reset();
  stored_.reset();
}

mad::Transactor& Stack::lowest_transactor() {
  if (host_.options().from) {
    if (!stored_) open_stored();
    return *stored_;
  }
  if (!rpc_) open_fabric();
  if (gate_) return *gate_;
  return *rpc_;
}

mad::Transactor& Stack::smp_transactor() {
  mad::Transactor& lowest = lowest_transactor();
  if (cache_) return *cache_;
  return guard_ ? *guard_ : lowest;
}

mad::Transactor& Stack::transactor() {
  mad::Transactor& below = smp_transactor();
  return top_ ? *top_ : below;
}

mad::Rpc& Stack::rpc() {
  require_fabric(host_.options().program);
  if (!rpc_) open_fabric();
  return *rpc_;
}

const mad::Stats* Stack::stats() const { return rpc_ ? rpc_->stats() : nullptr; }

void Stack::require_fabric(std::string_view what) const {
  if (host_.options().from) throw snapshot::NeedsFabric(fmt::format("{} needs a fabric: it cannot be done to a snapshot", what));
}

void Stack::open_fabric() {
  const CommonOptions& options = host_.options();
  mad::RpcLimits limits;
  if (options.outstanding_smps) limits = mad::RpcLimits::outstanding(*options.outstanding_smps);
  std::unique_ptr<mad::Channel> channel = std::move(channel_);
  if (!channel) channel = manners_ != nullptr ? manners_->open_channel() : host_.world().open_channel(host_.end_port(), options.gmp);
  if (manners_ != nullptr) tracer_ = manners_->tracer();
  auto rpc = std::make_unique<mad::Rpc>(loop_, std::move(channel), limits);
  rpc->set_tracer(tracer_.get());
  set_sa_path(rpc->sa_path());
  rpc_ = std::move(rpc);
  progress_->count_mads(rpc_->stats());
  if (!as_libibmad()) gate_ = std::make_unique<PortGate>(*rpc_, *this);
  guard_ = std::make_unique<subnet::SetGuard>(lowest_transactor(), *sets_);
  stack_on_top();
}

bool Stack::as_libibmad() const { return manners_ != nullptr && manners_->as_libibmad(); }

bool Stack::looks_at_port() const { return !host_.options().from && !as_libibmad(); }

/// What passes the half of the end port that carries SMPs (`smp` true) or GMPs.
sys::Passage Stack::passage(bool smp) {
  if (!looks_at_port()) return sys::Passage::everything;
  return sys::passage_of(host_.end_port().carrier(smp));
}

/// Whether the end port is no InfiniBand port, which knows no SA by itself, and no --sa-path names one.
bool Stack::lacks_sa() const { return looks_at_port() && !sys::other_kind(host_.end_port()).empty() && !host_.options().sa_path; }

void Stack::require_infiniband() {
  if (lacks_sa()) std::ignore = sys::umad_half(host_.end_port(), true);
}

void Stack::require_link() {
  require_infiniband();
  const sys::Passage passes = passage(true);
  if (passes == sys::Passage::everything) return;
  if (passes == sys::Passage::nothing) throw PortDown(down_text());
  const std::string line =
      fmt::format("{}: nothing but SMPs passes until a subnet manager makes it Active", sys::state_clause(host_.end_port().carrier(true)));
  if (std::exchange(reported_state_, line) != line) warn(line);
}

std::string Stack::why_no_gmps() {
  const sys::Passage passes = passage(false);
  if (passes == sys::Passage::everything) return {};
  const sys::EndPort& port = host_.end_port().carrier(false);
  if (passes == sys::Passage::nothing) throw PortDown(down_text());
  return fmt::format("{}: GMPs, and queries to the SA, need a port that a subnet manager has made Active", sys::state_clause(port));
}

void Stack::require_lids() {
  const std::string why = why_no_gmps();
  if (!why.empty()) throw Error(why);
}

void Stack::require_sa() {
  const sys::EndPort& port = host_.end_port();
  if (lacks_sa()) throw Error(fmt::format("{} is {}: it has no subnet administrator", port.name(), sys::other_kind(port)));
  require_lids();
}

bool Stack::is_port_down() { return passage(true) == sys::Passage::nothing || passage(false) == sys::Passage::nothing; }

const sys::EndPort& Stack::down_port() { return host_.end_port().carrier(passage(true) == sys::Passage::nothing); }

/// The link that the first of the known fabrics has which knows the end port. A file that cannot be read is passed over.
std::optional<Stack::FormerLink> Stack::former_link() {
  const sys::EndPort& port = down_port();
  for (const KnownFabric& known : known_fabrics_) {
    try {
      const std::optional<std::string> file = known.file(host_.world(), port);
      if (!file) continue;
      const subnet::Subnet subnet = snapshot::open_fabric(*file)->take_fabric(nullptr).subnet;
      const subnet::NodeIndex node = subnet::only_node(subnet, port.device->node_guid);
      const subnet::PortIndex at = node == subnet::none ? subnet::none : subnet.port_of(node, port.number);
      if (at == subnet::none || subnet.port(at).peer == subnet::none) continue;
      const subnet::Port& peer = subnet.port(subnet.port(at).peer);
      const subnet::Node& other = subnet.node(peer.node);
      const std::string name = other.has_description ? in_quotes(other.description()) + " " : std::string();
      return FormerLink{*file, fmt::format("port {} of {}{}", peer.number, name, to_text(other.guid()))};
    } catch (const Error&) {
      continue;
    }
  }
  return std::nullopt;
}

std::string Stack::down_text() {
  const std::string text = fmt::format("{}: nothing beyond this host can be reached", sys::state_clause(down_port()));
  const std::optional<FormerLink> link = former_link();
  return link ? fmt::format("{}; it was linked to {} (in {})", text, link->other_end, in_quotes(link->file)) : text;
}

std::optional<std::string> Stack::former_fabric() {
  std::optional<FormerLink> link = former_link();
  return link ? std::optional(std::move(link->file)) : std::nullopt;
}

void Stack::know_fabrics(std::vector<KnownFabric> known) { known_fabrics_ = std::move(known); }

void Stack::open_stored() {
  snapshot::StoredFabric& stored = host_.stored();
  const CommonOptions& options = host_.options();
  if (options.keys == Keys::shown && !stored.has_keys())
    warn(fmt::format("{} was taken without -K: keys that are set are shown as zero", in_quotes(*options.from)));
  stored_ = std::make_unique<snapshot::SnapshotTransactor>(stored, host_.end_port(), options.keys);
  set_sa_path(stored_->sa_path());
  stack_on_top();
}

/// Sets the values of the options for queries to the SA in the path to it.
void Stack::set_sa_path(path::Path& path) {
  const CommonOptions& options = host_.options();
  apply_options(path);
  path::IbPath& sa = path.ib();
  sa.sm_key = options.sm_key;
  if (options.sm_lid) sa.dlid = *options.sm_lid;
  set_pkey(sa);
}

void Stack::stack_on_top() {
  if (host_.options().use_sa) top_ = std::make_unique<sa::SaTransactor>(smp_transactor());
}

void Stack::read_from_sa() {
  const bool is_on_top = host_.options().use_sa;
  host_.use_sa();
  sets_->names_by_sa = true;
  if (is_open() && !is_on_top) stack_on_top();  // a name was looked up before
}

void Stack::count_plan(const subnet::DiscoverStats& stats) {
  if (stored_) return;  // nothing is sent
  plan_.plan += stats.plan;
  plan_.requested += stats.requested;
  for (const auto& [reason, count] : stats.beyond) plan_.add(reason, count);
}

void Stack::require_exact_targets() const {
  if (!sets_->refusal.empty()) throw UsageError(sets_->refusal);
}

snapshot::Cache& Stack::open_cache(const std::string& file) {
  const auto lost = [this](const Error& error) { warn(fmt::format("{}; what is read is not kept", error.message())); };
  cache_ = std::make_unique<snapshot::Cache>(smp_transactor(), file, host_.options().keys, lost, loop().clock());
  return *cache_;
}

bool Stack::uses_cache() const { return cache_ && cache_->is_used(); }

void Stack::save_cache() {
  if (cache_ && cache_->save()) host_.detail(fmt::format("Saving discovery cache to {}", in_quotes(cache_->file())));
}

void Stack::warn(std::string_view line) const {
  if (manners_ != nullptr) host_.log().warning(line);
}

}  // namespace ib::tools
