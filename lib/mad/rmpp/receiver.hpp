// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The receiving side of one RMPP transfer (IBA 13.6.6.2) without I/O and without a clock. The owner passes the received packets and the
// timeouts to it, and sends the packets of next().
//
//   receiver.take(mad); while (receiver.next(packet)) channel.send(packet, …);
//   if (receiver.state() == RmppState::done) use(receiver.take_mad());
//
// The receiver does not trust the numbers that a sender announces. Memory grows with the received segments, by at most one
// window beyond them. Each segment takes the same time, whatever came before it.
#pragma once

#include <array>
#include <cstdint>
#include <utility>
#include <vector>

#include "mad/rmpp/rmpp.hpp"

namespace ib::mad {

/// A limit for the memory of all incoming transfers together. Each transfer takes its share as its segments arrive, and returns it at its
/// end. Many transfers together therefore never use more than one transfer may. Allocates nothing itself.
class RmppMemory {
 public:
  explicit RmppMemory(std::size_t limit = rmpp_longest) : limit_(limit) {}
  RmppMemory(const RmppMemory&) = delete;
  RmppMemory& operator=(const RmppMemory&) = delete;

  std::size_t limit() const { return limit_; }
  std::size_t used() const { return used_; }

  /// Takes `bytes` more. If that exceeds the limit, returns false and takes nothing.
  bool take(std::size_t bytes) {
    if (bytes > limit_ - used_) return false;
    used_ += bytes;
    return true;
  }
  void release(std::size_t bytes) { used_ -= bytes; }

 private:
  const std::size_t limit_;
  std::size_t used_ = 0;
};

/// What a transfer may take.
struct RmppLimits {
  unsigned window = rmpp_window_ceiling;  ///< segments that the sender may send without an ACK: 1…rmpp_window_ceiling
  std::size_t longest = rmpp_longest;     ///< bytes; a longer transfer is stopped with status "Resources exhausted"
  RmppMemory* memory = nullptr;           ///< shared with other transfers; if it is used up, the transfer is stopped in the same way
};

/// The state machine of the receiving side of one transfer.
class RmppReceiver {
 public:
  /// A receiver for MADs of `mgmt_class`, for which has_rmpp() must hold.
  explicit RmppReceiver(std::uint8_t mgmt_class, RmppLimits limits = {});
  RmppReceiver(RmppReceiver&&) = default;
  RmppReceiver& operator=(RmppReceiver&&) = delete;
  ~RmppReceiver() { take_mad(); }

  /// Takes a MAD of the transfer: DATA, STOP or ABORT. The owner has compared transaction ID and class. A repeated segment is
  /// acknowledged again, also after the end, because the sender seems to have missed the ACK. A segment outside the window is
  /// dropped. A violation of the protocol fails the transfer.
  void take(Bytes mad);
  /// No segment came for a while: repeats the ACK, in case the last one was lost.
  void repeat_ack();
  /// Fails the transfer and sends a STOP or ABORT to the sender. Does nothing after the end.
  void abort(rmpp::Status status, std::string reason = {});
  /// Gets the next packet to send; false if there is none. It has the transaction ID of the segments.
  bool next(Packet& packet);

  RmppState state() const { return state_; }
  const RmppFailure& failure() const { return failure_; }
  /// The number of segments received without a gap from the first one on. Measures the progress.
  std::uint32_t segments() const { return next_ - 1; }
  /// Takes the whole MAD once state() is done: the header of the first segment and the data of all. To be called once.
  std::vector<std::uint8_t> take_mad() {
    if (limits_.memory != nullptr) limits_.memory->release(mad_.size());
    return std::exchange(mad_, {});
  }

 private:
  void take_data(Bytes mad);
  bool check_header(const RmppView& segment);
  bool check_last(const RmppView& segment);
  bool make_room(std::size_t size);
  void store(Bytes mad, std::size_t length, std::uint32_t segment);
  void advance();
  void finish();
  bool is_plausible_total() const;

  const std::size_t header_size_;  // of the class; each segment repeats it
  const RmppLimits limits_;
  RmppState state_ = RmppState::active;
  RmppFailure failure_;
  std::vector<std::uint8_t> mad_;
  std::array<std::uint8_t, 64> header_{};  // of a segment; ACKs repeat it
  std::uint32_t next_ = 1;                 // the first missing segment
  std::uint64_t beyond_ = 0;               // bit i: segment next_ + i was received
  std::uint32_t window_last_ = 1;          // the last segment that the sender may send
  std::uint32_t highest_ = 0;              // the highest received segment
  std::uint32_t last_ = 0;                 // the segment with the flag Last
  std::size_t last_length_ = 0;            // bytes of its data
  std::uint32_t declared_ = 0;             // PayloadLength of the first segment
  bool must_ack_ = false, must_abort_ = false;
};

}  // namespace ib::mad
