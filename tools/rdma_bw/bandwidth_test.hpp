// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// A bandwidth test between two hosts. Client and server send each other their queue pairs over TCP. The server finds the path, and the
// client uses the reversed path. Then one end or both write.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "tools/frame/stack.hpp"
#include "tools/rdma_bw/bandwidth.hpp"
#include "tools/rdma_bw/bandwidth_conversation.hpp"

namespace ib::tools {

enum class BandwidthRole { client, server };

struct BandwidthResult {
  std::string peer;
  path::IbPath path;
  BandwidthMessage plan, remote;                  ///< of this end and the peer
  std::optional<async::Duration> sent, received;  ///< how long it took this end and the peer to write everything
};

class BandwidthTest {
 public:
  /// Throws as BandwidthEnd does if the device cannot be used, before anything is sent to the peer.
  BandwidthTest(Stack& stack, BandwidthRole role, const BandwidthPlan& plan, bool bidirectional);

  /// The whole test with one peer. If it fails at this end, the peer gets the reason. Calls `met` once both ends are connected; the result
  /// then lacks its times. Throws Error or SysError.
  async::Task<> run(async::TcpStream stream, std::function<void()> met);
  const BandwidthResult& result() const { return result_; }

 private:
  using Peer = BandwidthConversation;
  async::Task<> meet_server(Peer& peer);
  async::Task<> meet_client(Peer& peer);
  async::Task<path::IbPath> path_to(const BandwidthMessage& offer);
  async::Task<> connected(Peer& peer, const BandwidthMessage& mine, const BandwidthMessage& theirs);
  async::Task<> measure(Peer& peer);
  async::Task<> own_part(Peer& peer);
  async::Task<> peers_part(Peer& peer);

  Stack& stack_;
  BandwidthRole role_;
  BandwidthPlan plan_;
  bool bidirectional_;
  std::optional<BandwidthEnd> end_;
  BandwidthResult result_;
};

}  // namespace ib::tools
