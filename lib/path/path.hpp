// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Paths: everything about how a packet travels between two end ports, as header fields of that packet. A path
// that is sent on has SLID/SGID of this host; the path of a received packet has them of the remote side.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>

#include "base/keys.hpp"
#include "iba/types.hpp"
#include "sys/device.hpp"

namespace ib::path {

using Duration = std::chrono::nanoseconds;

inline constexpr std::uint32_t qp1_qkey = 0x80010000;  ///< IBA 3.5.3: the well-known Q_Key of QP1
inline constexpr std::uint8_t max_hops = 63;           ///< IBA 14.2.2: a DR path holds 64 entries, the first unused

/// A LID- and/or GRH-routed path (LRH, GRH, BTH, DETH fields).
struct IbPath {
  const sys::EndPort* end_port{};
  // LRH
  Lid dlid, slid;
  std::uint8_t sl{};
  // BTH and DETH; absent where the path is not (yet) for a connectionless QP
  Pkey pkey = default_pkey;
  std::optional<Qpn> dqpn, sqpn;
  std::optional<std::uint32_t> qkey;
  // GRH
  bool has_grh{};
  std::optional<Gid> dgid, sgid;
  std::uint8_t hop_limit{}, traffic_class{};
  std::uint32_t flow_label{};
  // Path properties (IBA 15.2.5.16 encodings)
  std::uint8_t mtu = 1;                          ///< MTU code: 1 = 256 bytes
  std::uint8_t rate = 2;                         ///< rate code: 2 = 2.5 Gb/s
  std::optional<std::uint8_t> packet_life_time;  ///< 4.096 µs · 2^n; the port's subnet timeout where absent
  /// 4.096 µs · 2^n: the time the remote may take to answer a MAD. 0.27 s; the IBA's 4.3 s (20, C13-13.1.1) for agents whose
  /// ClassPortInfo is not known would make every dead node cost that much a try.
  std::uint8_t resp_time = 16;
  // For QPs
  std::uint8_t dack_resp_time = 20, sack_resp_time = 20;  ///< 4.096 µs · 2^n: Local CA Ack Delay of the remote and of this CA
  std::uint32_t dqpsn{}, sqpsn{};
  std::uint8_t drdatomic = 255, srdatomic = 255, min_rnr_timer{};
  // For MADs
  std::uint64_t m_key{};   ///< of SMPs sent on this path
  std::uint64_t sm_key{};  ///< of SA queries sent on this path
  std::uint64_t cc_key{};  ///< of MADs for congestion control sent on this path
  unsigned retries = 3;
  std::optional<Duration> timeout;  ///< of one try, set by the user; else mad_timeout() computes it
  std::optional<std::uint32_t> umad_agent_id;

  bool operator==(const IbPath&) const = default;
};

/// A directed-route path: SMPs only (IBA 14.2.2).
struct IbDrPath : IbPath {
  IbDrPath();                                   ///< to the local node: LIDs permissive, QP0
  explicit IbDrPath(const sys::EndPort* from);  ///< the same, from `from`
  std::array<std::uint8_t, 64> route{};         ///< route[1…hops] are the output ports; route[0] is 0
  std::uint8_t hops{};
  Lid dr_slid = permissive_lid, dr_dlid = permissive_lid;

  /// The route one hop further, or nothing when it is already max_hops long.
  std::optional<IbDrPath> advance(std::uint8_t port) const;
  bool operator==(const IbDrPath&) const = default;
};

/// Any path. Cheap enough to copy (≈300 bytes); long-lived holders keep it, RPCs take it by reference.
class Path {
 public:
  Path(IbPath path) : value_(std::move(path)) {}    // NOLINT: converts on purpose
  Path(IbDrPath path) : value_(std::move(path)) {}  // NOLINT
  const IbPath& ib() const;
  IbPath& ib();
  const IbDrPath* directed() const { return std::get_if<IbDrPath>(&value_); }
  bool operator==(const Path&) const = default;

 private:
  std::variant<IbPath, IbDrPath> value_;
};

/// For people: `Path 1 -> 18 SL=0 PKey=0xffff DQPN=1` or `DR Path (0, 1)`.
std::string to_text(const Path& path);
/// As a path spec that parse_spec() reads back: `IBPath(end_port='ibsim0/1', DLID=18, …)`. Keys that are
/// set are left out unless they are shown.
std::string to_spec(const Path& path, Keys keys = Keys::hidden);

/// The packet lifetime code of the path; the end port's subnet timeout where the path has none.
std::uint8_t packet_life_time(const IbPath& path);
/// The time one try of a MAD may take: 2 · packet lifetime + response time (IBA 13.4.6.3.1), or the user's timeout.
Duration mad_timeout(const IbPath& path);
/// The RC retry timeout: 2 · packet lifetime + remote ack delay (IBA 9.7.6.1.3).
Duration qp_timeout(const IbPath& path);

/// Whether packets can be sent on the path as it is: it has an end port and, unless directed, unicast LIDs, a destination
/// QP and, with a GRH, both GIDs. On RoCE the GRH is what is needed, and LIDs are not. What is not complete must be
/// resolved by the SA first.
bool complete(const Path& path);

/// Turns the path around (IBA 13.5.4), in place: what was received on it is answered on it. With `for_reply` the hop
/// limit of a GRH becomes 255 as a MAD reply needs it. A directed route stays: the reply's D bit turns it.
void reverse(Path& path, bool for_reply = true);

}  // namespace ib::path
