// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Sends window by window. After a timeout, sends everything again from the first unacknowledged segment on.
#include "mad/rmpp/sides.hpp"

#include <algorithm>
#include <stdexcept>

namespace ib::mad {

RmppSender::RmppSender(std::vector<std::uint8_t> mad, RmppSending options)
    : mad_(std::move(mad)),
      options_(options),
      header_size_(mad_.size() > 1 ? data_area(mad_[1]).offset : 0),
      retries_left_(options.retries) {
  if (mad_.size() < header_size || mad_.size() < header_size_ || !has_rmpp(mad_[1]))
    throw std::invalid_argument("not a MAD that RMPP can carry");
  if (mad_.size() > rmpp_longest) throw std::invalid_argument("too long for an RMPP transfer");
  const std::size_t unit = packet_size - header_size_, data = mad_.size() - header_size_;
  count_ = static_cast<std::uint32_t>(std::max<std::size_t>(1, (data + unit - 1) / unit));
}

bool RmppSender::next(Packet& packet) {
  if (must_abort_) {
    must_abort_ = false;
    control(packet, rmpp::Type::abort, failure_.status, 0);
    return true;
  }
  if (must_turn_) {
    must_turn_ = false;
    control(packet, rmpp::Type::ack, rmpp::Status::success, 1);
    return true;
  }
  if (state_ != RmppState::active || next_ > std::min(window_last_, count_)) return false;
  segment(packet, next_);
  highest_ = std::max(highest_, next_);
  ++next_;
  return true;
}

void RmppSender::segment(Packet& packet, std::uint32_t number) const {
  const std::size_t unit = packet_size - header_size_, extra = header_size_ - rmpp_header_size;
  const std::size_t from = header_size_ + std::size_t{number - 1} * unit, length = std::min(unit, mad_.size() - from);
  std::uint8_t flags = 0;
  std::size_t payload_length = 0;
  // PayloadLength of the first segment counts the whole transfer, with the class header in each segment (IBA 13.6.2.3).
  if (number == 1) {
    flags |= rmpp::flags::first;
    payload_length = mad_.size() - header_size_ + count_ * extra;
  }
  if (number == count_) {
    flags |= rmpp::flags::last;
    payload_length = length + extra;
  }
  packet = {};
  std::copy_n(mad_.begin(), header_size_, packet.begin());
  set_rmpp(packet, rmpp::Type::data, flags, rmpp::Status::success, number, static_cast<std::uint32_t>(payload_length));
  std::copy_n(mad_.begin() + static_cast<std::ptrdiff_t>(from), length, packet.begin() + static_cast<std::ptrdiff_t>(header_size_));
}

/// Makes an ABORT, or the ACK of segment 0 that turns a double-sided transfer around (IBA 13.6.6.3).
void RmppSender::control(Packet& packet, rmpp::Type type, rmpp::Status status, std::uint32_t data2) const {
  packet = {};
  std::copy_n(mad_.begin(), header_size_, packet.begin());
  set_rmpp(packet, type, 0, status, 0, data2);
}

void RmppSender::take(Bytes mad) {
  if (mad.size() < rmpp_header_size || state_ == RmppState::failed) return;
  const RmppView view(mad);
  if (state_ == RmppState::done) {
    // The receiver repeats its ACK because the ACK of segment 0 was lost.
    must_turn_ = options_.double_sided && view.type() == rmpp::Type::ack && view.segment() == count_;
    return;
  }
  switch (view.type()) {
    case rmpp::Type::ack:
      take_ack(view);
      return;
    case rmpp::Type::stop:
    case rmpp::Type::abort:
      state_ = RmppState::failed;
      failure_ = {view.status(), true, {}};
      return;
    case rmpp::Type::data:
      return;
    default:
      abort(rmpp::Status::bad_type);
  }
}

void RmppSender::take_ack(const RmppView& ack) {
  const std::uint32_t segment = ack.segment(), window_last = ack.new_window_last();
  if (ack.version() != 1) return abort(rmpp::Status::unsupported_version);
  if (ack.status() != rmpp::Status::success) return abort(rmpp::Status::illegal_status);
  if (window_last < segment) return abort(rmpp::Status::new_window_last_too_small);
  if (segment > highest_) return abort(rmpp::Status::segment_number_too_big);
  if (segment < acknowledged_ || window_last < window_last_) return;  // an old ACK
  if (segment > acknowledged_ || window_last > window_last_) retries_left_ = options_.retries;
  acknowledged_ = segment;
  window_last_ = window_last;
  next_ = std::max(next_, acknowledged_ + 1);
  if (acknowledged_ < count_) return;
  state_ = RmppState::done;
  must_turn_ = options_.double_sided;
}

void RmppSender::timed_out() {
  if (state_ != RmppState::active) return;
  if (retries_left_ == 0) return abort(rmpp::Status::too_many_retries);
  --retries_left_;
  next_ = acknowledged_ + 1;
}

void RmppSender::abort(rmpp::Status status) {
  if (state_ != RmppState::active) return;
  state_ = RmppState::failed;
  failure_ = {status, false, {}};
  must_abort_ = true;
}

}  // namespace ib::mad
