// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Answers that come in segments (IBA 13.6), for channels that do not put them together. The try that a transfer answers
// keeps its place in the window until the last segment has come: the more answers at once, the fewer requests.
#include <algorithm>

#include <fmt/format.h>

#include "mad/describe.hpp"
#include "mad/rpc_call.hpp"

namespace ib::mad {

namespace {

using namespace std::chrono_literals;

/// How long nothing may come before the last ACK is repeated: one try's time within these bounds.
constexpr Duration least_patience = 500ms, most_patience = 2s;
/// How long nothing may come before a transfer is given up: one try's time, but no less than this. Linux repeats segments after
/// 2 s of silence: a segment may be lost three times. The tries of one call may spend as much silence together as an unanswered
/// call would wait, but no less than this.
constexpr Duration least_silence = 7s;
/// How long a complete transfer still answers repeated segments.
constexpr Duration linger = 10s;

RmppReceiver::Limits limits_for(const Channel& channel, RmppMemory& memory) {
  // Segments fill the same buffers as other MADs.
  return {std::clamp(channel.max_in_flight() / 2, 1U, rmpp_window_ceiling), rmpp_longest, &memory};
}

}  // namespace

Rpc::Transfer::Transfer(const Call& call, RmppReceiver::Limits limits, const Source& from)
    : receiver(call.mad[1], limits),
      path(call.path),
      source(from),
      first_patience(std::clamp(call.timeout, least_patience, most_patience)),
      patience(first_patience),
      longest_silence(std::min(std::max(call.timeout, least_silence), call.longest_silence - call.silence)) {}

/// From the first time on the time of the whole call is limited, whatever its request and its answers go on with.
void Rpc::Call::begin_segments() {
  if (segments_end) return;
  const Duration unanswered = timeout * (tries + tries_left);
  longest_time = std::max<Duration>(rmpp_longest_time, unanswered);
  longest_silence = std::max(least_silence, unanswered);
  segments_end = rpc.loop_.now() + longest_time;
}

/// Whether another try may be made after one that broke off.
bool Rpc::Call::has_time_for_segments() const { return silence < longest_silence && rpc.loop_.now() < *segments_end; }

/// Whether `mad`, which has the transaction ID of `sent`, is part of a transfer that this engine must do.
bool Rpc::is_segment(const Sent& sent, Bytes mad) const {
  if (!RmppView::is_active(mad) || RmppView(mad).type() == rmpp::Type::none || channel_->does_rmpp(mad[1])) return false;
  if (sent.transfer) return true;
  if (sent.call == nullptr || !may_answer_in_segments(HeaderView(sent.call->mad))) return false;
  const RmppView segment(mad);
  if (segment.type() != rmpp::Type::data) return segment.type() != rmpp::Type::ack;  // an ACK of nothing begins nothing
  // A refusal by RMPP wants its ACK too: opensm's are, where the request was.
  return HeaderView(mad).status() == 0 || segment.segment() == 1;
}

void Rpc::take_segment(Sent& sent, Bytes mad, const Source& source) {
  if (!sent.transfer) begin_transfer(sent, source);
  ++stats_.segments;
  Transfer& transfer = *sent.transfer;
  if (tracer_ != nullptr) tracer_->segment(mad, transfer.path, false);
  const std::uint32_t before = transfer.receiver.segments();
  transfer.receiver.take(mad);
  send_acks(sent);
  if (sent.call == nullptr) return;  // complete already
  if (transfer.receiver.state() != RmppState::active) {
    transfer_ended(sent);
  } else if (transfer.receiver.segments() != before) {
    transfer.last_progress = loop_.now();
    transfer.patience = transfer.first_patience;
    arm_transfer(sent);
  }
}

void Rpc::arm_transfer(Sent& sent) {
  const Transfer& transfer = *sent.transfer;
  loop_.arm(sent, std::min({loop_.now() + transfer.patience, transfer.last_progress + transfer.longest_silence, *sent.call->segments_end}));
}

/// From now on this try is the one: it is answered, if not completely.
void Rpc::begin_transfer(Sent& sent, const Source& source) {
  Call& call = *sent.call;
  if (!sent.lost) measure(sent);
  sent.lost = false;
  call.drop_tries(&sent);
  call.disarm();
  call.leave_queue();
  sent.sending.reset();  // an answer to all of it
  call.begin_segments();
  sent.transfer = std::make_unique<Transfer>(call, limits_for(*channel_, memory_), source);
  sent.transfer->last_progress = loop_.now();
  arm_transfer(sent);
}

/// Sends what the receiver has to say. What can not be sent is as good as lost: the sender will repeat itself.
void Rpc::send_acks(Sent& sent) {
  Packet packet{};
  while (sent.transfer->receiver.next(packet)) {
    try {
      transmit(packet, sent.transfer->path);
      ++stats_.acks;
    } catch (const Error&) {
      continue;
    }
  }
}

void Rpc::transmit(Bytes segment, const path::Path& path, Duration answer_time) {
  channel_->send(segment, path, answer_time);
  if (tracer_ != nullptr) tracer_->segment(segment, path, true);
}

/// The transfer is complete or has failed; its call goes on.
void Rpc::transfer_ended(Sent& sent) {
  Call& call = *sent.call;
  Transfer& transfer = *sent.transfer;
  if (transfer.receiver.state() == RmppState::failed) {
    const RmppFailure failure = transfer.receiver.failure();
    call.silence += loop_.now() - transfer.last_progress;
    erase(sent);
    transfer_failed(call, failure);
    return;
  }
  if (sent.in_window) lane(sent.smp).window.answered();
  leave_window(sent);
  static_cast<ListHook<Sent>&>(sent).unlink();
  sent.call = nullptr;
  loop_.arm(sent, loop_.now() + linger);
  take_answer(call, Reply{transfer.receiver.take_mad(), transfer.source});
}

/// What was lost on the way may come at the next try, while there is time; who breaks the protocol will do it again.
void Rpc::transfer_failed(Call& call, const RmppFailure& failure) {
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

/// Nothing came for a while.
void Rpc::transfer_expired(Sent& sent) {
  if (sent.call == nullptr) {
    erase(sent);
    return;
  }
  const Call& call = *sent.call;
  Transfer& transfer = *sent.transfer;
  const Duration silence = loop_.now() - transfer.last_progress;
  const auto give_up = [&transfer](Duration bound, std::string_view of) {
    transfer.receiver.abort(rmpp::Status::total_time_too_long,
                            fmt::format("no end after {} segments in {:.3g} s{}", transfer.receiver.segments(),
                                        std::chrono::duration<double>(bound).count(), of));
  };
  if (loop_.now() >= *call.segments_end) {
    give_up(call.longest_time, "");
  } else if (silence >= transfer.longest_silence) {
    give_up(call.silence + silence, " of silence");
  } else {
    transfer.receiver.ask_again();
  }
  send_acks(sent);
  if (transfer.receiver.state() != RmppState::active) {
    transfer_ended(sent);
  } else {
    // Ever longer: there are senders whose own timer starts anew with every ACK.
    transfer.patience *= 2;
    arm_transfer(sent);
  }
}

/// Its call is gone: tells the other side to stop.
void Rpc::abandon(Sent& sent) {
  if (sent.transfer) {
    sent.transfer->receiver.abort(rmpp::Status::unspecified);
    send_acks(sent);
  } else {
    sent.sending->sender.abort(rmpp::Status::unspecified);
    send_segments(sent);
  }
  erase(sent);
  loop_.post(pump_);
}

}  // namespace ib::mad
