// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB

#include <algorithm>
#include <cerrno>

#include "mad/rpc/call.hpp"
#include "mad/server.hpp"

namespace ib::mad {

namespace {

/// Of Omni-Path's MADs of up to 2 KiB, which answer no request of InfiniBand.
constexpr std::uint8_t omni_path_base_version = 0x80;

/// Whether the error belongs to this host and not to one address, so that no later send can succeed.
bool is_fatal(int code) {
  return code == EIO || code == ENODEV || code == ENXIO || code == EBADF || code == EACCES || code == EPERM || code == EPROTONOSUPPORT;
}

/// Whether a MAD of the SA or of a vendor class ends with its data. Some senders leave out the rest of the packet, which counts as zero.
bool ends_early(Bytes mad) {
  return mad.size() >= header_size && mad.size() < packet_size && has_rmpp(mad[1]) && mad.size() >= data_area(mad[1]).offset &&
         !RmppView::is_active(mad);
}

}  // namespace

Rpc::Rpc(async::Loop& loop, std::unique_ptr<Channel> channel, RpcLimits limits)
    : Transactor(channel->end_port()),
      loop_(loop),
      channel_(std::move(channel)),
      queue_(limits, channel_->max_in_flight()),
      memory_{limits.segment_bytes} {
  channel_->attach(*this, loop);
}

Rpc::~Rpc() {
  while (RpcCall* call = calls_.pop_front()) {
    call->leave_queue();
    call->drop_tries();
    call->disarm();
    call->done = true;
  }
}

void Rpc::pump(bool smp) {
  if (broken_) return;
  while (RpcCall* call = queue_.next(smp)) send(*call);
}

void Rpc::send(RpcCall& call) {
  RpcTry& attempt = tries_.add(*this);
  store_be(&call.mad[8], attempt.tid);
  attempt.begin(call);
  if (call.tries > 0) tracer_->retried(call.mad, call.path);
  try {
    attempt.send();
  } catch (const SysError& error) {
    attempt.erase();
    return is_fatal(error.code()) ? call.fail(std::current_exception()) : call.refused(error.code());
  } catch (...) {
    attempt.erase();
    return call.fail(std::current_exception());
  }
  attempt.number = call.last_try = ++tries_sent_;
  if (call.tries == 0) {
    stats_.count_first_try(call.reason);
    call.first_try = attempt.number;
    call.first_sent_at = attempt.sent_at;
  } else {
    ++(call.busy ? stats_.retries_busy : stats_.retries_lost);
  }
  ++call.tries;
  --call.tries_left;
  attempt.await_answer();
}

void Rpc::send_unanswered(Bytes mad, const path::Path& path) {
  if (broken_) std::rethrow_exception(broken_);
  if (RmppView::is_active(mad) && RmppView(mad).type() == rmpp::Type::none && !channel_->does_rmpp(mad[1])) {
    outbox_.send(mad, path);
  } else {
    channel_->send(mad, path, Duration::zero());
  }
  tracer_->replied(mad, path);
}

void Rpc::transmit(Bytes segment, const path::Path& path, Duration answer_time) {
  channel_->send(segment, path, answer_time);
  tracer_->segment(segment, path, true);
}

void Rpc::received(Bytes mad, const Source& source) {
  Packet whole{};
  if (ends_early(mad)) {
    std::copy(mad.begin(), mad.end(), whole.begin());
    mad = whole;
  }
  if (mad.size() > packet_size && HeaderView(mad).base_version() == omni_path_base_version) return stray(mad, source);
  const bool response = mad.size() >= header_size && HeaderView(mad).is_response();
  if (outbox_.take(mad, source)) return tracer_->segment(mad, source.path(end_port(), mad[1]), false);
  if (!response && server_ != nullptr && mad.size() >= header_size && take_request(mad, source)) return;
  RpcTry* const attempt = response ? tries_.find(mad) : nullptr;
  if (attempt == nullptr) return stray(mad, source);
  const bool smp = attempt->smp;
  Responder* const responder = attempt->call != nullptr ? attempt->call->responder : nullptr;
  const std::uint64_t number = attempt->number;
  if (!attempt->take(mad, source)) stray(mad, source);
  if (responder != nullptr) responder->answered(number);
  pump(smp);
}

void Rpc::stray(Bytes mad, const Source& source) {
  const bool late = mad.size() >= header_size && HeaderView(mad).is_response() && tries_.is_late(mad);
  ++(late ? stats_.late : stats_.unexpected);
  tracer_->unexpected(mad, source.path(end_port(), mad.size() > 1 ? mad[1] : std::uint8_t{0}), late);
}

/// Takes a request or a segment of one. False for a late ACK, which has the method of a request but is not one.
bool Rpc::take_request(Bytes mad, const Source& source) {
  if (!RmppView::is_active(mad) || (channel_->does_rmpp(mad[1]) && !RmppView::is_control(mad))) {
    requested(mad, source);
    return true;
  }
  tracer_->segment(mad, source.path(end_port(), mad[1]), false);
  return inbox_.take(mad, source);
}

void Rpc::requested(Bytes mad, const Source& source) {
  tracer_->requested(mad, source.path(end_port(), mad[1]));
  server_->requested(mad, source);
}

void Rpc::send_failed(Bytes header, int error) {
  // An answer to another node's request has the transaction ID of that node, which may equal one of ours.
  const bool ours = header.size() >= header_size && !HeaderView(header).is_response();
  RpcTry* const attempt = ours ? tries_.find(header) : nullptr;
  if (attempt == nullptr || attempt->is_lost || attempt->has_segments()) return;  // segments and ACKs are repeated anyway
  const bool smp = attempt->smp;
  RpcCall* const call = attempt->call;
  if (call != nullptr) call->reported = true;
  attempt->lose(error);
  // The kernel has forgotten the request and drops a late answer. It does not drop an answer in segments, because it does not
  // match segments with requests.
  const bool waits = call != nullptr && !call->done;
  if (waits && channel_->reports_timeouts() && !may_answer_in_segments(HeaderView(call->mad))) attempt->erase();
  pump(smp);
}

void Rpc::broken(std::exception_ptr error) {
  broken_ = error;
  while (RpcCall* call = calls_.pop_front()) {
    if (!call->done) call->fail(error);
  }
  if (server_ != nullptr) server_->broken(error);
}

}  // namespace ib::mad
