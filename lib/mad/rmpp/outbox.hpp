// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Outgoing RMPP transfers on a loop. ACKs, or timeouts without ACKs, drive each transfer until it is complete or has failed.
// Used for channels that do no RMPP; the Rpc owns one.
#pragma once

#include <functional>
#include <map>
#include <memory>

#include "mad/rmpp/key.hpp"
#include "mad/rmpp/sender.hpp"

namespace ib::mad {

/// The outgoing transfers of one channel.
class RmppOutbox {
 public:
  /// Sends one packet. May throw Error; the packet then counts as lost.
  using Transmit = std::function<void(Bytes packet, const path::Path& path)>;
  /// The greatest number of transfers at once. A transfer to a receiver that has vanished uses memory until it fails.
  static constexpr std::size_t most_transfers = 256;
  /// The greatest number of bytes of all transfers together. Any number of unknown requesters may each request a table.
  static constexpr std::size_t most_bytes = std::size_t{64} * 1024 * 1024;

  RmppOutbox(async::Loop& loop, Transmit transmit);
  ~RmppOutbox();
  RmppOutbox(const RmppOutbox&) = delete;
  RmppOutbox& operator=(const RmppOutbox&) = delete;

  /// Begins to send `mad`, which may have any length and whose RMPP header is zero but for the Active flag. An earlier transfer
  /// with the same transaction ID to the same port ends, because its requester no longer waits for that answer. Throws Error if
  /// there are too many transfers, or too many bytes in them.
  void send(Bytes mad, const path::Path& path);
  /// Takes a received packet. True if it is an ACK, STOP or ABORT of one of the transfers.
  bool take(Bytes mad, const Source& source);
  std::size_t transfers() const { return transfers_.size(); }
  std::size_t bytes() const;

 private:
  struct Transfer;
  using Transfers = std::map<RmppKey, std::unique_ptr<Transfer>>;
  void pump(Transfers::iterator place);

  async::Loop& loop_;
  Transmit transmit_;
  Transfers transfers_;
};

}  // namespace ib::mad
