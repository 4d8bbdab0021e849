// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Datagrams on the loop: a UD queue pair with its buffers. A receive buffer is posted again as soon as its datagram has been
// handled. Sends wait in a queue while the device has no room for more.
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
#include "verbs/objects.hpp"

namespace ib::verbs {

/// The GRH of a received datagram (IBA 8.3). On RoCE, the IPv6 or IPv4 header in its place.
struct ReceivedGrh {
  Gid sgid, dgid;
  std::uint8_t hop_limit{}, traffic_class{};
  std::uint32_t flow_label{};
};
/// Parses the 40 bytes before a datagram that came over `link_layer`. IPv4 addresses become GIDs ::ffff:a.b.c.d. Nothing if the
/// bytes are not a header.
std::optional<ReceivedGrh> parse_grh(Bytes bytes, sys::LinkLayer link_layer);

/// The queue sizes of a DatagramPort on `device`: the wanted sizes, or the device's limits if these are smaller.
QueueSizes datagram_queue_sizes(const ibv_device_attr& device);

class DatagramPort;

/// The events of a DatagramPort. The loop calls them.
class DatagramEvents {
 public:
  /// A datagram came. `payload` is valid only during the call. `grh` is absent if the datagram had none.
  virtual void arrived(const DatagramPort& port, Bytes payload, const std::optional<ReceivedGrh>& grh, const ibv_wc& completion) = 0;
  /// The port has failed. No event follows.
  virtual void broken(std::exception_ptr error) = 0;

 protected:
  ~DatagramEvents() = default;
};

/// A UD queue pair with its buffers, which reports received datagrams to a DatagramEvents.
class DatagramPort final : private async::PollSource, private async::Timer {
 public:
  static constexpr std::size_t longest = 256;  ///< bytes of a datagram; enough for a MAD
  static constexpr unsigned receives = 1024;   ///< receive buffers, if the device allows so many
  static constexpr unsigned sends = 256;

  /// Opens a queue pair with the end port, the P_Key and the Q_Key of `path`. Throws SysError: EPERM if this process may not use the Q_Key.
  DatagramPort(const ProtectionDomain& domain, const path::IbPath& path);

  Qpn number() const { return qp_.number(); }
  std::uint16_t pkey_index() const { return pkey_index_; }
  /// The number of datagrams that may arrive before the first of them is handled.
  std::size_t receive_buffers() const { return receive_slots_; }
  void attach(DatagramEvents& events, async::Loop& loop);
  void detach();
  /// Sends `payload`, at most `longest` bytes, to the destination of `path`. Throws SysError as AddressHandle does.
  void send(Bytes payload, const path::IbPath& path);

 private:
  DatagramPort(const ProtectionDomain& domain, const path::IbPath& path, QueueSizes sizes);

  static constexpr std::size_t grh_size = 40;
  static constexpr std::size_t slot_size = grh_size + longest;
  /// Identifies an address, in the order of ibv_ah_attr.
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
  std::size_t receive_slots_;  // the first slots; the other slots are for sends
  CompletionQueue queue_;
  std::vector<std::uint8_t> memory_;
  MemoryRegion region_;
  QueuePair qp_;
  std::vector<std::size_t> free_slots_;                  // for sends
  std::vector<std::shared_ptr<AddressHandle>> sending_;  // by slot: must live as long as the send
  std::deque<Waiting> waiting_;
  std::map<AddressKey, std::shared_ptr<AddressHandle>> addresses_;  // recently used ones
  DatagramEvents* events_{};
  async::Loop* loop_{};
};

}  // namespace ib::verbs
