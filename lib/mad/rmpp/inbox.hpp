// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Incoming RMPP transfers that this side did not request: requests that are too long for one MAD. The senders are not trusted,
// so everything is bounded: the number of transfers in total and of one sender, their length and their time. Used for channels
// that do no RMPP; the Rpc owns one.
#pragma once

#include <functional>
#include <map>
#include <memory>

#include "mad/rmpp/key.hpp"
#include "mad/rmpp/receiver.hpp"

namespace ib::mad {

/// The incoming, unrequested transfers of one channel.
class RmppInbox {
 public:
  /// Sends one packet. May throw Error; the packet then counts as lost.
  using Transmit = std::function<void(Bytes packet, const path::Path& path)>;
  /// Takes a complete request: the header of its first segment and the data of all segments.
  using Deliver = std::function<void(Bytes mad, const Source& source)>;
  static constexpr std::size_t most_transfers = 64, most_of_one_sender = 16;
  static constexpr std::size_t longest = std::size_t{256} * 1024;  ///< bytes of a request

  /// Packets arrive at `end_port`, which must outlive the inbox.
  RmppInbox(async::Loop& loop, const sys::EndPort& end_port, Transmit transmit, Deliver deliver);
  ~RmppInbox();
  RmppInbox(const RmppInbox&) = delete;
  RmppInbox& operator=(const RmppInbox&) = delete;

  /// Takes a received packet. True if it begins a transfer or belongs to one.
  bool take(Bytes mad, const Source& source);
  /// The number of known transfers. Complete ones count too, because a sender that missed the last ACK is answered for a while.
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
