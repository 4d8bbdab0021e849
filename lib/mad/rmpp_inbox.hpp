// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The RMPP transfers that others send here unasked: requests too long for one MAD, on a loop's clock. Whoever sends them is a
// stranger, so all is bounded: their number, that of one sender, their length and their time. For channels that do no RMPP; the
// Rpc owns one.
#pragma once

#include <functional>
#include <map>
#include <memory>

#include "mad/rmpp_key.hpp"
#include "mad/rmpp_receiver.hpp"

namespace ib::mad {

class RmppInbox {
 public:
  /// Sends one packet; may throw Error, and the packet is then as good as lost.
  using Transmit = std::function<void(Bytes packet, const path::Path& path)>;
  /// Takes a request that is complete: the header of its first segment, and the data of all.
  using Deliver = std::function<void(Bytes mad, const Source& source)>;
  static constexpr std::size_t most_transfers = 64, most_of_one_sender = 16;
  static constexpr std::size_t longest = std::size_t{256} * 1024;  ///< bytes of a request

  /// `end_port` is where the packets come in; it must outlive this.
  RmppInbox(async::Loop& loop, const sys::EndPort& end_port, Transmit transmit, Deliver deliver);
  ~RmppInbox();
  RmppInbox(const RmppInbox&) = delete;
  RmppInbox& operator=(const RmppInbox&) = delete;

  /// Takes a packet that came: true if it begins a transfer or is part of one.
  bool take(Bytes mad, const Source& source);
  /// Those known, complete ones included: a sender that missed the last ACK is answered for a while.
  std::size_t transfers() const { return transfers_.size(); }

 private:
  struct Transfer;
  using Transfers = std::map<RmppKey, std::unique_ptr<Transfer>>;
  bool make_room(const RmppKey& key);
  Transfers::iterator begin(const RmppKey& key, Bytes mad, const Source& source);
  void send_acks(Transfer& transfer);
  void expired(Transfers::iterator place);

  async::Loop& loop_;
  const sys::EndPort& end_port_;
  Transmit transmit_;
  Deliver deliver_;
  Transfers transfers_;
};

}  // namespace ib::mad
