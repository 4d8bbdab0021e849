// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The receiving side of one RMPP transfer (IBA 13.6.6.2) without I/O and without a clock: its owner feeds it what arrives
// and tells it when time is over, and sends what next() hands out.
//
//   receiver.take(mad); while (receiver.next(packet)) channel.send(packet, …);
//   if (receiver.state() == RmppState::done) use(receiver.take_mad());
//
// It believes no number that the sender merely states: memory grows with what arrived, by no more than a window beyond
// it, and a segment costs the same whatever came before it.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "mad/rmpp_memory.hpp"

namespace ib::mad {

class RmppReceiver {
 public:
  struct Limits {
    unsigned window = rmpp_window_ceiling;  ///< segments that the sender may send without an ACK: 1…rmpp_window_ceiling
    std::size_t longest = rmpp_longest;     ///< bytes; a longer transfer is stopped with status "Resources exhausted"
    RmppMemory* memory = nullptr;           ///< shared with other transfers; one that finds none is stopped in the same way
  };

  /// For a transfer of MADs of `mgmt_class`, for which has_rmpp() holds.
  explicit RmppReceiver(std::uint8_t mgmt_class) : RmppReceiver(mgmt_class, Limits()) {}
  RmppReceiver(std::uint8_t mgmt_class, Limits limits);

  /// Takes a MAD of the transfer: DATA, STOP or ABORT. The owner has compared transaction ID and class. Segments that came
  /// before are acknowledged again, also after the end, since the sender seems to have missed that; those out of the
  /// window are dropped; what breaks the protocol fails the transfer.
  void take(Bytes mad);
  /// Nothing came for a while: acknowledges again, in case that the last ACK was lost.
  void ask_again();
  /// Gives up; the sender is told. Nothing if it has ended.
  void abort(rmpp::Status status, std::string reason = {});
  /// The next packet that is to be sent; false if there is none. Its transaction ID is that of the segments.
  bool next(Packet& packet);

  RmppState state() const { return state_; }
  const RmppFailure& failure() const { return failure_; }
  /// Segments that came in an unbroken row from the first: the measure of progress.
  std::uint32_t segments() const { return next_ - 1; }
  /// The whole MAD once state() is done: the header of the first segment, and the data of all. Once.
  std::vector<std::uint8_t> take_mad() {
    share_.release();
    return std::move(mad_);
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

  const std::size_t header_size_;  // of the class: what each segment repeats
  const Limits limits_;
  RmppState state_ = RmppState::active;
  RmppFailure failure_;
  std::vector<std::uint8_t> mad_;
  RmppMemory::Share share_;                // as long as mad_
  std::array<std::uint8_t, 64> header_{};  // of a segment: what ACKs repeat
  std::uint32_t next_ = 1;                 // the first segment that is missing
  std::uint64_t beyond_ = 0;               // bit i: segment next_ + i has come
  std::uint32_t window_last_ = 1;          // what the sender may send up to
  std::uint32_t highest_ = 0;              // segment that has come
  std::uint32_t last_ = 0;                 // the segment that said it was the last
  std::size_t last_length_ = 0;            // its data
  std::uint32_t declared_ = 0;             // PayloadLength of the first segment
  bool must_ack_ = false, must_abort_ = false;
};

}  // namespace ib::mad
