// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The sending side of one RMPP transfer (IBA 13.6.6.3) without I/O and without a clock. Its owner sends what next() hands
// out, feeds it what comes back, and calls timed_out() when nothing has come for the response time:
//
//   while (sender.next(packet)) channel.send(packet, …);
//   … sender.take(ack); or sender.timed_out(); and again, until state() is not active.
#pragma once

#include <cstdint>
#include <vector>

#include "mad/rmpp.hpp"

namespace ib::mad {

class RmppSender {
 public:
  struct Options {
    unsigned retries = 7;       ///< timeouts in a row that are survived
    bool double_sided = false;  ///< an answer by RMPP follows (SubnAdmGetMulti): the last ACK is answered by one that opens its window
  };

  /// `mad` is the header of its class, and all data, of any length; what its RMPP header says does not matter. Throws std::invalid_argument
  /// where the class has no RMPP or the MAD no whole header, or for more than rmpp_longest bytes.
  explicit RmppSender(std::vector<std::uint8_t> mad) : RmppSender(std::move(mad), Options()) {}
  RmppSender(std::vector<std::uint8_t> mad, Options options);

  /// The next packet that may be sent now; false if there is none: then the response timer runs, from the last one on.
  bool next(Packet& packet);
  /// Takes an ACK, STOP or ABORT of the receiver. The owner has compared transaction ID and class. After the end of a
  /// double-sided transfer it answers a repeated ACK.
  void take(Bytes mad);
  /// Nothing came for the response time (a second or two): sends again what was not acknowledged, or gives up.
  void timed_out();
  /// Gives up; the receiver is told. Nothing if it has ended.
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
  const Options options_;
  const std::size_t header_size_;
  std::uint32_t count_ = 0;    // of segments
  std::uint32_t next_ = 1;     // to be sent
  std::uint32_t highest_ = 0;  // that was sent
  std::uint32_t acknowledged_ = 0;
  std::uint32_t window_last_ = 1;  // what the receiver allows (IBA 13.6.6.3: 1 at first)
  unsigned retries_left_;
  RmppState state_ = RmppState::active;
  RmppFailure failure_;
  bool must_abort_ = false, must_turn_ = false;
};

}  // namespace ib::mad
