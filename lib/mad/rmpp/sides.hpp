// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The two sides of one RMPP transfer (IBA 13.6.6) without I/O and without a clock. The owner passes the received packets and the timeouts
// to them, and sends the packets of next():
//
//   receiver.take(mad); while (receiver.next(packet)) channel.send(packet, …);
//   if (receiver.state() == RmppState::done) use(receiver.release());
//
//   while (sender.next(packet)) channel.send(packet, …);
//   … sender.take(ack); or sender.timed_out(); repeat until state() is not active.
//
// The receiver does not trust the numbers that a sender announces. Memory grows with the received segments, by at most one
// window beyond them. Each segment takes the same time, whatever came before it.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "mad/rmpp/rmpp.hpp"

namespace ib::mad {

/// The memory of all incoming transfers together. Each transfer takes its share as its segments arrive, and returns it at its end. Many
/// transfers together therefore never use more than one transfer may.
struct RmppMemory {
  std::size_t limit = rmpp_longest, used = 0;  ///< bytes
};

/// What a transfer may take.
struct RmppLimits {
  unsigned window = rmpp_window_ceiling;  ///< segments that the sender may send without an ACK: 1…rmpp_window_ceiling
  std::size_t longest = rmpp_longest;     ///< bytes; a longer transfer is stopped with status "Resources exhausted"
  RmppMemory* memory = nullptr;           ///< shared with other transfers; if it is used up, the transfer is stopped in the same way
};

/// The state machine of the receiving side of one transfer (IBA 13.6.6.2).
class RmppReceiver {
 public:
  /// A receiver for MADs of `mgmt_class`, for which has_rmpp() must hold.
  explicit RmppReceiver(std::uint8_t mgmt_class, RmppLimits limits = {});
  RmppReceiver(RmppReceiver&&) = default;
  RmppReceiver& operator=(RmppReceiver&&) = delete;
  ~RmppReceiver() { release(); }

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
  /// Gives up what has come, and returns its memory. Once state() is done, this is the whole MAD: the header of the first segment and the
  /// data of all.
  std::vector<std::uint8_t> release() {
    if (limits_.memory != nullptr) limits_.memory->used -= mad_.size();
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

/// How a transfer is sent.
struct RmppSending {
  unsigned retries = 7;       ///< timeouts in a row before the transfer fails
  bool double_sided = false;  ///< an answer by RMPP follows (SubnAdmGetMulti), so the last ACK is answered by an ACK that
                              ///< opens the window of the answer
};

/// The state machine of the sending side of one transfer (IBA 13.6.6.3).
class RmppSender {
 public:
  /// `mad` is the header of its class followed by all data, of any length. The content of its RMPP header does not matter.
  /// Throws std::invalid_argument if the class has no RMPP, if the header is incomplete, or for more than rmpp_longest bytes.
  explicit RmppSender(std::vector<std::uint8_t> mad, RmppSending options = {});

  /// Gets the next packet that may be sent now. False if there is none: the response timer then runs from the last packet on.
  bool next(Packet& packet);
  /// Takes an ACK, STOP or ABORT of the receiver. The owner has compared transaction ID and class. After the end of a
  /// double-sided transfer, a repeated ACK is answered.
  void take(Bytes mad);
  /// No packet came for the response time (a second or two): sends the unacknowledged segments again, or fails.
  void timed_out();
  /// Fails the transfer and sends an ABORT to the receiver. Does nothing after the end.
  void abort(rmpp::Status status);

  RmppState state() const { return state_; }
  const RmppFailure& failure() const { return failure_; }
  std::uint32_t segments() const { return count_; }
  std::uint32_t acknowledged() const { return acknowledged_; }
  const std::vector<std::uint8_t>& mad() const { return mad_; }

 private:
  void take_ack(const RmppView& ack);
  void segment(Packet& packet, std::uint32_t number) const;
  void control(Packet& packet, rmpp::Type type, rmpp::Status status, std::uint32_t data2) const;

  const std::vector<std::uint8_t> mad_;
  const RmppSending options_;
  const std::size_t header_size_;
  std::uint32_t count_ = 0;    // number of segments
  std::uint32_t next_ = 1;     // the next segment to send
  std::uint32_t highest_ = 0;  // the highest segment that was sent
  std::uint32_t acknowledged_ = 0;
  std::uint32_t window_last_ = 1;  // the last segment that the receiver allows (IBA 13.6.6.3: 1 at first)
  unsigned retries_left_;
  RmppState state_ = RmppState::active;
  RmppFailure failure_;
  bool must_abort_ = false, must_turn_ = false;
};

}  // namespace ib::mad
