// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The fake channel keeps what a kernel keeps: each request until it is answered or its time is over.
#include "support/fake_channel.hpp"

#include <algorithm>
#include <cerrno>

#include "base/error.hpp"
#include "mad/rmpp/rmpp.hpp"

namespace ibtest {

FakeHost::FakeHost(std::uint16_t lid) {
  device.name = "fake0";
  port.device = &device;
  port.number = 1;
  port.lid = ib::Lid{lid};
  port.sm_lid = ib::Lid{2};
  port.pkeys = {ib::default_pkey, ib::Pkey{0x8001}};
  port.gids = {ib::Gid::from(ib::link_local_prefix, ib::Guid{0x10U + lid})};
}

ib::path::Path FakeHost::to_lid(std::uint16_t lid, unsigned qp, std::optional<ib::async::Duration> timeout, unsigned retries) const {
  ib::path::IbPath path;
  path.end_port = &port;
  path.dlid = ib::Lid{lid};
  path.slid = port.lid;
  path.dqpn = path.sqpn = ib::Qpn{qp};
  path.timeout = timeout;
  path.retries = retries;
  return path;
}

using ib::Bytes;
using ib::async::Duration;
using ib::mad::HeaderView;
using ib::mad::RmppView;

void FakeChannel::send(Bytes mad, const ib::path::Path& path, Duration timeout) {
  // The network answers from the loop, never from within send().
  const auto tid = static_cast<std::uint32_t>(HeaderView(mad).transaction_id());
  if (refuse_sends != 0) throw ib::SysError(refuse_sends, "write", "the fake device");
  // The kernel allows that to the segments of one transfer.
  const bool segment = !rmpp && RmppView::is_active(mad);
  if (timeout != Duration::zero() && !segment && pending_.contains(tid)) throw ib::SysError(EINVAL, "write", "a pending transaction ID");
  network_(*this, mad, path, timeout);
  ++sent;
  if (timeout == Duration::zero()) return;  // the MAD has no answer
  auto pending = std::make_unique<Pending>();
  pending->channel = this;
  pending->header.assign(mad.begin(), mad.begin() + ib::mad::header_size);
  if (reports) loop_->arm(*pending, loop_->now() + timeout);
  pending_[tid] = std::move(pending);
  most_pending = std::max(most_pending, pending_.size());
}

void FakeChannel::deliver(std::vector<std::uint8_t> mad, Duration after) {
  auto delivery = std::make_unique<Delivery>();
  delivery->channel = this;
  delivery->mad = std::move(mad);
  loop_->arm(*delivery, loop_->now() + after);
  deliveries_.push_back(std::move(delivery));
}

void FakeChannel::later(Duration after, std::function<void()> what) {
  deliver({}, after);
  deliveries_.back()->what = std::move(what);
}

void FakeChannel::fail(Bytes mad, int error, Duration after) {
  deliver({mad.begin(), mad.end()}, after);
  deliveries_.back()->error = error;
}

void FakeChannel::break_down(int error) { events_->broken(std::make_exception_ptr(ib::SysError(error, "read", "the fake device"))); }

void FakeChannel::due(Delivery& delivery) {
  const auto place = std::ranges::find(deliveries_, &delivery, &std::unique_ptr<Delivery>::get);
  const std::unique_ptr<Delivery> gone = std::move(*place);
  deliveries_.erase(place);
  if (gone->what) {
    gone->what();
    return;
  }
  const bool response = gone->mad.size() >= ib::mad::header_size && HeaderView(gone->mad).is_response();
  if (response || (gone->error != 0 && gone->mad.size() >= ib::mad::header_size)) {
    const auto tid = static_cast<std::uint32_t>(HeaderView(gone->mad).transaction_id());
    const bool known = pending_.erase(tid) != 0;
    // The kernel drops answers to requests that it has given up or has seen answered, but for the segments that it hands on.
    if (!known && reports && response && (rmpp || !RmppView::is_active(gone->mad))) return;
  }
  if (gone->error != 0) {
    events_->send_failed(gone->mad, gone->error);
  } else {
    events_->received(gone->mad, source);
  }
}

void FakeChannel::timed_out(Pending& pending) {
  const std::vector<std::uint8_t> header = pending.header;
  pending_.erase(static_cast<std::uint32_t>(HeaderView(header).transaction_id()));
  events_->send_failed(header, ETIMEDOUT);
}

std::vector<std::uint8_t> answer_to(Bytes request, std::uint16_t status) {
  std::vector<std::uint8_t> answer(request.begin(), request.end());
  const bool directed = request[1] == ib::mad::mgmt_class::smp_directed;
  answer[3] = ib::mad::response_method(request[3]);
  ib::store_be(&answer[4], static_cast<std::uint16_t>(status | (directed ? 0x8000U : 0U)));
  return answer;
}

}  // namespace ibtest
