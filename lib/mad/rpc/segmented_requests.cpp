// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Requests that go in segments (IBA 13.6), for channels that do no RMPP. Each try is one RMPP transfer of the whole request.
// Segments are repeated as often as requests are. When all segments are acknowledged, the time for the answer begins.
// An answer proves that all segments have arrived, even without an ACK: some nodes take a request of one segment for a plain
// MAD and never acknowledge it.
// Each packet is sent with a timeout like a request. The answer may be a plain MAD, most often a refusal, and the kernel drops
// an answer that it does not expect.
// All tries together have one time limit, which includes the segments of the answer: see Call::begin_segments().
#include <algorithm>

#include <fmt/format.h>

#include "mad/rpc/call.hpp"

namespace ib::mad {

bool Rpc::goes_in_segments(const Call& call) const { return RmppView::is_active(call.mad) && !channel_->does_rmpp(call.mad[1]); }

/// Sends the first segment. The receiver's ACKs then allow the others. Throws as Channel::send() does.
void Rpc::begin_segmented_request(Sent& sent) {
  Call& call = *sent.call;
  call.begin_segments();
  RmppSender::Options options;
  options.retries = call.path.ib().retries;
  options.double_sided = may_answer_in_segments(HeaderView(call.mad));
  sent.segmented_request = std::make_unique<SegmentedRequest>(SegmentedRequest{RmppSender(call.mad, options), call.path});
  Packet packet{};
  sent.segmented_request->sender.next(packet);
  transmit(packet, call.path, call.timeout);
}

/// Takes an ACK, STOP or ABORT.
void Rpc::take_control(Sent& sent, Bytes mad) {
  RmppSender& sender = sent.segmented_request->sender;
  if (tracer_ != nullptr) tracer_->segment(mad, sent.segmented_request->path, false);
  const RmppState before = sender.state();
  sender.take(mad);
  send_segments(sent);
  if (before != RmppState::active) return;
  if (sender.state() == RmppState::done) {
    sent.sent_at = loop_.now();
    sent.deadline = sent.sent_at + sent.call->timeout;
    loop_.arm(sent, sent.deadline);
  } else if (sender.state() == RmppState::failed) {
    Call& call = *sent.call;
    const RmppFailure failure = sender.failure();
    erase(sent);
    segments_failed(call, failure);
  }
}

/// Sends the packets that the window allows. The timer runs from the last segment on, but not beyond the end of the call, which
/// no ACK moves.
void Rpc::send_segments(Sent& sent) {
  RmppSender& sender = sent.segmented_request->sender;
  const Duration answer_time = sent.call == nullptr ? Duration::zero() : sent.call->timeout;
  for (Packet packet{}; sender.next(packet);) {
    try {
      transmit(packet, sent.segmented_request->path, answer_time);
    } catch (const Error&) {
      break;  // this packet and the rest of the window are sent when the timer fires
    }
    ++stats_.request_segments;
    if (sender.state() == RmppState::active) loop_.arm(sent, std::min(loop_.now() + sent.call->timeout, *sent.call->segments_end));
  }
}

/// No ACK came in time.
void Rpc::segmented_request_expired(Sent& sent) {
  Call& call = *sent.call;
  RmppSender& sender = sent.segmented_request->sender;
  const bool in_time = loop_.now() < *call.segments_end;
  if (in_time) {
    sender.timed_out();
  } else {
    sender.abort(rmpp::Status::total_time_too_long);
  }
  send_segments(sent);
  if (sender.state() == RmppState::active) {
    loop_.arm(sent, std::min(loop_.now() + call.timeout, *call.segments_end));
    return;
  }
  call.tries_left = 0;  // the segments were already repeated as often as the request may be
  if (in_time && sender.acknowledged() == 0) {
    sent.segmented_request.reset();
    try_lost(sent, ETIMEDOUT);
    return;
  }
  RmppFailure failure = sender.failure();
  const Duration bound = in_time ? call.timeout * (call.path.ib().retries + 1) : call.longest_time;
  failure.reason = fmt::format("{} of {} segments of the request were acknowledged in {:.3g} s{}", sender.acknowledged(), sender.segments(),
                               std::chrono::duration<double>(bound).count(), in_time ? " of silence" : "");
  erase(sent);
  ++stats_.timeouts;
  segments_failed(call, failure);
}

}  // namespace ib::mad
