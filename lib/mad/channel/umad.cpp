// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// MADs through umad. The kernel matches replies to requests by transaction ID, and owns the upper half of the ID. If a request
// is not answered in time, the kernel returns its first bytes with a status. Until then the kernel keeps the request, which
// cannot be cancelled. An agent is registered for each class when its first MAD is sent.
//
// The kernel's RMPP is not used. The agents are registered without an RMPP version, so each segment and ACK passes as a MAD of
// its own (since Linux 3.18). The reasons: the kernel matches an answer to its request only when the answer is complete, and
// segments do not restart the timer of the request, so a table that takes longer than a try would always be lost. The kernel
// also reassembles requests of any length, and keeps unacknowledged answers without a limit.

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <optional>
#include <type_traits>
#include <vector>

#include "base/error.hpp"
#include "iba/registry.hpp"
#include "mad/channel/open.hpp"
#include "mad/channel/umad.hpp"
#include "mad/rmpp/rmpp.hpp"
#include "path/path.hpp"
#include "sys/umad_port.hpp"

namespace ib::mad {

namespace {

// The kernel keeps the fields of an address in network order, except the indexes.
template <class T>
void store(T& member, std::type_identity_t<T> value) {
  store_be(reinterpret_cast<std::uint8_t*>(&member), value);
}

template <class T>
T load(const T& member) {
  return load_be<T>(reinterpret_cast<const std::uint8_t*>(&member));
}

constexpr std::size_t header_bytes = sys::UmadPort::header_bytes;
/// The longest MAD that a device delivers without reassembly: Omni-Path has MADs of 2 KiB (base version 0x80). For a shorter buffer the
/// kernel's read() fails with EINVAL, and the MAD stays at the front of the queue.
constexpr std::size_t longest_single = 2048;

class UmadDevice final : public async::PollSource {
 public:
  UmadDevice(const sys::EndPort& end_port, bool smp) : end_port_(end_port), port_(end_port, smp), host_(port_.fd()) {
    agents_.fill(-1);
    servers_.fill(-1);
  }

  const UmadHost& host() const { return host_; }
  void attach(ChannelEvents& events, async::Loop& loop) {
    events_ = &events;
    loop.watch(*this, port_.fd(), POLLIN, host_.poll_slice());
  }
  void send(Bytes mad, const path::IbPath& path, Duration timeout);
  void serve(const Service& service);
  void ready(short revents) override;

 private:
  std::uint32_t agent(Bytes mad);
  bool read_one();
  void deliver(MutableBytes umad);

  const sys::EndPort& end_port_;
  sys::UmadPort port_;
  UmadHost host_;
  std::array<std::int64_t, 256> agents_{};   // by class; for requests that we send
  std::array<std::int64_t, 256> servers_{};  // by class; for requests that we answer
  std::array<std::uint8_t, header_bytes + longest_single> buffer_{};
  std::vector<std::uint8_t> send_buffer_;
  ChannelEvents* events_{};
};

/// The agent that sends `mad`. An answer leaves through the agent that received its request.
std::uint32_t UmadDevice::agent(Bytes mad) {
  const std::uint8_t mgmt_class = mad[1];
  if (HeaderView(mad).is_response() && servers_[mgmt_class] >= 0) return static_cast<std::uint32_t>(servers_[mgmt_class]);
  auto& id = agents_[mgmt_class];
  if (id < 0) id = port_.register_agent({.mgmt_class = mgmt_class, .class_version = mad[2], .oui = mad_oui(mad)});
  return static_cast<std::uint32_t>(id);
}

void UmadDevice::serve(const Service& service) {
  servers_[service.mgmt_class] = port_.register_agent(
      {.mgmt_class = service.mgmt_class, .class_version = service.class_version, .oui = service.oui, .methods = service.methods});
  host_.serve(end_port_, [this](std::uint8_t mgmt_class) {
    if (agents_[mgmt_class] < 0) agents_[mgmt_class] = port_.register_agent({.mgmt_class = mgmt_class});
  });
}

void UmadDevice::send(Bytes mad, const path::IbPath& path, Duration timeout) {
  ib_user_mad_t header{};
  header.agent_id = agent(mad);
  header.timeout_ms = static_cast<std::uint32_t>(std::chrono::ceil<std::chrono::milliseconds>(timeout).count());
  header.retries = 0;  // each of our retries needs a new transaction ID
  header.addr = umad_address(path, end_port_, is_smp(mad[1]));
  send_buffer_.resize(header_bytes + mad.size());
  std::memcpy(send_buffer_.data(), &header, header_bytes);
  std::memcpy(send_buffer_.data() + header_bytes, mad.data(), mad.size());
  host_.prepare(MutableBytes(send_buffer_).subspan(header_bytes));
  port_.send(send_buffer_);
}

void UmadDevice::ready(short) {
  // The number is limited, so that timers get their turn under a flood.
  for (int i = 0; i < 64; ++i) {
    if (!read_one()) return;
  }
}

/// Reads one message. False if there is nothing to read.
bool UmadDevice::read_one() {
  MutableBytes buffer = buffer_;
  std::vector<std::uint8_t> long_buffer;
  std::optional<std::size_t> size;
  try {
    size = port_.receive(buffer);
    if (size && *size > buffer.size()) {
      // A kernel has reassembled this message. Unread, it would stay at the front of the queue for ever, before all others.
      long_buffer.resize(std::min(*size, header_bytes + rmpp_longest));
      buffer = long_buffer;
      size = port_.receive(buffer);
      if (size && *size > buffer.size()) throw SysError(ENOSPC, "read", port_.path());
    }
  } catch (const SysError&) {
    // The device has gone, or reading fails for another reason. More reads would only fail again.
    unwatch();
    events_->broken(std::current_exception());
    return false;
  }
  if (size) deliver(buffer.first(*size));
  return size.has_value();
}

void UmadDevice::deliver(MutableBytes umad) {
  if (umad.size() < header_bytes) return;
  ib_user_mad_t header{};
  std::memcpy(&header, umad.data(), header_bytes);
  const MutableBytes mad = umad.subspan(header_bytes);
  if (header.status != 0) {
    events_->send_failed(mad, static_cast<int>(header.status));
    return;
  }
  const std::size_t size = host_.receive(mad);
  events_->received(mad.first(size), umad_source(header.addr, end_port_));
}

class UmadChannel final : public Channel {
 public:
  explicit UmadChannel(const sys::EndPort& end_port) : Channel(end_port) {
    // A single device is opened at once, so that a missing permission is found early.
    if (!end_port.umad_of(false).empty()) device(false);
  }
  void send(Bytes mad, const path::Path& path, Duration timeout) override { device(is_smp(mad[1])).send(mad, path.ib(), timeout); }
  void serve(const Service& service) override { device(is_smp(service.mgmt_class)).serve(service); }
  bool reports_timeouts() const override { return !gsi_ || gsi_->host().reports_timeouts(); }
  unsigned max_in_flight() const override { return gsi_ ? gsi_->host().max_in_flight() : ~0U; }

 private:
  void attached() override {
    if (gsi_) gsi_->attach(*events_, *loop_);
    if (smi_) smi_->attach(*events_, *loop_);
  }
  UmadDevice& device(bool smp) {
    auto& device = smp && end_port().umad_of(true) != end_port().umad_of(false) ? smi_ : gsi_;
    if (device) return *device;
    device = std::make_unique<UmadDevice>(end_port(), smp);
    if (events_ != nullptr) device->attach(*events_, *loop_);
    return *device;
  }

  std::unique_ptr<UmadDevice> gsi_, smi_;  // smi_ only if it is another device
};

}  // namespace

ib_mad_addr_t umad_address(path::IbPath path, const sys::EndPort& end_port, bool smp) {
  path.end_port = &end_port.carrier(smp);
  ib_mad_addr_t address{};
  store(address.qpn, path.dqpn ? path.dqpn->value : (smp ? 0U : 1U));
  store(address.qkey, path.qkey.value_or(smp ? 0 : path::qp1_qkey));
  store(address.lid, path.dlid.value);
  address.sl = path.sl;
  if (path.slid != permissive_lid) address.path_bits = path::slid_bits(path);
  if (path.has_grh) {
    address.grh_present = 1;
    if (path.dgid) std::ranges::copy(path.dgid->bytes, address.gid);
    address.gid_index = path::sgid_index(path);
    address.hop_limit = path.hop_limit;
    address.traffic_class = path.traffic_class;
    store(address.flow_label, path.flow_label);
  }
  // SMPs always have the default P_Key (IBA figure 156).
  if (!smp && !path.end_port->pkeys.empty()) address.pkey_index = path::pkey_index(path);
  return address;
}

Source umad_source(const ib_mad_addr_t& address, const sys::EndPort& end_port) {
  Source source;
  source.slid = Lid{load(address.lid)};
  source.sl = address.sl;
  source.dlid_bits = address.path_bits;
  source.pkey_index = address.pkey_index;
  source.sqpn = load(address.qpn);
  source.qkey = load(address.qkey);
  source.has_grh = address.grh_present != 0;
  if (source.has_grh) {
    std::copy_n(address.gid, source.sgid.bytes.size(), source.sgid.bytes.begin());
    const sys::PortTable<Gid>& gids = end_port.carrier(false).gids;  // no SMP has a GRH
    if (address.gid_index < gids.size()) source.dgid = gids[address.gid_index];
    source.hop_limit = address.hop_limit;
    source.traffic_class = address.traffic_class;
    source.flow_label = load(address.flow_label);
  }
  return source;
}

std::unique_ptr<Channel> open_umad(const sys::EndPort& end_port) { return std::make_unique<UmadChannel>(end_port); }

}  // namespace ib::mad
