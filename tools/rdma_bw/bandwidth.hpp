// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// One end of a bandwidth test: memory that the peer writes to, and a reliable connection over which this end writes to the
// peer's, with several writes on their way at a time.
#pragma once

#include <functional>
#include <vector>

#include "async/task.hpp"
#include "tools/rdma_bw/bandwidth_message.hpp"
#include "verbs/queue_pair.hpp"

namespace ib::tools {

struct BandwidthPlan {
  std::uint64_t size = 1 << 20;  ///< bytes of a write
  std::uint32_t iterations = 1000;
  std::uint32_t depth = 100;  ///< writes on their way at once
  std::uint32_t pieces = 1;   ///< of memory that a write is gathered from
};

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
  void post();
  void check(const ibv_wc& completion) const;
  async::Task<std::size_t> completions(std::span<ibv_wc> into);

  const sys::EndPort& end_port_;
  verbs::Context context_;
  verbs::ProtectionDomain domain_;
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

}  // namespace ib::tools
