// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// RMPP, the reliable multi-packet protocol (IBA 13.6), cuts a MAD longer than one packet into segments. This file holds the
// common part of sender and receiver. Each segment repeats the header of its class (56 bytes for subnet administration, 40
// bytes for vendor classes of range 2); the rest of the packet is data.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "iba-gen/rmpp.hpp"
#include "mad/packet.hpp"

namespace ib::mad {

inline constexpr std::size_t rmpp_header_size = 36;                          ///< MAD header and RMPP header
inline constexpr std::size_t rmpp_payload = packet_size - rmpp_header_size;  ///< bytes that PayloadLength counts, class header included
inline constexpr unsigned rmpp_window_ceiling = 64;                          ///< segments
/// Bytes that one transfer, and all incoming transfers of one engine together, may have. This is enough for 8 million
/// PathRecords, or several times the four tables of the largest subnet (49,151 LIDs). A longer transfer counts as endless.
inline constexpr std::size_t rmpp_longest = std::size_t{512} * 1024 * 1024;
/// The longest time for all tries of a call together once its request or answer goes in segments. If the timeouts of the call add up to
/// more, that sum applies. The time is enough for rmpp_longest at 10 MB/s. For comparison, Linux gives each transfer that it receives 40 s.
inline constexpr std::chrono::seconds rmpp_longest_time{60};
/// How long a complete transfer still acknowledges repeated segments.
inline constexpr std::chrono::seconds rmpp_linger{10};

/// True for the classes whose MADs have an RMPP header (IBA 13.6.2).
constexpr bool has_rmpp(std::uint8_t mgmt_class) { return mgmt_class == mgmt_class::sa || has_oui(mgmt_class); }

/// A view of the RMPP header of a MAD, which must have at least rmpp_header_size bytes.
class RmppView {
 public:
  explicit RmppView(Bytes mad) : p_(mad.data()) {}
  /// Whether `mad` has an RMPP header with the Active flag.
  static bool is_active(Bytes mad) {
    return mad.size() >= rmpp_header_size && has_rmpp(mad[1]) && (RmppView(mad).flags() & rmpp::flags::active) != 0;
  }
  /// Whether `mad` is an ACK, STOP or ABORT, or has an unknown type. Neither data nor a MAD yet to be segmented is a control packet.
  static bool is_control(Bytes mad) {
    return is_active(mad) && RmppView(mad).type() != rmpp::Type::none && RmppView(mad).type() != rmpp::Type::data;
  }
  std::uint8_t version() const { return p_[24]; }
  rmpp::Type type() const { return static_cast<rmpp::Type>(p_[25]); }
  std::uint8_t flags() const { return p_[26] & 7U; }
  rmpp::Status status() const { return static_cast<rmpp::Status>(p_[27]); }
  std::uint32_t segment() const { return load_be<std::uint32_t>(p_ + 28); }
  /// PayloadLength of a DATA packet.
  std::uint32_t length() const { return load_be<std::uint32_t>(p_ + 32); }
  std::uint32_t new_window_last() const { return load_be<std::uint32_t>(p_ + 32); }

 private:
  const std::uint8_t* p_;
};

/// Makes `packet`, which begins with the header of its class, an RMPP packet without data.
void set_rmpp(Packet& packet, rmpp::Type type, std::uint8_t flags, rmpp::Status status, std::uint32_t data1, std::uint32_t data2);

/// Makes `mad`, whose class has RMPP, a MAD that is yet to be cut into segments: its RMPP header has only the Active flag.
void set_whole(MutableBytes mad);

/// A short text for an RMPP packet: `DATA 1 first length 450`, `ACK 1 window 65`, `ABORT Too many retries(126)`.
std::string describe_segment(Bytes mad);

/// The state of one side of a transfer.
enum class RmppState { active, done, failed };

/// The reason of a failed transfer.
struct RmppFailure {
  rmpp::Status status = rmpp::Status::success;
  bool by_peer = false;  ///< the other side sent ABORT or STOP
  std::string reason;    ///< details beyond the status, or empty

  /// The reason as a clause without a capital letter or full stop: "the other side gave up: Too many retries(126)".
  std::string text() const;
};

}  // namespace ib::mad
