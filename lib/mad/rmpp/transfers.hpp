// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// RMPP transfers on a loop that do not belong to a call, for channels that do no RMPP. The Rpc owns both lists.
#pragma once

#include <compare>
#include <functional>
#include <map>
#include <optional>
#include <utility>

#include "mad/channel/channel.hpp"
#include "mad/rmpp/sides.hpp"

namespace ib::mad {

/// The transaction ID, class and remote port of a transfer.
struct RmppKey {
  std::uint64_t tid;
  std::uint8_t mgmt_class;
  Lid lid;  // of the other port
  Gid gid;  // of the other port, if a GRH is used
  auto operator<=>(const RmppKey&) const = default;

  RmppKey(Bytes mad, const path::IbPath& path)
      : RmppKey(mad, path.dlid, path.has_grh ? std::optional(path.dgid.value_or(Gid{})) : std::nullopt) {}
  RmppKey(Bytes mad, const Source& source) : RmppKey(mad, source.slid, source.has_grh ? std::optional(source.sgid) : std::nullopt) {}
  bool same_port(const RmppKey& other) const { return lid == other.lid && gid == other.gid; }

 private:
  RmppKey(Bytes mad, Lid to, const std::optional<Gid>& beyond)
      : tid(HeaderView(mad).transaction_id()), mgmt_class(mad[1]), lid(beyond ? Lid{} : to), gid(beyond.value_or(Gid{})) {}
};

/// Sends one packet. May throw Error; the packet then counts as lost.
using SendPacket = std::function<void(Bytes packet, const path::Path& path)>;

/// The outgoing transfers. ACKs, or timeouts without ACKs, drive each until it is complete or has failed.
class RmppOutbox {
 public:
  /// The greatest number of transfers at once. A transfer to a receiver that has vanished uses memory until it fails.
  static constexpr std::size_t most_transfers = 256;
  /// The greatest number of bytes of all transfers together. Any number of unknown requesters may each request a table.
  static constexpr std::size_t most_bytes = std::size_t{64} * 1024 * 1024;

  RmppOutbox(async::Loop& loop, SendPacket transmit) : loop_(loop), transmit_(std::move(transmit)) {}

  /// Begins to send `mad`, which may have any length and whose RMPP header is zero but for the Active flag. An earlier transfer
  /// with the same transaction ID to the same port ends, because its requester no longer waits for that answer. Throws Error if
  /// there are too many transfers, or too many bytes in them.
  void send(Bytes mad, const path::Path& path);
  /// Takes a received packet. True if it is an ACK, STOP or ABORT of one of the transfers.
  bool take(Bytes mad, const Source& source);
  std::size_t transfers() const { return transfers_.size(); }
  std::size_t bytes() const;

 private:
  struct Transfer;
  using Transfers = std::map<RmppKey, Transfer>;
  struct Transfer final : async::Timer {
    Transfer(RmppOutbox& o, Bytes mad, path::Path p)
        : outbox(o), sender({mad.begin(), mad.end()}), path(std::move(p)), deadline(o.loop_.now() + rmpp_longest_time) {}
    void expired() override;
    RmppOutbox& outbox;
    RmppSender sender;
    path::Path path;
    async::Time deadline;
    Transfers::iterator place;
  };
  void pump(Transfers::iterator place);

  async::Loop& loop_;
  SendPacket transmit_;
  Transfers transfers_;
};

/// The incoming transfers that this side did not request: requests that are too long for one MAD. The senders are not trusted, so
/// everything is bounded: the number of transfers in total and of one sender, their length and their time.
class RmppInbox {
 public:
  /// Takes a complete request: the header of its first segment and the data of all segments.
  using Deliver = std::function<void(Bytes mad, const Source& source)>;
  static constexpr std::size_t most_transfers = 64, most_of_one_sender = 16;
  static constexpr std::size_t longest = std::size_t{256} * 1024;  ///< bytes of a request

  /// Packets arrive at `end_port`, which must outlive the inbox.
  RmppInbox(async::Loop& loop, const sys::EndPort& end_port, SendPacket transmit, Deliver deliver)
      : loop_(loop), end_port_(end_port), transmit_(std::move(transmit)), deliver_(std::move(deliver)) {}

  /// Takes a received packet. True if it begins a transfer or belongs to one.
  bool take(Bytes mad, const Source& source);
  /// The number of known transfers. Complete ones count too, because a sender that missed the last ACK is answered for a while.
  std::size_t transfers() const { return transfers_.size(); }

 private:
  struct Transfer;
  using Transfers = std::map<RmppKey, Transfer>;
  struct Transfer final : async::Timer {
    Transfer(RmppInbox& i, std::uint8_t mgmt_class, path::Path p)
        : inbox(i), receiver(mgmt_class, {.window = rmpp_window_ceiling, .longest = longest}), path(std::move(p)) {}
    void expired() override { inbox.expired(place); }  // may destroy this object
    RmppInbox& inbox;
    RmppReceiver receiver;
    path::Path path;  // path of the ACKs
    async::Time last_progress, deadline;
    Transfers::iterator place;
  };
  bool make_room(const RmppKey& key);
  Transfers::iterator begin(const RmppKey& key, Bytes mad, const Source& source);
  void send_acks(Transfer& transfer);
  void expired(Transfers::iterator place);

  async::Loop& loop_;
  const sys::EndPort& end_port_;
  SendPacket transmit_;
  Deliver deliver_;
  Transfers transfers_;
};

}  // namespace ib::mad
