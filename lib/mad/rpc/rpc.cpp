// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// A call from its start to its end.
#include "mad/rpc/rpc.hpp"

#include <algorithm>
#include <random>

#include <fmt/format.h>

#include "mad/rpc/call.hpp"
#include "mad/rpc_names.hpp"

namespace ib::mad {

namespace {

using namespace std::chrono_literals;

/// Computed timeouts stay within these bounds. A path record that promises microseconds must not make nodes seem dead, and a
/// wrong exponent must not block a tool for hours.
constexpr Duration timeout_floor = 100ms, timeout_ceiling = 20s;

Duration try_timeout(const path::IbPath& path) {
  if (path.timeout) return std::max<Duration>(*path.timeout, 1ms);
  return std::clamp(path::mad_timeout(path), timeout_floor, timeout_ceiling);
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

}  // namespace

Rpc::Rpc(async::Loop& loop, std::unique_ptr<Channel> channel, Limits limits)
    : Transactor(channel->end_port()),
      loop_(loop),
      channel_(std::move(channel)),
      limits_(limits),
      smps_(std::min(limits.smps, channel_->max_in_flight())),
      gmps_(std::min(limits.gmps, channel_->max_in_flight())) {
  std::random_device random;
  first_tid_ = tid_ = std::uint64_t{random()} << 32 | random();
  channel_->attach(*this, loop);
}

Rpc::~Rpc() {
  while (Call* call = calls_.pop_front()) {
    call->leave_queue();
    call->drop_tries();
    call->disarm();
    call->done = true;
  }
  channel_->detach();
}

Task<Result<Reply>> Rpc::try_call(const Request& request) {
  const bool stays = changes_something(request);  // a change is never redirected
  const path::Path* const elsewhere = stays ? nullptr : redirects_.find(request.path, request.mgmt_class);
  if (elsewhere != nullptr) return call_redirected(request, *elsewhere);
  return call_agent(request);
}

/// Sends a request to the agent that it names. Every request has this frame: what only redirects need is in frames of their own.
Task<Result<Reply>> Rpc::call_agent(const Request& request) {
  if (broken_) std::rethrow_exception(broken_);
  if (request.mgmt_class == mgmt_class::sa && request.path.ib().dlid == Lid{} && !request.path.ib().has_grh) {
    throw Error(fmt::format("No subnet administrator is known: the SM LID of {} is 0", end_port().name()));
  }
  if (request.responder != nullptr && request.responder->is_silent())
    co_return std::shared_ptr<const MadError>(std::make_shared<MadTimeout>(to_mad(request), request.path, 0, Duration::zero()));
  Call call(*this, request);
  co_await call;  // two statements: g++ 11 compiles no declaration with this co_await
  Result<Reply> result = call.take_result();
  if (is_redirect(result)) {
    if (changes_something(request)) {
      result = not_followed(request, result.error());
    } else {
      co_await follow(request, result);
    }
  }
  co_return result;
}

Rpc::Call::Call(Rpc& engine, const Request& request)
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

Rpc::Call::~Call() {
  if (done) return;
  leave_queue();
  drop_tries();
  if (responder != nullptr) responder->leave(*this);
}

void Rpc::Call::leave_queue() {
  if (!ListHook<Queued>::linked()) return;
  ListHook<Queued>::unlink();
  rpc.left_queue(*this);
}

Result<Reply> Rpc::Call::take_result() {
  if (exception) std::rethrow_exception(exception);
  if (failure) return std::shared_ptr<const MadError>(std::move(failure));
  return std::move(reply);
}

void Rpc::Call::enqueue(bool front) {
  Lane& lane = rpc.lane(smp);
  if (front) {
    lane.queue.push_front(*this);
  } else {
    lane.queue.push_back(*this);
  }
  rpc.pump(smp);
}

void Rpc::Call::back_off(Duration delay) { rpc.loop_.arm(*this, rpc.loop_.now() + delay); }

void Rpc::Call::expired() { enqueue(true); }

void Rpc::Call::resume() {
  if (armed()) return;  // it backs off, because the node was busy
  if (tries_left > 0) {
    enqueue(true);
  } else {
    rpc.ran_out(*this);
  }
}

void Rpc::Call::give_up() {
  const auto unanswered = std::make_shared<MadTimeout>(mad, path, tries, tries == 0 ? Duration::zero() : rpc.loop_.now() - first_sent_at);
  unanswered->set_reported(reported);
  failure = unanswered;
  finish();
}

void Rpc::Call::drop_tries(const Sent* kept) {
  current = nullptr;
  List<Sent, Sent> stay;
  while (Sent* sent = sents.pop_front()) {
    if (sent == kept) {
      stay.push_back(*sent);
      continue;
    }
    sent->call = nullptr;
    if (sent->segmented_answer || sent->segmented_request) {
      rpc.abandon(*sent);
    } else if (sent->lost) {
      rpc.erase(*sent);  // the try occupies no window, and nothing waits for it without its call
    }
  }
  if (Sent* sent = stay.pop_front()) sents.push_back(*sent);
}

void Rpc::Call::finish() {
  done = true;
  disarm();
  leave_queue();
  drop_tries();
  if (responder != nullptr) responder->leave(*this);
  if (rpc.tracer_ != nullptr) rpc.tracer_->completed(mad, path, failure ? failure->reply() : Bytes(reply.bytes));
  rpc.loop_.post(*waiter);
}

}  // namespace ib::mad
