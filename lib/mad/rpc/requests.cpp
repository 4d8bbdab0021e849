// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The sending side of the RPC engine: the order of sends, the room that a send occupies, and the handling of a lost try.
#include <algorithm>
#include <cerrno>
#include <cstring>

#include <fmt/format.h>

#include "mad/describe.hpp"
#include "mad/rpc/call.hpp"
#include "mad/rpc/retry_delay.hpp"

namespace ib::mad {

namespace {

using namespace std::chrono_literals;

/// A process that empties buffers of this host is not expected to be stopped for longer.
constexpr Duration longest_stop = 20ms;

/// The kernel's report ends a try if the kernel reports timeouts. Our own timer is later by this time, and only guards against
/// a missing report.
Duration report_grace(Duration timeout) { return 500ms + timeout / 4; }

std::string unsendable_text(Bytes mad, const path::Path& path, int code) {
  return fmt::format("RPC {} could not be sent to '{}' - {}", describe(mad), path::to_text(path), std::strerror(code));
}

/// Whether the error belongs to this host and not to one address, so that no later send can succeed.
bool is_fatal(int code) {
  return code == EIO || code == ENODEV || code == ENXIO || code == EBADF || code == EACCES || code == EPERM || code == EPROTONOSUPPORT;
}

}  // namespace

void Rpc::pump(bool smp) {
  if (broken_) return;
  Lane& lane = this->lane(smp);
  while (lane.window.open()) {
    Call* call = lane.queue.pop_front();
    if (call == nullptr) return;
    if (may_send(*call)) send(*call);
  }
}

/// Whether a try of `call` may be sent now. If the node has too many requests or is suspected, returns false; the call then
/// waits for the node.
bool Rpc::may_send(Call& call) {
  if (call.responder != nullptr && !call.responder->may_try(call)) return false;
  if (!call.smp) return true;
  Node& node = nodes_[call.node_key];
  if (node.in_flight < limits_.smps_per_node) return true;
  node.waiting.push_back(call);
  return false;
}

/// `call` has left the queue unsent. A call that waits for the same node may take its turn.
void Rpc::left_queue(const Call& call) {
  const auto place = nodes_.find(call.node_key);
  if (!call.smp || place == nodes_.end()) return;
  Node& node = place->second;
  if (node.in_flight >= limits_.smps_per_node) return;
  if (Call* next = node.waiting.pop_front()) {
    smps_.queue.push_front(*next);
    loop_.post(pump_);
  } else if (node.in_flight == 0) {
    nodes_.erase(place);
  }
}

std::uint64_t Rpc::next_tid() {
  const std::uint64_t mask = channel_->tid_mask();
  do {
    ++tid_;
  } while ((tid_ & 0xffffffffU) == 0 || open_.find(static_cast<std::uint32_t>(tid_)) != nullptr);
  return tid_ & mask;
}

Rpc::Sent& Rpc::new_sent(Call& call, std::uint64_t tid) {
  if (free_sents_.empty()) free_sents_.push_back(sents_.emplace_back(std::make_unique<Sent>(*this)).get());
  Sent& sent = *free_sents_.back();
  free_sents_.pop_back();
  sent.call = &call;
  sent.tid = tid;
  sent.mgmt_class = call.mad[1];
  sent.smp = call.smp;
  sent.lost = false;
  sent.in_window = true;
  lane(sent.smp).window.enter();
  sent.node = nullptr;
  if (sent.smp) {
    sent.node = &*nodes_.find(call.node_key);
    ++sent.node->second.in_flight;
  }
  open_.insert(static_cast<std::uint32_t>(tid), sent);
  call.sents.push_back(sent);
  call.current = &sent;
  return sent;
}

void Rpc::send(Call& call) {
  const std::uint64_t tid = next_tid();
  store_be(&call.mad[8], tid);
  Sent& sent = new_sent(call, tid);
  if (call.tries > 0 && tracer_ != nullptr) tracer_->retried(call.mad, call.path);
  try {
    if (goes_in_segments(call)) {
      begin_segmented_request(sent);
    } else {
      channel_->send(call.mad, call.path, call.timeout);
    }
  } catch (const SysError& error) {
    erase(sent);
    if (is_fatal(error.code())) {
      call.exception = std::current_exception();
      call.finish();
    } else {
      send_refused(call, error.code());
    }
    return;
  } catch (...) {
    erase(sent);
    call.exception = std::current_exception();
    call.finish();
    return;
  }
  if (call.tries == 0) {
    stats_.count_first_try(call.reason);
  } else {
    ++(call.busy ? stats_.retries_busy : stats_.retries_lost);
  }
  sent.sent_at = loop_.now();
  sent.number = call.last_try = ++tries_;
  if (call.tries == 0) {
    call.first_try = sent.number;
    call.first_sent_at = sent.sent_at;
  }
  ++call.tries;
  --call.tries_left;
  // Segments take longer, whether we or the kernel send them.
  const Duration timeout = RmppView::is_active(call.mad) ? rmpp_longest_time : call.timeout;
  const Duration patience = this->patience(call);
  sent.deadline = sent.sent_at + timeout + (channel_->reports_timeouts() ? report_grace(call.timeout) : 0ns);
  if (patience < call.timeout) sent.deadline = sent.sent_at + patience;
  loop_.arm(sent, sent.segmented_request ? sent.sent_at + call.timeout : std::min(sent.sent_at + stale_after(sent), sent.deadline));
}

void Rpc::send_unanswered(Bytes mad, const path::Path& path) {
  if (broken_) std::rethrow_exception(broken_);
  if (RmppView::is_active(mad) && RmppView(mad).type() == rmpp::Type::none && !channel_->does_rmpp(mad[1])) {
    outbox_.send(mad, path);
  } else {
    channel_->send(mad, path, Duration::zero());
  }
  if (tracer_ != nullptr) tracer_->replied(mad, path);
}

/// Some drivers refuse an SMP to the local node with EINVAL instead of answering it with a status. This function makes the
/// answer.
void Rpc::send_refused(Call& call, int code) {
  if (code == EINVAL && call.smp) {
    std::vector<std::uint8_t> answer = call.mad;
    answer[3] = response_method(answer[3]);
    store_be(&answer[4], static_cast<std::uint16_t>(status::invalid_attribute_or_modifier | (call.path.directed() ? 0x8000U : 0U)));
    call.failure = status_error(call.mad, answer, call.path);
  } else {
    call.failure = std::make_shared<MadError>(unsendable_text(call.mad, call.path, code), call.mad, Bytes{}, call.path);
  }
  call.finish();
}

/// The time after which a request leaves the window. A request without an answer for many round trips is no longer in the
/// buffers that the window protects: it was lost, or its node is slow. Otherwise a few dead ports would delay a whole sweep.
Duration Rpc::stale_after(const Sent& sent) {
  const Duration rtt = this->rtt(sent.mgmt_class);
  return rtt == 0ns ? Duration(100ms) : std::max<Duration>(8 * rtt, 5ms);
}

/// Whether a request that is stale may still be in the buffers. A channel with a max_in_flight() has buffers of its own to protect, and
/// the process that empties them may be stopped for a while. It empties them in order: an answer to a later request shows that it runs.
bool Rpc::may_be_in_buffers(const Sent& sent) {
  return channel_->max_in_flight() != ~0U && loop_.now() < sent.sent_at + longest_stop && lane(sent.smp).newest_answered <= sent.sent_at;
}

/// The time after which the try that `call` has just sent counts as lost. MADs are unreliable datagrams. Most MADs without an answer for
/// many round trips are lost, and a sweep that waits the whole timeout for each of them waits so at each level. The first two tries of a
/// read are therefore repeated early. This does no harm to a slow node: its answer to an earlier try counts, and later tries have the whole
/// timeout. A timeout that the user gave applies to every try. The SA has many clients: its requests are repeated less early, and only
/// after its first answer. Requests of unknown classes with RMPP are not repeated early.
Duration Rpc::patience(const Call& call) {
  constexpr unsigned early_tries = 2;
  const HeaderView header(call.mad);
  const bool is_sa = header.mgmt_class() == mgmt_class::sa;
  const Duration rtt = this->rtt(header.mgmt_class());
  const bool is_early = header.method() == method::get && !call.path.ib().timeout && call.tries <= early_tries && call.tries_left > 0;
  if (!is_early || (is_sa ? rtt == 0ns : has_rmpp(header.mgmt_class()))) return call.timeout;
  const Duration least = is_sa ? 250ms : 50ms;
  const Duration of_node = call.responder != nullptr ? 4 * call.responder->rtt() : 0ns;  // most nodes are alike, this one may be slow
  const Duration first = std::max(rtt == 0ns ? 2 * least : std::max<Duration>(16 * rtt, least), of_node);
  return std::min(call.timeout, call.tries == 1 ? first : 4 * first);
}

void Rpc::sent_expired(Sent& sent) {
  const bool smp = sent.smp;
  if (sent.segmented_answer) {
    segmented_answer_expired(sent);
  } else if (sent.segmented_request && sent.segmented_request->sender.state() == RmppState::active) {
    segmented_request_expired(sent);
  } else if (sent.in_window && loop_.now() < sent.deadline) {
    const bool stays = may_be_in_buffers(sent);
    if (!stays) leave_window(sent);
    loop_.arm(sent, stays ? std::min<async::Time>(sent.sent_at + longest_stop, sent.deadline) : sent.deadline);
  } else {
    if (sent.call != nullptr) sent.call->reported = false;
    try_lost(sent, ETIMEDOUT);
  }
  pump(smp);
}

void Rpc::leave_window(Sent& sent) {
  if (!sent.in_window) return;
  sent.in_window = false;
  lane(sent.smp).window.leave();
}

/// Lets the next call that waits for the node enter the queue again.
void Rpc::leave_node(Sent& sent) {
  if (sent.node == nullptr) return;
  auto& [key, node] = *std::exchange(sent.node, nullptr);
  --node.in_flight;
  if (Call* next = node.waiting.pop_front()) {
    smps_.queue.push_front(*next);
  } else if (node.in_flight == 0) {
    nodes_.erase(key);
  }
}

void Rpc::erase(Sent& sent) {
  leave_window(sent);
  leave_node(sent);
  if (sent.call != nullptr && sent.call->current == &sent) sent.call->current = nullptr;
  sent.call = nullptr;
  sent.segmented_request.reset();
  sent.segmented_answer.reset();
  static_cast<ListHook<Sent>&>(sent).unlink();
  sent.disarm();
  open_.erase(static_cast<std::uint32_t>(sent.tid));
  free_sents_.push_back(&sent);
}

/// The try will not be answered in time. It is kept for a late answer while its call exists.
void Rpc::try_lost(Sent& sent, int error) {
  ++stats_.timeouts;
  Call* call = sent.call;
  Responder* responder = call != nullptr ? call->responder : nullptr;
  // A suspected node does not answer anyway, so its silence says nothing about congestion.
  if (responder == nullptr || !responder->is_suspected()) lane(sent.smp).window.lost(sent.sent_at, loop_.now());
  leave_window(sent);
  leave_node(sent);
  sent.disarm();
  sent.lost = true;
  if (call == nullptr) {
    erase(sent);
    return;
  }
  if (call->current != &sent) return;
  call->current = nullptr;
  call->busy = false;
  if (call->tries_left == 0 && error != ETIMEDOUT) {
    call->failure = std::make_shared<MadError>(unsendable_text(call->mad, call->path, error), call->mad, Bytes{}, call->path);
    call->finish();
  } else if (responder == nullptr || !responder->lost(*call, sent.number, call->optional)) {
    retry_or_fail(*call);
  }
}

void Rpc::retry_or_fail(Call& call) {
  if (call.tries_left > 0) {
    // Where a channel reports at once that it has dropped a request, nothing is full, and each of infiniband-diags' programs repeats it at
    // once.
    const bool dropped = call.reported && !channel_->reports_timeouts();
    call.back_off(call.busy ? busy_delay(call.tries) : dropped ? Duration::zero() : lost_delay(call.tries));
  } else {
    ran_out(call);
  }
}

/// All tries of `call` are lost.
void Rpc::ran_out(Call& call) {
  if (call.responder != nullptr && !call.optional) call.responder->ran_out(call, call.first_try, call.last_try);
  call.give_up();
}

}  // namespace ib::mad
