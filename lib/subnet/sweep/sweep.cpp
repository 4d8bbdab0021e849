// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The scheduling of a sweep: queues, levels, and the number of open requests. The Transactor limits the MADs in flight. Here,
// the number of waiting requests must stay small, and silent nodes must not delay others.
#include "subnet/sweep/sweep.hpp"

#include <algorithm>

#include "subnet/model/failures.hpp"

namespace ib::subnet {
namespace {

// Limit of requests that were passed to the Transactor and have not ended, including those between two tries. Large, so that
// hundreds of dead ports are retried in parallel. Limited, because each request takes 3 KiB of memory.
constexpr std::size_t max_open_requests = 4096;
// Limit of open requests that were started a short time ago. It exceeds the number that the Transactor sends at a time. If nodes answer,
// more requests would only wait in memory.
constexpr std::size_t max_young_requests = 128;
// Limit of examined contradictions. A fabric with more is broken beyond repair, or hostile.
constexpr unsigned max_doubts = 1024;
// The greatest number of repeated requests beyond ports that did not answer while nodes moved.
constexpr unsigned max_looks_again = 3;

}  // namespace

void DiscoverStats::add(std::string_view reason, std::uint64_t count) {
  if (count == 0) return;
  for (auto& [name, total] : beyond) {
    if (name == reason) {
      total += count;
      return;
    }
  }
  beyond.emplace_back(reason, count);
}

Sweep::Sweep(async::Loop& loop, mad::Transactor& transactor, Subnet& subnet, path::Path start, DiscoverOptions options)
    : loop_(loop),
      transactor_(transactor),
      subnet_(subnet),
      start_(std::move(start)),
      options_(std::move(options)),
      patience_(*this),
      doubts_left_(max_doubts),
      looks_again_left_(max_looks_again),
      group_(loop) {}

async::Task<Discovered> Sweep::run() {
  co_await request_start();
  pump();
  co_await group_.join();
  if (!unsure_.empty()) co_await end_trials();
  co_await retry_silent_nodes();
  co_await name_failed_nodes();
  sort(failures_, subnet_);
  co_return Discovered{stats(), std::move(failures_)};
}

async::Task<> Sweep::request_start() {
  smp::NodeInfo info;
  if (options_.known && options_.known->beyond == 0) {
    info = options_.known->info;
    known_was_used_ = true;
  } else {
    const Answer answer = co_await call(start_, smp::NodeInfo::attribute_id, 0, mad::requested);
    if (!answer) answer.error().raise();
    info = smp::NodeInfo::unpack(answer->payload());
  }
  const NodeIndex node = new_node(info, none);
  const PortIndex entry = subnet_.port_of(node, info.local_port_num);
  subnet_.start = subnet_.end_port_of(entry);
  read_node(node, info.local_port_num);
}

void Sweep::queue(Work work) {
  if (unfinished_.size() <= work.level) {
    unfinished_.resize(work.level + 1U);
    waiting_.resize(work.level + 1U);
  }
  ++unfinished_[work.level];
  if (work.what == What::beyond) {
    waiting_[work.level].push_back(work.at);
  } else {
    queue_read(work);
  }
}

bool Sweep::next(Work& work) {
  if (!ready_.empty()) {
    work = ready_.front();
    ready_.pop_front();
    return true;
  }
  while (
      open_level_ + 1 < unfinished_.size() &&
      std::all_of(unfinished_.begin(), unfinished_.begin() + static_cast<std::ptrdiff_t>(open_level_) + 1, [](auto n) { return n == 0; })) {
    ++open_level_;
  }
  for (std::size_t level = 0; level < waiting_.size() && level <= open_level_; ++level) {
    if (waiting_[level].empty()) continue;
    work = {What::beyond, 0, false, static_cast<std::uint16_t>(level), waiting_[level].front()};
    waiting_[level].pop_front();
    return true;
  }
  return false;
}

void Sweep::pump() {
  const async::Time now = loop_.now();
  std::size_t young = flow_.young(now);
  Work work;
  while (group_.running() < max_open_requests && young < max_young_requests) {
    if (!next(work)) break;
    if (work.what == What::beyond && subnet_.port(work.at).peer != none) {
      --unfinished_[work.level];  // the request was already made from the other end
      continue;
    }
    group_.spawn(perform(work, flow_.began(now)));
    ++young;
  }
  const bool held_up = std::any_of(waiting_.begin(), waiting_.end(), [](const auto& ports) { return !ports.empty(); });
  paused_ = young >= max_young_requests && (held_up || !ready_.empty());
  if (paused_) {
    loop_.arm(patience_, now + Flow::young_span);
  } else if (held_up) {
    loop_.arm(patience_, now + options_.patience);
  } else {
    patience_.disarm();
  }
}

void Sweep::patience_over() {
  for (std::size_t level = open_level_ + 1; !paused_ && level < waiting_.size(); ++level) {
    if (waiting_[level].empty()) continue;
    open_level_ = level;
    break;
  }
  pump();
}

async::Task<> Sweep::perform(Work work, Flow::Span begun) {
  if (work.what == What::beyond) {
    co_await look_beyond(work.at);
  } else {
    co_await read(work);
    read_ended(work.at);
  }
  --unfinished_[work.level];
  flow_.ended(begun);
  pump();
}

DiscoverStats Sweep::stats() const {
  DiscoverStats stats = stats_;
  stats.plan = (known_was_used_ ? 0 : 1) - not_sent_;
  for (const Port& port : subnet_.ports()) {
    const bool counts_here = port.peer != none && &port <= &subnet_.port(port.peer);
    if (counts_here) ++stats.plan;
  }
  for (NodeIndex at = 0; at < subnet_.nodes().size(); ++at) stats.plan += planned_reads(at);
  if (changed_) add_changes(stats);
  return stats;
}

/// Corrects the plan, which was computed from the final model, if the fabric changed during the sweep. Requests for nodes that have gone
/// are beyond the plan. Nodes that were found by the requests about contradictions took no planned requests.
void Sweep::add_changes(DiscoverStats& stats) {
  std::uint64_t known = stats.plan;
  for (const auto& [reason, count] : stats.beyond) known += count;
  if (stats.requested >= known) return stats.add("the fabric changed meanwhile", stats.requested - known);
  stats.plan -= std::min(stats.plan, known - stats.requested);
}

/// How many attributes of a node are to be read, besides its NodeInfo.
std::uint64_t Sweep::planned_reads(NodeIndex at) const {
  const Node& node = subnet_.node(at);
  std::uint64_t reads = options_.needs.descriptions.has(node.kind()) ? 1 : 0;
  const bool is_switch = node.kind() == NodeKind::sw, whole = is_switch && !is_at_rim(at);
  if (whole) reads += (options_.needs.switch_infos ? 1U : 0U) + last_port_of(node);
  for (const Port& port : subnet_.ports_of(node)) {
    const bool is_linked = port.peer != none || (port.number == node.entry_port && node.via == none);
    const bool is_wanted =
        is_switch && port.number != 0 ? !whole && is_linked : (is_switch || is_linked) && reads_end_port(node.first_port + port.number);
    if (is_wanted) ++reads;
  }
  return reads;
}

void Sweep::notice(std::string_view line) const {
  if (options_.notice) options_.notice(line);
}

void Sweep::fail(Failure failure) { failures_.push_back(std::move(failure)); }

void Sweep::fail_beyond(Failure::Kind kind, PortIndex from, std::string why) {
  fail({kind, subnet_.port(from).node, subnet_.port(from).number, true, "NodeInfo", 0, std::move(why), {}});
}

void Sweep::fail(NodeIndex node, int port, bool beyond, std::string_view attribute, std::uint32_t modifier, const Answer& answer) {
  fail({kind_of(answer.error()), node, port, beyond, std::string(attribute), modifier, answer.error().message(), answer.shared_error()});
}

async::Task<Discovered> discover(mad::Transactor& transactor, Subnet& subnet, path::Path start, DiscoverOptions options) {
  async::Loop& loop = co_await async::current_loop;
  subnet.clear();
  Sweep sweep(loop, transactor, subnet, std::move(start), std::move(options));
  co_return co_await sweep.run();
}

}  // namespace ib::subnet
