// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The messages between the two ends of rdma_bw over TCP. They have one fixed length, are big-endian, and begin with a magic word and a
// version. No length in a message is used before it has been checked.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "path/path.hpp"

namespace ib::tools {

/// What a message says, in the order of a test.
enum class BandwidthStage : std::uint8_t {
  offer = 1,   ///< the client's end, and its plan
  answer = 2,  ///< the server's end, and the path from there to the client
  ready = 3,   ///< the sender's queue pair is connected
  done = 4,    ///< the sender has finished all its writes, in `nanoseconds`
  failed = 5   ///< the sender gives up, for the reason in `text`
};

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

}  // namespace ib::tools
