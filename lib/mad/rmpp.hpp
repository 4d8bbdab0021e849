// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// RMPP, the reliable multi-packet protocol (IBA 13.6): how a MAD longer than one packet is cut into segments. What
// sender and receiver share. Each segment repeats the header of its class (for subnet administration 56 bytes, for vendor
// classes of range 2 40 bytes), so that it can be told from others; the rest of the packet is data.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "iba-gen/rmpp.hpp"
#include "mad/packet.hpp"

namespace ib::mad {

inline constexpr std::size_t rmpp_header_size = 36;                          ///< MAD header and RMPP header
inline constexpr std::size_t rmpp_payload = packet_size - rmpp_header_size;  ///< what PayloadLength counts, class header included
inline constexpr unsigned rmpp_window_ceiling = 64;                          ///< segments
/// Bytes that a transfer may have, and all together that come in at one engine. 8 million PathRecords, or the four tables of the
/// largest subnet (49,151 LIDs) several times; more than that is a sender without an end.
inline constexpr std::size_t rmpp_longest = std::size_t{512} * 1024 * 1024;
/// The time that a call may take once its request or answer goes in segments, all tries together; more where its timeouts add up
/// to more. At 10 MB/s it is enough for rmpp_longest. Linux gives each transfer that it receives 40 s.
inline constexpr std::chrono::seconds rmpp_longest_time{60};

/// True for the classes whose MADs have an RMPP header (IBA 13.6.2).
constexpr bool has_rmpp(std::uint8_t mgmt_class) { return mgmt_class == mgmt_class::sa || has_oui(mgmt_class); }

/// The RMPP header of a MAD of at least rmpp_header_size bytes; a view.
class RmppView {
 public:
  explicit RmppView(Bytes mad) : p_(mad.data()) {}
  /// Whether `mad` has the protocol's header, and is part of it (the Active flag).
  static bool is_active(Bytes mad) {
    return mad.size() >= rmpp_header_size && has_rmpp(mad[1]) && (RmppView(mad).flags() & rmpp::flags::active) != 0;
  }
  /// An ACK, STOP or ABORT, or of an unknown type: what is neither data nor yet to be segmented.
  static bool is_control(Bytes mad) {
    return is_active(mad) && RmppView(mad).type() != rmpp::Type::none && RmppView(mad).type() != rmpp::Type::data;
  }
  std::uint8_t version() const { return p_[24]; }
  rmpp::Type type() const { return static_cast<rmpp::Type>(p_[25]); }
  std::uint8_t flags() const { return p_[26] & 7U; }
  rmpp::Status status() const { return static_cast<rmpp::Status>(p_[27]); }
  std::uint32_t segment() const { return load_be<std::uint32_t>(p_ + 28); }
  /// PayloadLength of DATA.
  std::uint32_t length() const { return load_be<std::uint32_t>(p_ + 32); }
  std::uint32_t new_window_last() const { return load_be<std::uint32_t>(p_ + 32); }

 private:
  const std::uint8_t* p_;
};

/// Makes `packet`, which begins with the header of its class, one of the protocol, with no data.
void set_rmpp(Packet& packet, rmpp::Type type, std::uint8_t flags, rmpp::Status status, std::uint32_t data1, std::uint32_t data2);

/// Makes the RMPP header of `mad`, whose class has one, that of a MAD yet to be cut into segments: nothing but the Active flag.
void set_whole(MutableBytes mad);

/// A packet of the protocol in short: `DATA 1 first length 450`, `ACK 1 window 65`, `ABORT Too many retries(126)`.
std::string describe_segment(Bytes mad);

enum class RmppState { active, done, failed };

/// Why a transfer failed.
struct RmppFailure {
  rmpp::Status status = rmpp::Status::success;
  bool by_peer = false;  ///< the other side aborted or stopped it
  std::string reason;    ///< more than the status says, or empty

  /// In words, a clause without a capital or full stop: "the other side gave up: Too many retries(126)".
  std::string text() const;
};

}  // namespace ib::mad
