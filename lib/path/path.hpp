// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// A path describes how a packet travels between two end ports, as header fields of that packet. A path for sending has the SLID
// and SGID of this host. The path of a received packet has the SLID and SGID of the remote side.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "base/keys.hpp"
#include "iba/types.hpp"
#include "report/sink.hpp"
#include "sys/device.hpp"

namespace ib::path {

using Duration = std::chrono::nanoseconds;

inline constexpr std::uint32_t qp1_qkey = 0x80010000;  ///< IBA 3.5.3: the well-known Q_Key of QP1
inline constexpr unsigned last_port = 254;             ///< the highest number of a port; 255 is a wildcard (IBA 14.2.5.4, 14.2.5.6)
inline constexpr std::uint8_t max_hops = 63;           ///< IBA 14.2.2: a DR path holds 64 entries, and the first is unused

/// A LID- and/or GRH-routed path (LRH, GRH, BTH, DETH fields).
struct IbPath {
  const sys::EndPort* end_port{};
  // LRH
  Lid dlid, slid;
  std::uint8_t sl{};
  // BTH and DETH; absent if the path is not (yet) for a connectionless QP
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
  std::optional<std::uint8_t> packet_life_time;  ///< 4.096 µs · 2^n; if absent, the port's subnet timeout applies
  /// Time that the remote may take to answer a MAD, 4.096 µs · 2^n. The default is 0.27 s. For agents with unknown
  /// ClassPortInfo the IBA says 4.3 s (20, C13-13.1.1), but then each try to a dead node would take that long.
  std::uint8_t resp_time = 16;
  // For QPs
  std::uint8_t dack_resp_time = 20, sack_resp_time = 20;  ///< 4.096 µs · 2^n: Local CA Ack Delay of the remote and of this CA
  std::uint32_t dqpsn{}, sqpsn{};
  std::uint8_t drdatomic = 255, srdatomic = 255, min_rnr_timer{};
  /// The NodeGUID or a port GUID of the node that the path should lead to; 0 if any node at its end will do. No packet carries it. A Set is
  /// not sent to another node (subnet/set/set_target.hpp).
  Guid expected_node_guid;
  // For MADs
  std::uint64_t m_key{};   ///< of SMPs sent on this path
  std::uint64_t sm_key{};  ///< of SA queries sent on this path
  std::uint64_t cc_key{};  ///< of MADs for congestion control sent on this path
  unsigned retries = 3;
  std::optional<Duration> timeout;  ///< of one try, set by the user; if absent, mad_timeout() computes it
  std::optional<std::uint32_t> umad_agent_id;

  bool operator==(const IbPath&) const = default;
  /// From QP to QP with the well-known Q_Key: QP0 for SMPs, QP1 for GMPs.
  void use_qp(Qpn qp);
};

/// A directed-route path: SMPs only (IBA 14.2.2).
struct IbDrPath : IbPath {
  IbDrPath();                                   ///< to the local node: permissive LIDs, QP0
  explicit IbDrPath(const sys::EndPort* from);  ///< to the local node of end port `from`
  std::array<std::uint8_t, 64> route{};         ///< route[1…hops] are the output ports; route[0] is 0
  std::uint8_t hops{};
  Lid dr_slid = permissive_lid, dr_dlid = permissive_lid;

  /// The route extended by one hop, or nothing if the route has max_hops already.
  std::optional<IbDrPath> advance(std::uint8_t port) const;
  /// Whether the route begins at this host rather than at a LID.
  bool begins_here() const { return dlid == permissive_lid || dlid == Lid{}; }
  /// The output ports, from the first hop on.
  std::span<const std::uint8_t> ports() const { return std::span(route).subspan(1, hops < max_hops ? hops : max_hops); }
  /// Removes the last hop, and returns its port. Precondition: there is a hop.
  std::uint8_t retreat() { return std::exchange(route[hops--], std::uint8_t{0}); }
  bool operator==(const IbDrPath&) const = default;
};

/// Any path. Copying is cheap (≈300 bytes). Objects that live long keep a copy; RPCs take a reference.
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

/// The path as text for people: `Path 1 -> 18 SL=0 PKey=0xffff DQPN=1` or `DR Path (0, 1)`.
std::string to_text(const Path& path);
/// The path as a path spec that parse_spec() can read: `IBPath(end_port='ibsim0/1', DLID=18, …)`. With Keys::hidden, keys that
/// are set are left out.
std::string to_spec(const Path& path, Keys keys = Keys::hidden);
/// Writes the path as the object `key`. The members are always the same. Members that this kind of path does not have, and unknown LIDs,
/// are null.
void visit(report::Sink& sink, std::string_view key, const Path& path);

/// The packet lifetime code of the path, or the end port's subnet timeout if the path has none.
std::uint8_t packet_life_time(const IbPath& path);
/// The timeout of one try of a MAD: 2 · packet lifetime + response time (IBA 13.4.6.3.1), or the user's timeout.
Duration mad_timeout(const IbPath& path);
/// The RC retry timeout: 2 · packet lifetime + remote ack delay (IBA 9.7.6.1.3).
Duration qp_timeout(const IbPath& path);

/// Whether packets can be sent on the path as it is. The path needs an end port. Unless directed, the path also needs unicast
/// LIDs, a destination QP and, with a GRH, both GIDs. On RoCE the path needs the GRH but no LIDs. An incomplete path must be
/// resolved by the SA first.
bool complete(const Path& path);

/// Reverses the path in place (IBA 13.5.4): a packet received on the path is answered on the reversed path. With `for_reply`, the hop limit
/// of a GRH becomes 255, as a MAD reply needs. A directed route stays unchanged, because the D bit of the reply reverses it.
void reverse(Path& path, bool for_reply = true);

// A path names GIDs, P_Keys and LIDs by value. Devices name them by an index into the end port's tables, or by the low bits that LMC leaves
// free. The next functions convert between both forms. All of them need the path's end_port. On planarized HCAs they use the tables of the
// GSI half.

/// The index of the path's SGID in the end port's GID table, or 0 for a path without SGID. Throws Error "GID … not available on
/// …", also for an index above 255, which neither umad nor verbs accept.
std::uint8_t sgid_index(const IbPath& path);

/// The index of the path's P_Key in the end port's table. The same P_Key with the other membership also matches (IBA 10.9.3).
/// Throws Error "PKey … not available on …".
std::uint16_t pkey_index(const IbPath& path);
/// Sets the P_Key to the entry at `index`. Throws UsageError if the table has no P_Key there.
void set_pkey_index(IbPath& path, unsigned index);

/// The low bits of SLID, which select one of the end port's 2^LMC LIDs.
std::uint8_t slid_bits(const IbPath& path);

}  // namespace ib::path
