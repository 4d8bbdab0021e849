// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// What carries MADs: one end port's way to send a MAD and to hear what became of it. Channels know nothing of
// requests, retries or windows; the Rpc above does. umad is the real one, tests have a fake fabric behind another.
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

/// Where a received MAD came from: the fields of its headers, as the sender set them.
struct Source {
  Lid slid;
  std::uint8_t sl{};
  std::uint8_t dlid_bits{};    ///< low bits of our LID that it was sent to
  std::uint16_t pkey_index{};  ///< in the table of the port that carries the class; see sys::EndPort::carrier()
  std::uint32_t sqpn{};
  std::uint32_t qkey{};
  bool has_grh{};
  Gid sgid;
  std::optional<Gid> dgid;  ///< of ours; absent where the channel could not tell
  std::uint8_t hop_limit{}, traffic_class{};
  std::uint32_t flow_label{};
  /// The path that the MAD took: from its sender to `end_port`.
  path::Path path(const sys::EndPort& end_port, std::uint8_t mgmt_class) const;
};

/// What a program answers: the requests of a class and version with one of the methods. GMPs only.
struct Service {
  static constexpr std::array<std::uint64_t, 2> all_methods{~std::uint64_t{0}, ~std::uint64_t{0}};
  std::uint8_t mgmt_class{};
  std::uint8_t class_version = 1;
  std::uint32_t oui{};                                 ///< vendor classes of range 2 only
  std::array<std::uint64_t, 2> methods = all_methods;  ///< a bit for each method; what is not in it gets no answer at all
};

/// What a channel reports. Called from the loop; `mad` is valid during the call only.
class ChannelEvents {
 public:
  /// A MAD arrived, of any length ≥ 0 and with any content.
  virtual void received(Bytes mad, const Source& source) = 0;
  /// A sent MAD was not answered (`error` ETIMEDOUT) or could not be sent. `header` holds at least its first 24 bytes.
  virtual void send_failed(Bytes header, int error) = 0;
  /// The channel is of no more use; nothing comes after this.
  virtual void broken(std::exception_ptr error) = 0;

 protected:
  ~ChannelEvents() = default;
};

class Channel {
 public:
  virtual ~Channel() = default;

  virtual const sys::EndPort& end_port() const = 0;
  /// Starts to report to `events` from within `loop`. Once; both must outlive the channel or its detach().
  virtual void attach(ChannelEvents& events, async::Loop& loop) = 0;
  virtual void detach() = 0;
  /// Sends `mad` on `path`; an unanswered request is reported after `timeout` if reports_timeouts(), and an answer that comes
  /// later may be dropped, but for segments. A timeout of zero is for what nobody answers, above all for answers. Throws
  /// SysError: EINVAL for what the kernel refuses, others as sending failed.
  virtual void send(Bytes mad, const path::Path& path, Duration timeout) = 0;

  /// Has requests of `service` delivered to received(). Once for each class and OUI. Throws SysError, EINVAL where another program
  /// of this host serves them; Error where they can not come by this channel.
  virtual void serve(const Service& service) = 0;

  /// The bits of the transaction ID that come back as they were sent: the kernel owns the upper half on umad.
  virtual std::uint64_t tid_mask() const = 0;
  /// Whether every sent request that is not answered is reported by send_failed() after its timeout.
  virtual bool reports_timeouts() const = 0;
  /// Whether the channel itself does RMPP for MADs of `mgmt_class`, a class with has_rmpp(): send() takes MADs of any length
  /// whose RMPP header says Active and segments them, received() reports whole ones. No channel of this library does; those of
  /// tests do, with the kernel's RMPP or with none. Where it does not, each segment and ACK is a MAD of its own, which whoever
  /// uses the channel makes and understands.
  virtual bool does_rmpp(std::uint8_t /*mgmt_class*/) const { return false; }
  /// No more than this many requests may be on their way, whatever a user asks for.
  virtual unsigned max_in_flight() const { return ~0U; }
  /// Whether what a sender left to the kernel to segment arrives as its first packet, without its end. True of no real hardware.
  virtual bool loses_segments() const { return false; }
};

}  // namespace ib::mad
