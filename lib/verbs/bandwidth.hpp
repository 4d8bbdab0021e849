// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// A bandwidth test between two hosts. Client and server send each other their queue pairs over TCP. The server finds the path, and the
// client uses the reversed path. Then one end or both make RDMA writes.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "async/tcp.hpp"
#include "verbs/objects.hpp"

namespace ib::verbs {

/// What a message says, in the order of a test.
enum class BandwidthStage : std::uint8_t {
  offer = 1,   ///< the client's end, and its plan
  answer = 2,  ///< the server's end, and the path from there to the client
  ready = 3,   ///< the sender's queue pair is connected
  done = 4,    ///< the sender has finished all its writes, in `nanoseconds`
  failed = 5   ///< the sender gives up, for the reason in `text`
};

/// A message between the two ends. All have one fixed length, are big-endian, and begin with a magic word and a version. No length in a
/// message is used before it has been checked.
struct BandwidthMessage {
  static constexpr std::size_t wire_size = 128;
  static constexpr std::uint16_t protocol = 1;
  static constexpr std::uint64_t most_bytes = std::uint64_t{1} << 30;  ///< of one RDMA write
  using Wire = std::array<std::uint8_t, wire_size>;

  BandwidthStage stage{};
  // offer and answer
  bool bidirectional{};
  std::uint32_t qpn{}, psn{};  ///< of the sender
  std::uint32_t remote_key{};
  std::uint64_t address{};
  std::uint64_t size{};        ///< bytes of a write: 1…most_bytes
  std::uint32_t iterations{};  ///< at least 1
  Gid gid;                     ///< of the sender
  std::uint8_t mtu{};          ///< code of the greatest MTU of the sender's port
  std::uint8_t ack_delay{};    ///< Local CA Ack Delay code
  // answer: the rest of the path from the sender to the receiver: LIDs, P_Key, SL, rate, life time, and the GRH's fields but GIDs
  path::IbPath path;
  // done
  std::uint64_t nanoseconds{};
  // failed
  std::string text;  ///< at most 112 bytes, of any kind

  Wire pack() const;
  /// Throws Error for bytes that are not a message, have another version or contradict each other. The text of the error follows the peer's
  /// name.
  static BandwidthMessage unpack(const Wire& wire);
};

/// The timeout for what the peer does at once: to accept a connection, to send a message.
inline constexpr async::Duration bandwidth_patience = std::chrono::seconds(10);

struct BandwidthPlan {
  std::uint64_t size = 1 << 20;  ///< bytes of a write; the client decides
  std::uint32_t iterations = 1000;
  std::uint32_t depth = 100;  ///< writes on their way at once
  std::uint32_t pieces = 1;   ///< of memory that a write is gathered from
  bool bidirectional{};       ///< both ends write at once; it is enough that one end requests it
};

struct BandwidthResult {
  std::string peer;
  path::IbPath path;                              ///< the path connected over
  BandwidthPlan plan;                             ///< what both ends agreed on
  BandwidthMessage remote;                        ///< of the peer
  std::optional<async::Duration> sent, received;  ///< how long it took this end and the peer to write everything
};

/// One end of a bandwidth test: memory that the peer writes to, and a reliable connection over which this end writes to the peer's memory,
/// with several writes on their way at a time.
class BandwidthTest {
 public:
  /// Completes a path of which the end port and the GIDs are known.
  using FindPath = std::function<async::Task<path::Path>(path::Path)>;
  /// Opens the device of `from`, a path that has an end port, retries and timeout. With a `find_path` this is the server, which gets the
  /// path to the client from it; without, it is the client. Throws Error, SysError or, for more pieces than the device takes, UsageError,
  /// if the device cannot be used: before anything is sent to the peer.
  BandwidthTest(const path::IbPath& from, const BandwidthPlan& plan, FindPath find_path = {});

  /// The whole test with one peer. If it fails at this end, the peer gets the reason. Calls `met` once both ends are connected; the result
  /// then lacks its times. Calls `progress` now and then with the number of writes so far. Throws Error or SysError, also where nothing
  /// moves.
  async::Task<> run(async::TcpStream peer, std::function<void()> met, std::function<void(std::uint32_t)> progress);
  const BandwidthResult& result() const { return result_; }

 private:
  struct End {
    End(const Context& context, const BandwidthPlan& plan);
    std::vector<std::uint8_t> memory;
    CompletionQueue queue;
    MemoryRegion region;
    QueuePair qp;
  };
  void prepare();
  BandwidthMessage describe(BandwidthStage stage) const;
  void connect(path::IbPath path, const BandwidthMessage& peer);
  async::Task<> meet_server(async::TcpStream& peer);
  async::Task<> meet_client(async::TcpStream& peer);
  async::Task<std::size_t> completions(std::span<ibv_wc> into);
  async::Task<> write(std::function<void(std::uint32_t)> progress);
  async::Task<> own_part(async::TcpStream& peer, std::function<void(std::uint32_t)> progress);
  async::Task<> peers_part(async::TcpStream& peer);

  const sys::EndPort& end_port_;
  FindPath find_path_;
  Context context_;
  std::uint8_t mtu_{};
  std::optional<End> end_;
  BandwidthResult result_;
};

}  // namespace ib::verbs
