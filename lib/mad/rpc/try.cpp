// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// One try of a call. If the channel does no RMPP, the request may go in segments, and the answer may come in segments (IBA 13.6).
//
// Each try of a request in segments is one RMPP transfer of the whole request. Segments are repeated as often as requests are. When all
// segments are acknowledged, the time for the answer begins. An answer proves that all segments have arrived, even without an ACK: some
// nodes take a request of one segment for a plain MAD and never acknowledge it. Each packet is sent with a timeout like a request. The
// answer may be a plain MAD, most often a refusal, and the kernel drops an answer that it does not expect.
//
// The try that an answer in segments belongs to keeps its place in the window until the last segment has come. With many such answers at
// once, fewer requests are therefore sent. All tries together have one time limit: see RpcCall::begin_segments().
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <random>

#include "mad/rpc/call.hpp"

namespace ib::mad {

namespace {

using namespace std::chrono_literals;

/// The kernel's report ends a try if the kernel reports timeouts. Our own timer is later by this time, and only guards against
/// a missing report.
Duration report_grace(Duration timeout) { return 500ms + timeout / 4; }

double in_seconds(Duration time) { return std::chrono::duration<double>(time).count(); }

}  // namespace

SegmentedAnswer::SegmentedAnswer(const RpcCall& call, RmppLimits limits, const Source& from, async::Time now)
    : receiver(call.mad[1], limits),
      path(call.path),
      source(from),
      sure_patience(std::clamp<Duration>(call.timeout, 500ms, 2s)),
      longest_silence(std::min(std::max(call.timeout, least_silence), call.longest_silence - call.silence)),
      last_progress(now) {}

void RpcTry::begin(RpcCall& of) {
  call = &of;
  mgmt_class = of.mad[1];
  smp = of.smp;
  is_lost = false;
  rpc.queue_.enter(*this);
  of.attempts.push_back(*this);
  of.current = this;
}

void RpcTry::send() {
  if (!RmppView::is_active(call->mad) || rpc.channel_->does_rmpp(call->mad[1])) {
    rpc.channel_->send(call->mad, call->path, call->timeout);
  } else {
    // The first segment. The receiver's ACKs then allow the others.
    call->begin_segments();
    const RmppSending options{.retries = call->path.ib().retries, .double_sided = may_answer_in_segments(HeaderView(call->mad))};
    segmented_request = std::make_unique<SegmentedRequest>(SegmentedRequest{RmppSender(call->mad, options), call->path});
    Packet packet{};
    segmented_request->sender.next(packet);
    rpc.transmit(packet, call->path, call->timeout);
  }
  sent_at = rpc.loop_.now();
}

void RpcTry::await_answer() {
  // Segments take longer, whether we or the kernel send them.
  const Duration timeout = RmppView::is_active(call->mad) ? rmpp_longest_time : call->timeout;
  const Duration early = rpc.patience_.for_answer(*call);
  deadline = sent_at + timeout + (rpc.channel_->reports_timeouts() ? report_grace(call->timeout) : 0ns);
  if (early < call->timeout) deadline = sent_at + early;
  rpc.loop_.arm(*this, segmented_request ? sent_at + call->timeout : std::min(sent_at + rpc.patience_.stale_after(mgmt_class), deadline));
}

void RpcTry::expired() {
  const async::Time now = rpc.loop_.now();
  if (segmented_answer) {
    segmented_answer_expired();
  } else if (segmented_request && segmented_request->sender.state() == RmppState::active) {
    segmented_request_expired();
  } else if (in_window && now < deadline) {
    const bool stays = rpc.queue_.may_be_in_buffers(*this, now);
    if (!stays) rpc.queue_.leave_window(*this);
    rpc.loop_.arm(*this, stays ? std::min<async::Time>(sent_at + RequestQueue::longest_stop, deadline) : deadline);
  } else {
    if (call != nullptr) call->reported = false;
    lose(ETIMEDOUT);
  }
  rpc.pump(smp);
}

void RpcTry::lose(int error) {
  ++rpc.stats_.timeouts;
  Responder* responder = call != nullptr ? call->responder : nullptr;
  // A suspected node does not answer anyway, so its silence says nothing about congestion.
  if (responder == nullptr || !responder->is_suspected()) rpc.queue_.lost(*this, rpc.loop_.now());
  rpc.queue_.leave(*this);
  disarm();
  is_lost = true;
  if (call == nullptr) return erase();
  if (call->current != this) return;
  call->current = nullptr;
  call->busy = false;
  if (call->tries_left == 0 && error != ETIMEDOUT) {
    call->unsendable(error);
  } else if (responder == nullptr || !responder->lost(*call, number, call->optional)) {
    call->retry_or_fail();
  }
}

void RpcTry::erase() {
  rpc.queue_.leave(*this);
  if (call != nullptr && call->current == this) call->current = nullptr;
  call = nullptr;
  segmented_request.reset();
  segmented_answer.reset();
  ListHook<RpcTry>::unlink();
  disarm();
  rpc.tries_.remove(*this);
}

void RpcTry::abandon() {
  if (segmented_answer) {
    segmented_answer->receiver.abort(rmpp::Status::unspecified);
    send_acks();
  } else {
    segmented_request->sender.abort(rmpp::Status::unspecified);
    send_segments();
  }
  erase();
  rpc.loop_.post(rpc);
}

bool RpcTry::take(Bytes mad, const Source& source) {
  if (segmented_request && RmppView::is_control(mad)) {
    take_control(mad);
    return true;
  }
  if (is_segment(mad)) {
    take_segment(mad, source);
    return true;
  }
  if (RmppView::is_control(mad) && !rpc.channel_->does_rmpp(mad[1])) return false;  // belongs to no current transfer
  RpcCall* const waiting = call;
  measure();
  rpc.queue_.answered(*this);
  erase();
  if (waiting != nullptr) waiting->take_answer(Reply{{mad.begin(), mad.end()}, source});
  return waiting != nullptr;
}

void RpcTry::measure() const {
  const Duration took = rpc.loop_.now() - sent_at;
  rpc.patience_.measure(mgmt_class, took);
  if (call != nullptr && call->responder != nullptr) call->responder->measure(took);
}

/// Takes an ACK, STOP or ABORT.
void RpcTry::take_control(Bytes mad) {
  RmppSender& sender = segmented_request->sender;
  rpc.tracer_->segment(mad, segmented_request->path, false);
  const RmppState before = sender.state();
  sender.take(mad);
  send_segments();
  if (before != RmppState::active) return;
  if (sender.state() == RmppState::done) {
    sent_at = rpc.loop_.now();
    deadline = sent_at + call->timeout;
    rpc.loop_.arm(*this, deadline);
  } else if (sender.state() == RmppState::failed) {
    RpcCall& failed = *call;
    const RmppFailure failure = sender.failure();
    erase();
    failed.segments_failed(failure);
  }
}

/// Sends the packets that the window allows. The timer runs from the last segment on, but not beyond the end of the call, which
/// no ACK moves.
void RpcTry::send_segments() {
  RmppSender& sender = segmented_request->sender;
  const Duration answer_time = call == nullptr ? Duration::zero() : call->timeout;
  for (Packet packet{}; sender.next(packet);) {
    try {
      rpc.transmit(packet, segmented_request->path, answer_time);
    } catch (const Error&) {
      break;  // this packet and the rest of the window are sent when the timer fires
    }
    ++rpc.stats_.request_segments;
    if (sender.state() == RmppState::active) rpc.loop_.arm(*this, std::min(rpc.loop_.now() + call->timeout, *call->segments_end));
  }
}

/// No ACK came in time.
void RpcTry::segmented_request_expired() {
  RpcCall& waiting = *call;
  RmppSender& sender = segmented_request->sender;
  const bool in_time = rpc.loop_.now() < *waiting.segments_end;
  if (in_time) {
    sender.timed_out();
  } else {
    sender.abort(rmpp::Status::total_time_too_long);
  }
  send_segments();
  if (sender.state() == RmppState::active) {
    rpc.loop_.arm(*this, std::min(rpc.loop_.now() + waiting.timeout, *waiting.segments_end));
    return;
  }
  waiting.tries_left = 0;  // the segments were already repeated as often as the request may be
  if (in_time && sender.acknowledged() == 0) {
    segmented_request.reset();
    return lose(ETIMEDOUT);
  }
  RmppFailure failure = sender.failure();
  const Duration bound = in_time ? waiting.timeout * (waiting.path.ib().retries + 1) : waiting.longest_time;
  failure.reason = fmt::format("{} of {} segments of the request were acknowledged in {:.3g} s{}", sender.acknowledged(), sender.segments(),
                               in_seconds(bound), in_time ? " of silence" : "");
  erase();
  ++rpc.stats_.timeouts;
  waiting.segments_failed(failure);
}

/// Whether `mad`, which has the transaction ID of this try, belongs to an RMPP transfer that this engine must handle.
bool RpcTry::is_segment(Bytes mad) const {
  if (!RmppView::is_active(mad) || RmppView(mad).type() == rmpp::Type::none || rpc.channel_->does_rmpp(mad[1])) return false;
  if (segmented_answer) return true;
  if (call == nullptr || !may_answer_in_segments(HeaderView(call->mad))) return false;
  const RmppView segment(mad);
  if (segment.type() != rmpp::Type::data) return segment.type() != rmpp::Type::ack;  // an ACK begins no transfer
  // A refusal in a segment must be acknowledged too: opensm refuses by RMPP if the request came by RMPP.
  return HeaderView(mad).status() == 0 || segment.segment() == 1;
}

void RpcTry::take_segment(Bytes mad, const Source& source) {
  if (!segmented_answer) begin_answer(source);
  ++rpc.stats_.segments;
  SegmentedAnswer& answer = *segmented_answer;
  rpc.tracer_->segment(mad, answer.path, false);
  const std::uint32_t before = answer.receiver.segments();
  answer.receiver.take(mad);
  const bool progressed = answer.receiver.segments() != before;
  if (progressed) {
    // If the ACK was repeated, it is not known which of the ACKs the segment follows.
    if (answer.acked && answer.repeats == 0) rpc.patience_.measure_ack(rpc.loop_.now() - *answer.acked);
    answer.acked.reset();
  }
  send_acks();
  if (call == nullptr) return;  // the answer was complete already
  if (answer.receiver.state() != RmppState::active) {
    answer_ended();
  } else if (progressed) {
    answer.last_progress = rpc.loop_.now();
    answer.repeats = 0;
    arm_answer();
  }
}

void RpcTry::arm_answer() {
  const SegmentedAnswer& answer = *segmented_answer;
  const async::Time repeat = rpc.loop_.now() + rpc.patience_.for_segment(answer.repeats, answer.sure_patience);
  rpc.loop_.arm(*this, std::min({repeat, answer.last_progress + answer.longest_silence, *call->segments_end}));
}

/// Takes the first segment of an answer. The call gives up all its other tries.
void RpcTry::begin_answer(const Source& source) {
  measure();
  is_lost = false;
  call->drop_tries(this);
  call->disarm();
  call->leave_queue();
  segmented_request.reset();  // an answer proves that the whole request has arrived
  call->begin_segments();
  // Segments fill the same buffers as other MADs.
  const unsigned window = std::clamp(rpc.channel_->max_in_flight() / 2, 1U, rmpp_window_ceiling);
  const RmppLimits limits{.window = window, .longest = rmpp_longest, .memory = &rpc.memory_};
  segmented_answer = std::make_unique<SegmentedAnswer>(*call, limits, source, rpc.loop_.now());
  arm_answer();
}

/// Sends the receiver's packets. A packet that cannot be sent counts as lost, because the sender repeats its segments.
void RpcTry::send_acks() {
  for (Packet packet{}; segmented_answer->receiver.next(packet);) {
    try {
      rpc.transmit(packet, segmented_answer->path);
      ++rpc.stats_.acks;
      segmented_answer->acked = rpc.loop_.now();
    } catch (const Error&) {
      continue;
    }
  }
}

/// The transfer is complete or has failed. The call continues.
void RpcTry::answer_ended() {
  RpcCall& waiting = *call;
  SegmentedAnswer& answer = *segmented_answer;
  if (answer.receiver.state() == RmppState::failed) {
    const RmppFailure failure = answer.receiver.failure();
    waiting.silence += rpc.loop_.now() - answer.last_progress;
    erase();
    return waiting.segments_failed(failure);
  }
  if (in_window) rpc.queue_.window(smp).answered();
  rpc.queue_.leave_window(*this);
  ListHook<RpcTry>::unlink();
  call = nullptr;
  rpc.loop_.arm(*this, rpc.loop_.now() + rmpp_linger);
  waiting.take_answer(Reply{answer.receiver.release(), answer.source});
}

/// No segment came for as long as Patience::for_segment() says.
void RpcTry::segmented_answer_expired() {
  if (call == nullptr) return erase();
  SegmentedAnswer& answer = *segmented_answer;
  const Duration silence = rpc.loop_.now() - answer.last_progress;
  const auto give_up = [&answer](Duration bound, std::string_view of) {
    answer.receiver.abort(rmpp::Status::total_time_too_long,
                          fmt::format("no end after {} segments in {:.3g} s{}", answer.receiver.segments(), in_seconds(bound), of));
  };
  if (rpc.loop_.now() >= *call->segments_end) {
    give_up(call->longest_time, "");
  } else if (silence >= answer.longest_silence) {
    give_up(call->silence + silence, " of silence");
  } else {
    answer.receiver.repeat_ack();
  }
  send_acks();
  if (answer.receiver.state() != RmppState::active) {
    answer_ended();
  } else {
    ++answer.repeats;
    arm_answer();
  }
}

TryTable::TryTable(const Channel& channel) : channel_(channel), slots_(64) {
  std::random_device random;
  first_tid_ = tid_ = std::uint64_t{random()} << 32 | random();
}
TryTable::~TryTable() = default;

RpcTry& TryTable::add(Rpc& rpc) {
  if (free_.empty()) free_.push_back(all_.emplace_back(std::make_unique<RpcTry>(rpc)).get());
  if (2 * all_.size() > slots_.size()) {
    std::vector<RpcTry*> old(slots_.size() * 2);
    old.swap(slots_);
    for (RpcTry* attempt : old) {
      if (attempt != nullptr) slots_[slot(attempt->tid)] = attempt;
    }
  }
  RpcTry& made = *free_.back();
  free_.pop_back();
  do {
    ++tid_;
  } while ((tid_ & 0xffffffffU) == 0 || slots_[slot(tid_)] != nullptr);
  made.tid = tid_ & channel_.tid_mask();
  slots_[slot(tid_)] = &made;
  return made;
}

void TryTable::remove(RpcTry& attempt) {
  slots_[slot(attempt.tid)] = nullptr;
  free_.push_back(&attempt);
}

RpcTry* TryTable::find(Bytes mad) const {
  const HeaderView header(mad);
  RpcTry* const found = slots_[slot(header.transaction_id())];
  const bool is_it = found != nullptr && ((found->tid ^ header.transaction_id()) & channel_.tid_mask()) == 0;
  return is_it && found->mgmt_class == header.mgmt_class() ? found : nullptr;
}

bool TryTable::is_late(Bytes mad) const {
  const std::uint64_t tid = HeaderView(mad).transaction_id(), age = (tid - first_tid_) & channel_.tid_mask() & 0xffffffffU;
  const RpcTry* const open = slots_[slot(tid)];
  const bool is_open = open != nullptr && ((open->tid ^ tid) & 0xffffffffU) == 0;
  return age != 0 && age <= tid_ - first_tid_ && !is_open;
}

}  // namespace ib::mad
