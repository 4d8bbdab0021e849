// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The sending side of one RMPP transfer (IBA 13.6.6.3) without I/O and without a clock. The owner sends the packets of next(),
// passes the received packets to take(), and calls timed_out() when none has come for the response time:
//
//   while (sender.next(packet)) channel.send(packet, …);
//   … sender.take(ack); or sender.timed_out(); repeat until state() is not active.
#pragma once

#include <cstdint>
#include <vector>

#include "mad/rmpp/rmpp.hpp"

namespace ib::mad {

/// How a transfer is sent.
struct RmppSending {
  unsigned retries = 7;       ///< timeouts in a row before the transfer fails
  bool double_sided = false;  ///< an answer by RMPP follows (SubnAdmGetMulti), so the last ACK is answered by an ACK that
                              ///< opens the window of the answer
};

/// The state machine of the sending side of one transfer.
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
