// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// A call from its start to its end.
#include "mad/rpc/call.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "iba-gen/sa.hpp"
#include "mad/describe.hpp"

namespace ib::mad {

namespace {

using namespace std::chrono_literals;

Duration try_timeout(const path::IbPath& path) {
  // A path record that promises microseconds must not make nodes seem dead, and a wrong exponent must not block a tool for hours.
  if (path.timeout) return std::max<Duration>(*path.timeout, 1ms);
  return std::clamp<Duration>(path::mad_timeout(path), 100ms, 20s);
}

/// A hash of the LID and route of an SMA. Equal addresses have equal keys. If two nodes shared a key, they would only share one
/// limit of SMPs in flight.
std::uint64_t node_key_of(const path::Path& path) {
  std::uint64_t hash = 0xcbf29ce484222325U;  // FNV-1a
  const auto mix = [&hash](unsigned byte) { hash = (hash ^ byte) * 0x100000001b3U; };
  mix(path.ib().dlid.value & 0xffU);
  mix(path.ib().dlid.value >> 8U);
  if (const path::IbDrPath* directed = path.directed()) {
    mix(directed->dr_dlid.value & 0xffU);
    mix(directed->dr_dlid.value >> 8U);
    for (unsigned i = 1; i <= std::min(directed->hops, path::max_hops); ++i) mix(directed->route[i]);
  }
  return hash;
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

RpcCall::RpcCall(Rpc& engine, const Request& request)
    : rpc(engine),
      path(request.path),
      mad(to_mad(request)),
      reason(request.reason),
      responder(request.responder),
      optional(request.optional),
      smp(is_smp(request.mgmt_class)),
      timeout(try_timeout(request.path.ib())),
      tries_left(request.path.ib().retries + 1) {
  if (smp) node_key = node_key_of(request.path);
  rpc.calls_.push_back(*this);
  if (responder != nullptr) responder->join(*this);
}

RpcCall::~RpcCall() {
  if (done) return;
  leave_queue();
  drop_tries();
  if (responder != nullptr) responder->leave(*this);
}

void RpcCall::leave_queue() {
  if (rpc.queue_.remove(*this)) rpc.loop_.post(rpc);
}

Result<Reply> RpcCall::take_result() {
  if (exception) std::rethrow_exception(exception);
  if (failure) return std::shared_ptr<const MadError>(std::move(failure));
  return std::move(reply);
}

void RpcCall::enqueue(bool front) {
  rpc.queue_.push(*this, front);
  rpc.pump(smp);
}

void RpcCall::resume() {
  if (armed()) return;  // it backs off, because the node was busy
  if (tries_left > 0) {
    enqueue(true);
  } else {
    ran_out();
  }
}

void RpcCall::give_up() {
  const auto unanswered = std::make_shared<MadTimeout>(mad, path, tries, tries == 0 ? Duration::zero() : rpc.loop_.now() - first_sent_at);
  unanswered->set_reported(reported);
  fail_with(unanswered);
}

void RpcCall::drop_tries(const RpcTry* kept) {
  current = nullptr;
  List<RpcTry, RpcTry> stay;
  while (RpcTry* attempt = attempts.pop_front()) {
    if (attempt == kept) {
      stay.push_back(*attempt);
      continue;
    }
    attempt->call = nullptr;
    if (attempt->has_segments()) {
      attempt->abandon();
    } else if (attempt->is_lost) {
      attempt->erase();  // it occupies no window, and nothing waits for it without its call
    }
  }
  if (RpcTry* attempt = stay.pop_front()) attempts.push_back(*attempt);
}

void RpcCall::take_answer(Reply answer) {
  if (std::string wrong = why_invalid(mad, answer.bytes); !wrong.empty()) {
    ++rpc.stats_.invalid;
    auto error = std::make_shared<MadError>(std::move(wrong), mad, answer.bytes, path);
    error->note(fmt::format("RPC {} got an invalid reply from '{}'", describe(mad), path::to_text(path)));
    return fail_with(std::move(error));
  }
  const bool is_busy = (answer.header().status() & status::busy) != 0;
  if (is_busy && expects_more()) {
    ++rpc.stats_.late;  // answers an earlier try
  } else if (is_busy && tries_left > 0) {
    busy = true;
    retry_or_fail();
  } else {
    ++rpc.stats_.replies;
    // A late answer to an earlier try carries the ID of that try. Errors show the request as it was answered.
    store_be(&mad[8], answer.header().transaction_id() & rpc.channel_->tid_mask());
    failure = status_error(mad, answer.bytes, path);
    if (!failure) reply = std::move(answer);
    finish();
  }
}

void RpcCall::retry_or_fail() {
  if (tries_left == 0) return ran_out();
  // Where a channel reports at once that it has dropped a request, nothing is full, and each of infiniband-diags' programs repeats it at
  // once.
  const bool dropped = reported && !rpc.channel_->reports_timeouts();
  rpc.loop_.arm(*this, rpc.loop_.now() + (!busy && dropped ? Duration::zero() : delay_after(tries, busy)));
}

/// All tries are lost.
void RpcCall::ran_out() {
  if (responder != nullptr && !optional) responder->ran_out(*this, first_try, last_try);
  give_up();
}

void RpcCall::begin_segments() {
  if (segments_end) return;
  const Duration unanswered = timeout * (tries + tries_left);
  longest_time = std::max<Duration>(rmpp_longest_time, unanswered);
  longest_silence = std::max(SegmentedAnswer::least_silence, unanswered);
  segments_end = rpc.loop_.now() + longest_time;
}

void RpcCall::segments_failed(const RmppFailure& why) {
  const bool lost = why.status == rmpp::Status::total_time_too_long || why.status == rmpp::Status::too_many_retries;
  if (lost && tries_left > 0 && silence < longest_silence && rpc.loop_.now() < *segments_end) {
    ++rpc.stats_.timeouts;
    busy = false;
    return retry_or_fail();
  }
  std::string text = fmt::format("RPC {} to '{}' broke off: {}", describe(mad), path::to_text(path), why.text());
  fail_with(std::make_shared<MadError>(std::move(text), mad, Bytes{}, path));
}

void RpcCall::refused(int code) {
  if (code != EINVAL || !smp) return unsendable(code);
  // Some drivers refuse an SMP to the local node with EINVAL instead of answering it with a status.
  std::vector<std::uint8_t> answer = mad;
  answer[3] = response_method(answer[3]);
  store_be(&answer[4], static_cast<std::uint16_t>(status::invalid_attribute_or_modifier | (path.directed() ? 0x8000U : 0U)));
  fail_with(status_error(mad, answer, path));
}

void RpcCall::unsendable(int code) {
  std::string text = fmt::format("RPC {} could not be sent to '{}' - {}", describe(mad), path::to_text(path), std::strerror(code));
  fail_with(std::make_shared<MadError>(std::move(text), mad, Bytes{}, path));
}

void RpcCall::finish() {
  done = true;
  disarm();
  leave_queue();
  drop_tries();
  if (responder != nullptr) responder->leave(*this);
  rpc.tracer_->completed(mad, path, failure ? failure->reply() : Bytes(reply.bytes));
  rpc.loop_.post(*waiter);
}

}  // namespace ib::mad
