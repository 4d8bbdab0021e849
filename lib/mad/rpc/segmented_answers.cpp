// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Answers that come in segments (IBA 13.6), for channels that do no RMPP. The try that a transfer answers keeps its place in
// the window until the last segment has come. With many such answers at once, fewer requests are therefore sent.
#include <algorithm>

#include <fmt/format.h>

#include "mad/describe.hpp"
#include "mad/rpc/call.hpp"

namespace ib::mad {

namespace {

using namespace std::chrono_literals;

/// The silence after which the last ACK is repeated, however slow the sender may be: the timeout of one try within these bounds.
constexpr Duration least_patience = 500ms, most_patience = 2s;
/// Before that it is repeated so many times after some round trips. An ACK is lost like other MADs, and most senders wait seconds for it.
constexpr unsigned early_repeats = 2;
constexpr Duration least_early_patience = 20ms;
/// The silence after which a transfer fails: the timeout of one try, but at least this time. Linux repeats segments after 2 s
/// of silence, so a segment may be lost three times. All tries of a call together may be silent for as long as an unanswered
/// call would wait, but at least for this time.
constexpr Duration least_silence = 7s;

RmppReceiver::Limits limits_for(const Channel& channel, RmppMemory& memory) {
  // Segments fill the same buffers as other MADs.
  return {std::clamp(channel.max_in_flight() / 2, 1U, rmpp_window_ceiling), rmpp_longest, &memory};
}

}  // namespace

Rpc::SegmentedAnswer::SegmentedAnswer(const Call& call, RmppReceiver::Limits limits, const Source& from)
    : receiver(call.mad[1], limits),
      path(call.path),
      source(from),
      sure_patience(std::clamp(call.timeout, least_patience, most_patience)),
      longest_silence(std::min(std::max(call.timeout, least_silence), call.longest_silence - call.silence)) {}

/// Limits the time of the whole call, for its request and its answers. Only the first call has an effect.
void Rpc::Call::begin_segments() {
  if (segments_end) return;
  const Duration unanswered = timeout * (tries + tries_left);
  longest_time = std::max<Duration>(rmpp_longest_time, unanswered);
  longest_silence = std::max(least_silence, unanswered);
  segments_end = rpc.loop_.now() + longest_time;
}

/// Whether another try may follow a transfer that failed.
bool Rpc::Call::has_time_for_segments() const { return silence < longest_silence && rpc.loop_.now() < *segments_end; }

/// Whether `mad`, which has the transaction ID of `sent`, belongs to an RMPP transfer that this engine must handle.
bool Rpc::is_segment(const Sent& sent, Bytes mad) const {
  if (!RmppView::is_active(mad) || RmppView(mad).type() == rmpp::Type::none || channel_->does_rmpp(mad[1])) return false;
  if (sent.segmented_answer) return true;
  if (sent.call == nullptr || !may_answer_in_segments(HeaderView(sent.call->mad))) return false;
  const RmppView segment(mad);
  if (segment.type() != rmpp::Type::data) return segment.type() != rmpp::Type::ack;  // an ACK begins no transfer
  // A refusal in a segment must be acknowledged too: opensm refuses by RMPP if the request came by RMPP.
  return HeaderView(mad).status() == 0 || segment.segment() == 1;
}

void Rpc::take_segment(Sent& sent, Bytes mad, const Source& source) {
  if (!sent.segmented_answer) begin_segmented_answer(sent, source);
  ++stats_.segments;
  SegmentedAnswer& answer = *sent.segmented_answer;
  if (tracer_ != nullptr) tracer_->segment(mad, answer.path, false);
  const std::uint32_t before = answer.receiver.segments();
  answer.receiver.take(mad);
  const bool progressed = answer.receiver.segments() != before;
  if (progressed) measure(answer);
  send_acks(sent);
  if (sent.call == nullptr) return;  // the answer was complete already
  if (answer.receiver.state() != RmppState::active) {
    segmented_answer_ended(sent);
  } else if (progressed) {
    answer.last_progress = loop_.now();
    answer.repeats = 0;
    arm_segmented_answer(sent);
  }
}

/// Takes the time from an ACK to the segment after it. If the ACK was repeated, it is not known which of the ACKs the segment follows.
void Rpc::measure(SegmentedAnswer& answer) {
  if (answer.acked && answer.repeats == 0) {
    const Duration took = loop_.now() - *answer.acked;
    ack_rtt_ = ack_rtt_ == 0ns ? took : ack_rtt_ + (took - ack_rtt_) / 8;
  }
  answer.acked.reset();
}

/// The time from now after which the last ACK is repeated, if nothing comes. It doubles, because the timers of some senders start again
/// with every ACK.
Duration Rpc::patience(const SegmentedAnswer& answer) const {
  if (ack_rtt_ == 0ns) return answer.sure_patience * (1U << answer.repeats);
  if (answer.repeats < early_repeats) {
    const Duration first = std::max<Duration>(16 * ack_rtt_, least_early_patience);
    return std::min(answer.repeats == 0 ? first : 4 * first, answer.sure_patience);
  }
  return answer.sure_patience * (1U << (answer.repeats - early_repeats));
}

void Rpc::arm_segmented_answer(Sent& sent) {
  const SegmentedAnswer& answer = *sent.segmented_answer;
  loop_.arm(sent, std::min({loop_.now() + patience(answer), answer.last_progress + answer.longest_silence, *sent.call->segments_end}));
}

/// Takes the first segment of an answer to `sent`. The call gives up all its other tries.
void Rpc::begin_segmented_answer(Sent& sent, const Source& source) {
  Call& call = *sent.call;
  measure(sent);
  sent.lost = false;
  call.drop_tries(&sent);
  call.disarm();
  call.leave_queue();
  sent.segmented_request.reset();  // an answer proves that the whole request has arrived
  call.begin_segments();
  sent.segmented_answer = std::make_unique<SegmentedAnswer>(call, limits_for(*channel_, memory_), source);
  sent.segmented_answer->last_progress = loop_.now();
  arm_segmented_answer(sent);
}

/// Sends the receiver's packets. A packet that cannot be sent counts as lost, because the sender repeats its segments.
void Rpc::send_acks(Sent& sent) {
  Packet packet{};
  while (sent.segmented_answer->receiver.next(packet)) {
    try {
      transmit(packet, sent.segmented_answer->path);
      ++stats_.acks;
      sent.segmented_answer->acked = loop_.now();
    } catch (const Error&) {
      continue;
    }
  }
}

void Rpc::transmit(Bytes segment, const path::Path& path, Duration answer_time) {
  channel_->send(segment, path, answer_time);
  if (tracer_ != nullptr) tracer_->segment(segment, path, true);
}

/// The transfer is complete or has failed. The call continues.
void Rpc::segmented_answer_ended(Sent& sent) {
  Call& call = *sent.call;
  SegmentedAnswer& answer = *sent.segmented_answer;
  if (answer.receiver.state() == RmppState::failed) {
    const RmppFailure failure = answer.receiver.failure();
    call.silence += loop_.now() - answer.last_progress;
    erase(sent);
    segments_failed(call, failure);
    return;
  }
  if (sent.in_window) lane(sent.smp).window.answered();
  leave_window(sent);
  static_cast<ListHook<Sent>&>(sent).unlink();
  sent.call = nullptr;
  loop_.arm(sent, loop_.now() + rmpp_linger);
  take_answer(call, Reply{answer.receiver.take_mad(), answer.source});
}

/// A call whose segments were lost may try again while there is time. A violation of the protocol is not retried, because it
/// would happen again.
void Rpc::segments_failed(Call& call, const RmppFailure& failure) {
  const bool lost = failure.status == rmpp::Status::total_time_too_long || failure.status == rmpp::Status::too_many_retries;
  if (lost && call.tries_left > 0 && call.has_time_for_segments()) {
    ++stats_.timeouts;
    call.busy = false;
    retry_or_fail(call);
    return;
  }
  std::string text = fmt::format("RPC {} to '{}' broke off: {}", describe(call.mad), path::to_text(call.path), failure.text());
  call.failure = std::make_shared<MadError>(std::move(text), call.mad, Bytes{}, call.path);
  call.finish();
}

/// No segment came for as long as patience() says.
void Rpc::segmented_answer_expired(Sent& sent) {
  if (sent.call == nullptr) {
    erase(sent);
    return;
  }
  const Call& call = *sent.call;
  SegmentedAnswer& answer = *sent.segmented_answer;
  const Duration silence = loop_.now() - answer.last_progress;
  const auto give_up = [&answer](Duration bound, std::string_view of) {
    answer.receiver.abort(rmpp::Status::total_time_too_long,
                          fmt::format("no end after {} segments in {:.3g} s{}", answer.receiver.segments(),
                                      std::chrono::duration<double>(bound).count(), of));
  };
  if (loop_.now() >= *call.segments_end) {
    give_up(call.longest_time, "");
  } else if (silence >= answer.longest_silence) {
    give_up(call.silence + silence, " of silence");
  } else {
    answer.receiver.repeat_ack();
  }
  send_acks(sent);
  if (answer.receiver.state() != RmppState::active) {
    segmented_answer_ended(sent);
  } else {
    ++answer.repeats;
    arm_segmented_answer(sent);
  }
}

/// The call is gone: stops the transfer of the other side.
void Rpc::abandon(Sent& sent) {
  if (sent.segmented_answer) {
    sent.segmented_answer->receiver.abort(rmpp::Status::unspecified);
    send_acks(sent);
  } else {
    sent.segmented_request->sender.abort(rmpp::Status::unspecified);
    send_segments(sent);
  }
  erase(sent);
  loop_.post(pump_);
}

}  // namespace ib::mad
