// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Segments may come twice, late, and in any order within the window. Data is put in its final place when it arrives.
#include "mad/rmpp/sides.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

namespace ib::mad {

namespace {
constexpr auto stopped = rmpp::Status::resources_exhausted;  // the only status that goes with STOP
}

RmppReceiver::RmppReceiver(std::uint8_t mgmt_class, RmppLimits limits)
    : header_size_(data_area(mgmt_class).offset),
      limits_{std::clamp(limits.window, 1U, rmpp_window_ceiling), limits.longest, limits.memory} {}

void RmppReceiver::take(Bytes mad) {
  if (mad.size() < header_size_ || mad.size() > packet_size || state_ == RmppState::failed) return;
  if (header_[0] == 0) std::copy_n(mad.begin(), header_size_, header_.begin());
  const RmppView segment(mad);
  switch (segment.type()) {
    case rmpp::Type::data:
      if (state_ == RmppState::done) {
        must_ack_ = true;
      } else if (check_header(segment)) {
        take_data(mad);
      }
      return;
    case rmpp::Type::stop:
    case rmpp::Type::abort:
      if (state_ == RmppState::done) return;
      state_ = RmppState::failed;
      failure_ = {segment.status(), true, {}};
      release();
      return;
    case rmpp::Type::ack:
      return;
    default:
      abort(rmpp::Status::bad_type);
  }
}

/// Checks the header of a DATA segment. Aborts the transfer and returns false if it is invalid.
bool RmppReceiver::check_header(const RmppView& segment) {
  const bool first = (segment.flags() & rmpp::flags::first) != 0;
  if (segment.version() != 1) {
    abort(rmpp::Status::unsupported_version);
  } else if (segment.status() != rmpp::Status::success) {
    abort(rmpp::Status::illegal_status);
  } else if (segment.segment() == 0 || first != (segment.segment() == 1)) {
    abort(rmpp::Status::inconsistent_first_and_segment,
          fmt::format("segment {} {} marked as the first", segment.segment(), first ? "is" : "is not"));
  }
  return state_ == RmppState::active;
}

void RmppReceiver::take_data(Bytes mad) {
  const RmppView view(mad);
  const std::uint32_t segment = view.segment();
  if (segment < next_) {
    must_ack_ = true;
    return;
  }
  if (segment - next_ >= limits_.window) return;
  std::size_t length = packet_size - header_size_;
  if ((view.flags() & rmpp::flags::last) != 0) {
    if (!check_last(view)) return;
    length = last_length_;
  } else if (last_ != 0 && segment > last_) {
    abort(rmpp::Status::inconsistent_last_and_payload, fmt::format("segment {} came after {}, the last", segment, last_));
    return;
  }
  if (mad.size() < header_size_ + length) return;  // damaged: the sender will repeat it
  const std::size_t end = std::size_t{segment} * (packet_size - header_size_);
  if (std::max<std::size_t>(end, segment == 1 ? view.length() : 0) > limits_.longest) {
    abort(stopped, fmt::format("the answer is longer than {} bytes", limits_.longest));
    return;
  }
  if (!make_room(header_size_ + std::size_t{segment - 1} * (packet_size - header_size_) + length)) return;
  if (segment == 1) declared_ = view.length();
  store(mad, length, segment);
  advance();
}

/// Stores the position of the last segment. Aborts the transfer and returns false if it contradicts earlier segments.
bool RmppReceiver::check_last(const RmppView& segment) {
  const std::size_t extra = header_size_ - rmpp_header_size;
  if (segment.length() < extra || segment.length() > rmpp_payload) {
    abort(rmpp::Status::inconsistent_last_and_payload, fmt::format("the last segment has {} bytes", segment.length()));
  } else if (segment.segment() < highest_ || (last_ != 0 && segment.segment() != last_)) {
    abort(rmpp::Status::inconsistent_last_and_payload,
          fmt::format("two segments are the last: {} and {}", std::max(highest_, last_), segment.segment()));
  } else {
    last_ = segment.segment();
    last_length_ = segment.length() - extra;
  }
  return state_ == RmppState::active;
}

/// Makes the MAD at least `size` bytes long. If the memory is used up, ends the transfer and returns false.
bool RmppReceiver::make_room(std::size_t size) {
  if (size <= mad_.size()) return true;
  const std::size_t more = size - mad_.size();
  if (RmppMemory* memory = limits_.memory) {
    if (more > memory->limit - memory->used) {
      abort(stopped, fmt::format("the answers that are on their way have more than {} bytes together", memory->limit));
      return false;
    }
    memory->used += more;
  }
  // The capacity doubles, as in a vector, but does not exceed the limit of a transfer.
  if (size > mad_.capacity()) mad_.reserve(std::max(size, std::min(2 * mad_.capacity(), header_size_ + limits_.longest)));
  mad_.resize(size);
  return true;
}

void RmppReceiver::store(Bytes mad, std::size_t length, std::uint32_t segment) {
  const std::uint64_t bit = std::uint64_t{1} << (segment - next_);
  if ((beyond_ & bit) != 0) return;
  beyond_ |= bit;
  highest_ = std::max(highest_, segment);
  if (segment == 1) std::copy_n(mad.begin(), header_size_, mad_.begin());
  const std::size_t at = header_size_ + std::size_t{segment - 1} * (packet_size - header_size_);
  std::copy_n(mad.begin() + static_cast<std::ptrdiff_t>(header_size_), length, mad_.begin() + static_cast<std::ptrdiff_t>(at));
}

void RmppReceiver::advance() {
  const auto run = static_cast<unsigned>(std::countr_one(beyond_));
  next_ += run;
  beyond_ = run == 64 ? 0 : beyond_ >> run;
  if (last_ != 0 && next_ > last_) {
    finish();
  } else if (segments() >= window_last_) {
    window_last_ = segments() + limits_.window;
    must_ack_ = true;
  }
}

void RmppReceiver::finish() {
  if (!is_plausible_total()) {
    abort(rmpp::Status::inconsistent_last_and_payload, fmt::format("{} bytes were announced, {} segments came", declared_, last_));
    return;
  }
  state_ = RmppState::done;
  must_ack_ = true;
}

/// Whether the announced length (0: unknown) fits the number of received segments. Senders count the class header in each
/// segment, in the first segment only, or not at all.
bool RmppReceiver::is_plausible_total() const {
  const std::uint64_t least = std::uint64_t{last_ - 1} * (packet_size - header_size_), most = std::uint64_t{last_} * rmpp_payload;
  return declared_ == 0 || (declared_ >= least && declared_ <= most);
}

void RmppReceiver::repeat_ack() { must_ack_ = state_ != RmppState::failed && segments() > 0; }

void RmppReceiver::abort(rmpp::Status status, std::string reason) {
  if (state_ != RmppState::active) return;
  state_ = RmppState::failed;
  failure_ = {status, false, std::move(reason)};
  must_ack_ = false;
  must_abort_ = header_[0] != 0;
  release();
}

bool RmppReceiver::next(Packet& packet) {
  if (!must_ack_ && !must_abort_) return false;
  packet = {};
  std::copy_n(header_.begin(), header_size_, packet.begin());
  packet[3] ^= method::response;  // inverts the R bit, because the packet goes to the sender
  if (must_ack_) {
    set_rmpp(packet, rmpp::Type::ack, 0, rmpp::Status::success, segments(), std::max(window_last_, segments()));
  } else {
    set_rmpp(packet, failure_.status == stopped ? rmpp::Type::stop : rmpp::Type::abort, 0, failure_.status, 0, 0);
  }
  must_ack_ = must_abort_ = false;
  return true;
}

}  // namespace ib::mad
