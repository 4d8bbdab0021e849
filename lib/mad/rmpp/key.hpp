// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Identifies an RMPP transfer with another port.
#pragma once

#include <compare>
#include <optional>

#include "mad/channel/channel.hpp"

namespace ib::mad {

/// The transaction ID, class and remote port of a transfer.
struct RmppKey {
  std::uint64_t tid;
  std::uint8_t mgmt_class;
  Lid lid;  // of the other port
  Gid gid;  // of the other port, if a GRH is used
  auto operator<=>(const RmppKey&) const = default;

  /// The key of a MAD that is sent on `path`.
  RmppKey(Bytes mad, const path::IbPath& path)
      : RmppKey(mad, path.dlid, path.has_grh ? std::optional(path.dgid.value_or(Gid{})) : std::nullopt) {}
  /// The key of a received MAD.
  RmppKey(Bytes mad, const Source& source) : RmppKey(mad, source.slid, source.has_grh ? std::optional(source.sgid) : std::nullopt) {}
  bool same_port(const RmppKey& other) const { return lid == other.lid && gid == other.gid; }

 private:
  RmppKey(Bytes mad, Lid to, const std::optional<Gid>& beyond)
      : tid(HeaderView(mad).transaction_id()), mgmt_class(mad[1]), lid(beyond ? Lid{} : to), gid(beyond.value_or(Gid{})) {}
};

}  // namespace ib::mad
