// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Datagrams on the loop: a UD queue pair with its buffers. Receive buffers are given back as soon as what they held has been
// handled; sends wait in a queue of their own while the device has no room for more.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <exception>
#include <map>
#include <memory>
#include <optional>
#include <tuple>
#include <vector>

#include "async/loop.hpp"
#include "verbs/address.hpp"
#include "verbs/queue_pair.hpp"

namespace ib::verbs {

/// The GRH that a datagram came with (IBA 8.3), or what stands in its place on RoCE: an IPv6 or IPv4 header.
struct ReceivedGrh {
  Gid sgid, dgid;
  std::uint8_t hop_limit{}, traffic_class{};
  std::uint32_t flow_label{};
};
/// Reads the 40 bytes before a datagram that came over `link_layer`. IPv4 addresses become GIDs ::ffff:a.b.c.d. Nothing where they
/// are no header.
std::optional<ReceivedGrh> parse_grh(Bytes bytes, sys::LinkLayer link_layer);

/// How long the queues of a DatagramPort are on `device`: as wanted, or as long as it can have them.
QueueSizes datagram_queue_sizes(const ibv_device_attr& device);

class DatagramPort;

/// What a DatagramPort reports, from the loop.
class DatagramEvents {
 public:
  /// `payload` is valid during the call only; `grh` is absent where there was none.
  virtual void arrived(const DatagramPort& port, Bytes payload, const std::optional<ReceivedGrh>& grh, const ibv_wc& completion) = 0;
  /// The port is of no more use; nothing comes after this.
  virtual void broken(std::exception_ptr error) = 0;

 protected:
  ~DatagramEvents() = default;
};

class DatagramPort final : private async::PollSource, private async::Timer {
 public:
  static constexpr std::size_t longest = 256;  ///< bytes of a datagram: what MADs need
  static constexpr unsigned receives = 1024;   ///< buffers that await datagrams, where the device can do so many
  static constexpr unsigned sends = 256;

  /// Opens a queue pair with the end port, the P_Key and the Q_Key of `path`. Throws SysError, EPERM where this process may
  /// not use the Q_Key.
  DatagramPort(const ProtectionDomain& domain, const path::IbPath& path);

  Qpn number() const { return qp_.number(); }
  std::uint16_t pkey_index() const { return pkey_index_; }
  /// How many datagrams may arrive before the first of them is handled.
  std::size_t receive_buffers() const { return receive_slots_; }
  void attach(DatagramEvents& events, async::Loop& loop);
  void detach();
  /// Sends `payload`, of at most `longest` bytes, to where `path` leads. Throws SysError as AddressHandle does.
  void send(Bytes payload, const path::IbPath& path);

 private:
  DatagramPort(const ProtectionDomain& domain, const path::IbPath& path, QueueSizes sizes);

  static constexpr std::size_t grh_size = 40;
  static constexpr std::size_t slot_size = grh_size + longest;
  /// What tells addresses apart, in the order of ibv_ah_attr.
  using AddressKey = std::tuple<Gid, std::uint32_t, std::array<std::uint8_t, 3>, std::uint16_t, std::array<std::uint8_t, 4>>;
  struct Waiting {
    std::vector<std::uint8_t> payload;
    std::shared_ptr<AddressHandle> address;
    std::uint32_t qpn, qkey;
  };

  void ready(short /*revents*/) override { work(true); }
  void expired() override { work(false); }
  void work(bool event);
  bool drain();
  void completed(const ibv_wc& completion);
  void post_receive(std::size_t slot);
  void post_send(std::size_t slot, Waiting send);
  std::shared_ptr<AddressHandle> address_handle(const path::IbPath& path);
  std::uint8_t* slot(std::size_t index) { return memory_.data() + index * slot_size; }

  const ProtectionDomain& domain_;
  sys::LinkLayer link_layer_;
  std::uint16_t pkey_index_;
  std::size_t receive_slots_;  // the first ones; the others are for sends
  CompletionQueue queue_;
  std::vector<std::uint8_t> memory_;
  MemoryRegion region_;
  QueuePair qp_;
  std::vector<std::size_t> free_slots_;                  // for sends
  std::vector<std::shared_ptr<AddressHandle>> sending_;  // by slot: must live as long as the send
  std::deque<Waiting> waiting_;
  std::map<AddressKey, std::shared_ptr<AddressHandle>> addresses_;  // those used lately
  DatagramEvents* events_{};
  async::Loop* loop_{};
};

}  // namespace ib::verbs
