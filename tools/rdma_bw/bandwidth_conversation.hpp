// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The TCP side of a bandwidth test: messages to and from the peer, each in its turn.
#pragma once

#include <chrono>
#include <string>

#include "async/tcp.hpp"
#include "tools/rdma_bw/bandwidth_message.hpp"

namespace ib::tools {

class BandwidthConversation {
 public:
  /// The timeout of receive() for a message that the peer sends at once.
  static constexpr async::Duration patience = std::chrono::seconds(10);
  /// The timeout of receive() while the peer measures: none. TCP reports when the peer has gone.
  static constexpr async::Duration forever = async::Duration::max();

  explicit BandwidthConversation(async::TcpStream stream) : stream_(std::move(stream)) {}
  const std::string& peer() const { return stream_.peer(); }

  async::Task<> send(BandwidthMessage message);
  async::Task<> send(BandwidthMessage::Kind kind);
  /// Receives a message of the kind `expected`. Throws an Error that names the peer if another message comes, or if the peer gives up.
  async::Task<BandwidthMessage> receive(BandwidthMessage::Kind expected, async::Duration timeout = patience);

 private:
  BandwidthMessage checked(const BandwidthMessage::Wire& wire, BandwidthMessage::Kind expected) const;

  async::TcpStream stream_;
};

}  // namespace ib::tools
