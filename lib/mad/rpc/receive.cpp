// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The receiving side of the RPC engine: finds the call that a MAD belongs to, and checks the MAD.
#include <algorithm>

#include <fmt/format.h>

#include "iba-gen/sa.hpp"
#include "mad/describe.hpp"
#include "mad/rmpp/rmpp.hpp"
#include "mad/rpc/call.hpp"

namespace ib::mad {

namespace {

/// Of Omni-Path's MADs of up to 2 KiB, which answer no request of InfiniBand.
constexpr std::uint8_t omni_path_base_version = 0x80;

/// Whether a MAD of the SA or of a vendor class ends with its data. Some senders leave out the rest of the packet, which counts
/// as zero.
bool ends_early(Bytes mad) {
  return mad.size() >= header_size && mad.size() < packet_size && has_rmpp(mad[1]) && mad.size() >= data_area(mad[1]).offset &&
         !RmppView::is_active(mad);
}

/// Whether the attribute of `answer` is the requested attribute or its permitted substitute: SubnAdmGetMulti of a
/// MultiPathRecord is answered with PathRecords (IBA o15-0.2.7).
bool may_have_attribute(const HeaderView& sent, const HeaderView& answer) {
  if (answer.attribute_id() == sent.attribute_id()) return true;
  if (is_redirect(answer)) return answer.attribute_id() == attribute_id::class_port_info;
  return sent.mgmt_class() == mgmt_class::sa && sent.method() == method::get_multi &&
         sent.attribute_id() == sa::MultiPathRecord::attribute_id && answer.attribute_id() == sa::PathRecord::attribute_id;
}

/// The reason why `reply` cannot be an answer to `request`, or empty. The caller has compared the class. The attribute modifier
/// is not compared, because SMAs differ in what they return there.
std::string why_invalid(Bytes request, Bytes reply) {
  const HeaderView sent(request), answer(reply);
  const std::size_t least = may_answer_in_segments(sent) && RmppView::is_active(reply) ? data_area(sent.mgmt_class()).offset : packet_size;
  if (reply.size() < least || (reply.size() > packet_size && least == packet_size)) {
    return fmt::format("Invalid reply size. Got {}, expected {}", reply.size(), least);
  }
  const auto differs = [](std::string_view what, unsigned got, unsigned expected) {
    return fmt::format("Invalid reply: {} is 0x{:x}, expected 0x{:x}", what, got, expected);
  };
  if (answer.base_version() != sent.base_version()) return differs("base version", answer.base_version(), sent.base_version());
  if (answer.class_version() != sent.class_version() && (answer.status() & 0x1f) == 0) {
    return differs("class version", answer.class_version(), sent.class_version());
  }
  if (answer.method() != response_method(sent.method())) return differs("method", answer.method(), response_method(sent.method()));
  if (!may_have_attribute(sent, answer)) return differs("attribute", answer.attribute_id(), sent.attribute_id());
  if (sent.mgmt_class() == mgmt_class::smp_directed && (answer.raw_status() & 0x8000U) == 0) {
    return "Invalid reply: the direction bit is not set";
  }
  return {};
}

}  // namespace

/// The try that `mad` answers or reports on, by class and transaction ID (IBA C13-19.1.1).
Rpc::Sent* Rpc::find_sent(Bytes mad) {
  const HeaderView header(mad);
  Sent* sent = open_.find(static_cast<std::uint32_t>(header.transaction_id()));
  const std::uint64_t mask = channel_->tid_mask();
  if (sent == nullptr || ((sent->tid ^ header.transaction_id()) & mask) != 0 || sent->mgmt_class != header.mgmt_class()) return nullptr;
  return sent;
}

void Rpc::stray(Bytes mad, const Source& source) {
  bool late = false;
  if (mad.size() >= header_size && HeaderView(mad).is_response()) {
    const std::uint64_t mask = channel_->tid_mask() & 0xffffffffU;
    const std::uint64_t age = (HeaderView(mad).transaction_id() - first_tid_) & mask;
    late = age != 0 && age <= tid_ - first_tid_ && open_.find(static_cast<std::uint32_t>(HeaderView(mad).transaction_id())) == nullptr;
  }
  ++(late ? stats_.late : stats_.unexpected);
  if (tracer_ != nullptr) tracer_->unexpected(mad, source.path(end_port(), mad.size() > 1 ? mad[1] : std::uint8_t{0}), late);
}

void Rpc::received(Bytes mad, const Source& source) {
  Packet whole{};
  if (ends_early(mad)) {
    std::copy(mad.begin(), mad.end(), whole.begin());
    mad = whole;
  }
  if (mad.size() > packet_size && HeaderView(mad).base_version() == omni_path_base_version) return stray(mad, source);
  const bool response = mad.size() >= header_size && HeaderView(mad).is_response();
  if (outbox_.take(mad, source)) {
    if (tracer_ != nullptr) tracer_->segment(mad, source.path(end_port(), mad[1]), false);
    return;
  }
  if (!response && sink_ != nullptr && mad.size() >= header_size && take_request(mad, source)) return;
  Sent* sent = response ? find_sent(mad) : nullptr;
  if (sent == nullptr) {
    stray(mad, source);
    return;
  }
  const bool smp = sent->smp;
  Responder* const responder = sent->call != nullptr ? sent->call->responder : nullptr;
  const std::uint64_t number = sent->number;
  if (sent->segmented_request && RmppView::is_control(mad)) {
    take_control(*sent, mad);
  } else if (is_segment(*sent, mad)) {
    take_segment(*sent, mad, source);
  } else if (RmppView::is_control(mad) && !channel_->does_rmpp(mad[1])) {
    stray(mad, source);  // belongs to no current transfer
  } else {
    Call* call = sent->call;
    answered(*sent);
    if (call == nullptr) {
      stray(mad, source);
    } else {
      take_answer(*call, Reply{{mad.begin(), mad.end()}, source});
    }
  }
  if (responder != nullptr) responder->answered(number);
  pump(smp);
}

/// Takes a request or a segment of one. False for a late ACK, which has the method of a request but is not one.
bool Rpc::take_request(Bytes mad, const Source& source) {
  if (!RmppView::is_active(mad) || (channel_->does_rmpp(mad[1]) && !RmppView::is_control(mad))) {
    requested(mad, source);
    return true;
  }
  if (tracer_ != nullptr) tracer_->segment(mad, source.path(end_port(), mad[1]), false);
  return inbox_.take(mad, source);
}

void Rpc::requested(Bytes mad, const Source& source) {
  if (tracer_ != nullptr) tracer_->requested(mad, source.path(end_port(), mad[1]));
  sink_->requested(mad, source);
}

/// Takes an answer to `call`, or a MAD that claims to be one.
void Rpc::take_answer(Call& call, Reply reply) {
  if (std::string wrong = why_invalid(call.mad, reply.bytes); !wrong.empty()) {
    ++stats_.invalid;
    call.failure = std::make_shared<MadError>(std::move(wrong), call.mad, reply.bytes, call.path);
    call.failure->note(fmt::format("RPC {} got an invalid reply from '{}'", describe(call.mad), path::to_text(call.path)));
    call.finish();
  } else if ((reply.header().status() & status::busy) != 0 && call.expects_more()) {
    ++stats_.late;  // answers an earlier try
  } else if ((reply.header().status() & status::busy) != 0 && call.tries_left > 0) {
    call.busy = true;
    retry_or_fail(call);
  } else {
    ++stats_.replies;
    // A late answer to an earlier try carries the ID of that try. Errors show the request as it was answered.
    store_be(&call.mad[8], reply.header().transaction_id() & channel_->tid_mask());
    call.failure = status_error(call.mad, reply.bytes, call.path);
    if (!call.failure) call.reply = std::move(reply);
    call.finish();
  }
}

/// Removes an answered try.
void Rpc::answered(Sent& sent) {
  measure(sent);
  Lane& lane = this->lane(sent.smp);
  lane.newest_answered = std::max(lane.newest_answered, sent.sent_at);
  if (!sent.lost) lane.window.answered();
  erase(sent);
}

/// Updates the smoothed round-trip time.
void Rpc::measure(const Sent& sent) {
  const Duration took = loop_.now() - sent.sent_at;
  Duration& rtt = this->rtt(sent.mgmt_class);
  rtt = rtt == Duration::zero() ? took : rtt + (took - rtt) / 8;
  if (sent.call != nullptr && sent.call->responder != nullptr) sent.call->responder->measure(took);
}

void Rpc::send_failed(Bytes header, int error) {
  // An answer to another node's request has the transaction ID of that node, which may equal one of ours.
  const bool ours = header.size() >= header_size && !HeaderView(header).is_response();
  Sent* sent = ours ? find_sent(header) : nullptr;
  if (sent == nullptr || sent->lost || sent->segmented_answer || sent->segmented_request) return;  // segments and ACKs are repeated anyway
  const bool smp = sent->smp;
  Call* call = sent->call;
  if (call != nullptr) call->reported = true;
  try_lost(*sent, error);
  // The kernel has forgotten the request and drops a late answer. It does not drop an answer in segments, because it does not
  // match segments with requests.
  const bool waits = call != nullptr && !call->done;
  if (waits && channel_->reports_timeouts() && !may_answer_in_segments(HeaderView(call->mad))) erase(*sent);
  pump(smp);
}

void Rpc::broken(std::exception_ptr error) {
  broken_ = error;
  while (Call* call = calls_.pop_front()) {
    if (call->done) continue;
    call->exception = error;
    call->finish();
  }
  if (sink_ != nullptr) sink_->broken(error);
}

}  // namespace ib::mad
