// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// A Channel sends and receives MADs through one end port. Channels know nothing of requests, retries or windows; the Rpc
// handles these. The usual channel is umad. Tests use a channel over a fake fabric.
#pragma once

#include <array>
#include <cstdint>
#include <exception>
#include <optional>

#include "async/loop.hpp"
#include "mad/packet.hpp"
#include "path/path.hpp"

namespace ib::mad {

using async::Duration;

/// The origin of a received MAD: the fields of its headers as the sender set them.
struct Source {
  Lid slid;
  std::uint8_t sl{};
  std::uint8_t dlid_bits{};    ///< low bits of our LID that the MAD was sent to
  std::uint16_t pkey_index{};  ///< index in the table of the port that carries the class; see sys::EndPort::carrier()
  std::uint32_t sqpn{};
  std::uint32_t qkey{};
  bool has_grh{};
  Gid sgid;
  std::optional<Gid> dgid;  ///< one of our GIDs; absent if the channel does not know it
  std::uint8_t hop_limit{}, traffic_class{};
  std::uint32_t flow_label{};
  /// The path that the MAD took from its sender to `end_port`.
  path::Path path(const sys::EndPort& end_port, std::uint8_t mgmt_class) const;
};

/// Parses the 40 bytes before a datagram that came by verbs over `link_layer` into the GRH fields of `source`: a GRH (IBA 8.3), or on RoCE
/// the IPv6 or IPv4 header in its place. IPv4 addresses become GIDs ::ffff:a.b.c.d. Changes nothing if the bytes are not a header.
void parse_grh(Bytes bytes, sys::LinkLayer link_layer, Source& source);

/// The requests that a program answers: one class and version, some of its methods. GMPs only.
struct Service {
  static constexpr std::array<std::uint64_t, 2> all_methods{~std::uint64_t{0}, ~std::uint64_t{0}};
  std::uint8_t mgmt_class{};
  std::uint8_t class_version = 1;
  std::uint32_t oui{};                                 ///< vendor classes of range 2 only
  std::array<std::uint64_t, 2> methods = all_methods;  ///< one bit for each method; other methods get no answer at all
};

/// The events of a channel. The loop calls them. `mad` is valid only during the call.
class ChannelEvents {
 public:
  /// A MAD arrived. It may have any length ≥ 0 and any content.
  virtual void received(Bytes mad, const Source& source) = 0;
  /// A sent MAD was not answered (`error` is ETIMEDOUT) or could not be sent. `header` has at least the first 24 bytes of the MAD.
  virtual void send_failed(Bytes header, int error) = 0;
  /// The channel has failed. No event follows.
  virtual void broken(std::exception_ptr error) = 0;

 protected:
  ~ChannelEvents() = default;
};

/// Sends and receives the MADs of one end port, which must outlive the channel.
class Channel {
 public:
  explicit Channel(const sys::EndPort& end_port) : end_port_(end_port) {}
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;
  virtual ~Channel() = default;

  const sys::EndPort& end_port() const { return end_port_; }
  /// Starts to report events to `events` from `loop`. To be called once. Both objects must outlive the channel.
  void attach(ChannelEvents& events, async::Loop& loop) {
    events_ = &events;
    loop_ = &loop;
    attached();
  }
  /// Sends `mad` on `path`. If reports_timeouts(), an unanswered request is reported after `timeout`; a later answer may be dropped, but
  /// segments of an answer are not. A `timeout` of zero is for MADs that have no answer, such as answers. Throws SysError: EINVAL if the
  /// kernel refuses the MAD, other codes if sending failed.
  virtual void send(Bytes mad, const path::Path& path, Duration timeout) = 0;

  /// Lets requests of `service` arrive at received(). To be called once for each class and OUI. Throws SysError: EINVAL if
  /// another program of this host serves the class. Throws Error if this channel cannot receive such requests.
  virtual void serve(const Service& service) = 0;

  /// The bits of the transaction ID that an answer returns unchanged. On umad the kernel owns the upper half.
  virtual std::uint64_t tid_mask() const { return 0xffffffffU; }
  /// Whether send_failed() reports every request that is not answered within its timeout.
  virtual bool reports_timeouts() const { return false; }
  /// Whether the channel itself does RMPP for MADs of `mgmt_class`, a class with has_rmpp(). If true, send() takes a MAD of any length
  /// whose RMPP header says Active and cuts it into segments, and received() reports whole MADs. If false, each segment and ACK is a MAD of
  /// its own, and the user of the channel must make and interpret it. No channel of this library does RMPP: the kernel's, below umad, loses
  /// an answer that takes longer than one try. It stays because tests/kernel has the kernel's RMPP at the other end of ours as the one
  /// partner that was not written by this project, client and server, and because the fabrics of tests/unit answer with whole tables.
  virtual bool does_rmpp(std::uint8_t /*mgmt_class*/) const { return false; }
  /// The greatest number of requests that may be in flight, whatever limit the user sets.
  virtual unsigned max_in_flight() const { return ~0U; }

 protected:
  /// Called by attach(): starts to report the events of what is open already.
  virtual void attached() {}

  ChannelEvents* events_{};  ///< both null before attach()
  async::Loop* loop_{};

 private:
  const sys::EndPort& end_port_;
};

}  // namespace ib::mad
