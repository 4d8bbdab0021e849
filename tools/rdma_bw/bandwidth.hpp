// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// A bandwidth test between two hosts. Client and server send each other their queue pairs over TCP. The server finds the path, and the
// client uses the reversed path. Then one end or both write.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "async/tcp.hpp"
#include "tools/frame/stack.hpp"
#include "tools/rdma_bw/bandwidth_message.hpp"
#include "verbs/objects.hpp"

namespace ib::tools {

struct BandwidthPlan {
  std::uint64_t size = 1 << 20;  ///< bytes of a write
  std::uint32_t iterations = 1000;
  std::uint32_t depth = 100;  ///< writes on their way at once
  std::uint32_t pieces = 1;   ///< of memory that a write is gathered from
};

/// One end of a bandwidth test: memory that the peer writes to, and a reliable connection over which this end writes to the peer's memory,
/// with several writes on their way at a time.
class BandwidthEnd {
 public:
  /// Opens the device of `end_port`, which must outlive it. Throws UsageError for more pieces than the device takes, Error or
  /// SysError where it cannot be used.
  BandwidthEnd(const sys::EndPort& end_port, const BandwidthPlan& plan);

  /// A message that describes this end. The members that depend on the path are not set.
  BandwidthMessage describe() const;
  /// Completes `path`, which leads to `peer` but does not name its queue pair yet, and connects over it.
  void connect(path::IbPath path, const BandwidthMessage& peer);
  /// The path connected over.
  const path::IbPath& path() const { return path_; }

  /// Writes the plan's iterations to the memory of the peer and returns the time from the first until the last has arrived.
  /// Calls `progress` now and then with the number of writes so far. Throws Error where one fails, or nothing moves.
  async::Task<async::Duration> write(std::function<void(std::uint32_t)> progress);

 private:
  async::Task<std::size_t> completions(std::span<ibv_wc> into);

  const sys::EndPort& end_port_;
  verbs::Context context_;
  BandwidthPlan plan_;
  std::vector<std::uint8_t> memory_;
  verbs::CompletionQueue queue_;
  verbs::MemoryRegion region_;
  verbs::QueuePair qp_;
  std::vector<ibv_sge> pieces_;
  std::uint8_t mtu_{};
  path::IbPath path_;
  std::uint64_t peer_address_{};
  std::uint32_t peer_key_{};
};

/// The timeout for what the peer does at once: to accept a connection, to send a message.
inline constexpr async::Duration bandwidth_patience = std::chrono::seconds(10);

struct BandwidthResult {
  std::string peer;
  path::IbPath path;
  BandwidthMessage plan, remote;                  ///< of this end and the peer
  std::optional<async::Duration> sent, received;  ///< how long it took this end and the peer to write everything
};

class BandwidthTest {
 public:
  /// Throws as BandwidthEnd does if the device cannot be used, before anything is sent to the peer.
  BandwidthTest(Stack& stack, bool is_client, const BandwidthPlan& plan, bool bidirectional);

  /// The whole test with one peer. If it fails at this end, the peer gets the reason. Calls `met` once both ends are connected; the result
  /// then lacks its times. Throws Error or SysError.
  async::Task<> run(async::TcpStream peer, std::function<void()> met);
  const BandwidthResult& result() const { return result_; }

 private:
  async::Task<> meet_server(async::TcpStream& peer);
  async::Task<> meet_client(async::TcpStream& peer);
  async::Task<path::IbPath> path_to(const BandwidthMessage& offer);
  async::Task<> connected(async::TcpStream& peer, const BandwidthMessage& mine, const BandwidthMessage& theirs);
  async::Task<> own_part(async::TcpStream& peer);
  async::Task<> peers_part(async::TcpStream& peer);

  Stack& stack_;
  bool is_client_;
  BandwidthPlan plan_;
  bool bidirectional_;
  std::optional<BandwidthEnd> end_;
  BandwidthResult result_;
};

}  // namespace ib::tools
