// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The RMPP transfers that this side sends, on a loop's clock: each goes on by its ACKs and by itself when none come, until
// it is done or given up. For channels that do no RMPP; the Rpc owns one.
#pragma once

#include <functional>
#include <map>
#include <memory>

#include "mad/rmpp_key.hpp"
#include "mad/rmpp_sender.hpp"

namespace ib::mad {

class RmppOutbox {
 public:
  /// Sends one packet; may throw Error, and the packet is then as good as lost.
  using Transmit = std::function<void(Bytes packet, const path::Path& path)>;
  /// Transfers at once: receivers that vanish cost memory until they are given up.
  static constexpr std::size_t most_transfers = 256;
  /// Bytes of all transfers together: so many strangers may ask, each for a table.
  static constexpr std::size_t most_bytes = std::size_t{64} * 1024 * 1024;

  RmppOutbox(async::Loop& loop, Transmit transmit);
  ~RmppOutbox();
  RmppOutbox(const RmppOutbox&) = delete;
  RmppOutbox& operator=(const RmppOutbox&) = delete;

  /// Begins to send `mad`, of any length, its RMPP header zero but for the Active flag. A transfer with its transaction ID to
  /// the same port ends: that was a try whose answer nobody waits for any more. Throws Error where the transfers, or their bytes, are too
  /// many.
  void send(Bytes mad, const path::Path& path);
  /// Takes a packet that came: true if it was one transfer's ACK, STOP or ABORT.
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
