// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// MADs through umad. The kernel matches replies to requests by transaction ID, of which it owns the upper half, and
// reports a request that was not answered in time as its own first bytes with a status. It keeps a request until
// then: there is no taking back. An agent is registered for each class when its first MAD is sent.
#include "mad/umad.hpp"

#include <fcntl.h>
#include <infiniband/umad.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <vector>

#include <fmt/format.h>

#include "base/error.hpp"
#include "path/indexes.hpp"
#include "sys/device.hpp"

namespace ib::mad {

namespace {

constexpr std::size_t longest_answer = std::size_t{1} << 30;  // of a reassembled RMPP transfer

/// One open umad device.
class Device final : public async::PollSource {
 public:
  Device(const sys::EndPort& port, const std::string& umad) : name_("/dev/infiniband/" + umad) {
    agents_.fill(-1);
    umad_init();
    errno = 0;
    fd_ = umad_open_port(port.device->name.c_str(), static_cast<int>(port.number));
    if (fd_ < 0) throw_open_error(errno != 0 ? errno : ENODEV);
    buffer_.resize(umad_size() + packet_size);
    send_buffer_.resize(umad_size() + packet_size);
    // A preload library that simulates umad invents descriptors of which the kernel knows nothing.
    simulated_ = ::fcntl(fd_, F_GETFD) < 0 && errno == EBADF;
  }
  ~Device() override {
    unwatch();
    umad_close_port(fd_);
  }

  bool simulated() const { return simulated_; }
  void attach(ChannelEvents* events, async::Loop* loop) {
    events_ = events;
    if (loop != nullptr) {
      loop->watch(*this, fd_, POLLIN, simulated_);
    } else {
      unwatch();
    }
  }
  void send(Bytes mad, const path::IbPath& path, Duration timeout);
  void ready(short revents) override;

 private:
  [[noreturn]] void throw_open_error(int code) const;
  int agent(Bytes mad);
  void set_address(const path::IbPath& path, bool smp);
  bool read_one();
  void deliver(std::size_t length);
  void grow(std::size_t needed);

  std::string name_;
  int fd_ = -1;
  bool simulated_ = false;
  std::array<int, 256> agents_{};  // by class
  std::vector<std::uint8_t> buffer_, send_buffer_;
  ChannelEvents* events_{};
};

void Device::throw_open_error(int code) const {
  SysError error(code, "open", name_);
  if (code == EACCES || code == EPERM) error.note(fmt::format("No permission to use {}: run as root or let your group use it", name_));
  if (code == ENOENT) error.note(fmt::format("There is no {}: is the kernel module ib_umad loaded?", name_));
  throw error;
}

int Device::agent(Bytes mad) {
  const std::uint8_t mgmt_class = mad[1];
  int& id = agents_[mgmt_class];
  if (id >= 0) return id;
  errno = 0;
  if (has_oui(mgmt_class)) {
    std::array<std::uint8_t, 3> oui{mad[37], mad[38], mad[39]};
    id = umad_register_oui(fd_, mgmt_class, 0, oui.data(), nullptr);
  } else {
    // Version 1 lets the kernel do RMPP; SMPs and the other classes have none.
    id = umad_register(fd_, mgmt_class, mad[2], mgmt_class == mgmt_class::sa ? 1 : 0, nullptr);
  }
  if (id < 0) throw SysError(errno != 0 ? errno : EPERM, fmt::format("register for management class 0x{:02x}", mgmt_class), name_);
  return id;
}

void Device::set_address(const path::IbPath& path, bool smp) {
  void* umad = send_buffer_.data();
  std::memset(umad, 0, umad_size());
  const unsigned dqpn = path.dqpn ? path.dqpn->value : (smp ? 0U : 1U);
  const std::uint32_t qkey = path.qkey.value_or(smp ? 0 : path::qp1_qkey);
  umad_set_addr(umad, path.dlid.value, static_cast<int>(dqpn), path.sl, static_cast<int>(qkey));
  ib_mad_addr_t* addr = umad_get_mad_addr(umad);
  if (path.slid != permissive_lid) addr->path_bits = path::slid_bits(path);
  if (path.has_grh) {
    addr->grh_present = 1;
    if (path.dgid) std::ranges::copy(path.dgid->bytes, addr->gid);
    addr->gid_index = static_cast<std::uint8_t>(path::sgid_index(path));
    addr->hop_limit = path.hop_limit;
    addr->traffic_class = path.traffic_class;
    std::array<std::uint8_t, 4> flow_label{};
    store_be(flow_label.data(), path.flow_label);
    std::memcpy(&addr->flow_label, flow_label.data(), flow_label.size());
  }
  // SMPs always have the default P_Key (IBA figure 156).
  if (!smp && !path.end_port->pkeys.empty()) umad_set_pkey(umad, path::pkey_index(path));
}

void Device::send(Bytes mad, const path::IbPath& path, Duration timeout) {
  const int id = agent(mad);
  send_buffer_.resize(umad_size() + mad.size());
  set_address(path, is_smp(mad[1]));
  std::ranges::copy(mad, static_cast<std::uint8_t*>(umad_get_mad(send_buffer_.data())));
  const auto ms = static_cast<int>(std::chrono::ceil<std::chrono::milliseconds>(timeout).count());
  errno = 0;
  if (umad_send(fd_, id, send_buffer_.data(), static_cast<int>(mad.size()), ms, 0) < 0) {
    throw SysError(errno != 0 ? errno : EIO, "write", name_);
  }
}

void Device::ready(short) {
  // Bounded, so that timers get their turn under a flood.
  for (int i = 0; i < 64; ++i) {
    if (!read_one()) return;
  }
}

/// False when there is nothing (more) to read.
bool Device::read_one() {
  int length = static_cast<int>(buffer_.size() - umad_size());
  errno = 0;
  const int result = umad_recv(fd_, buffer_.data(), &length, 0);
  if (result >= 0) {
    deliver(static_cast<std::size_t>(std::max(0, length)));
    return true;
  }
  const int code = errno != 0 ? errno : -result;
  if (code == EAGAIN || code == EWOULDBLOCK) return false;
  if (code == EINTR) return true;
  if (code == ENOSPC && buffer_.size() < longest_answer) {
    grow(static_cast<std::size_t>(std::max(0, length)));
    return true;
  }
  // The device has gone, or cannot be read for another reason: reading on would only spin.
  unwatch();
  events_->broken(std::make_exception_ptr(SysError(code, "read", name_)));
  return false;
}

/// The kernel keeps a MAD that does not fit and says how long it is.
void Device::grow(std::size_t needed) {
  const std::size_t twice = 2 * buffer_.size();
  buffer_.resize(std::clamp(needed + umad_size(), twice, longest_answer));
}

void Device::deliver(std::size_t length) {
  void* umad = buffer_.data();
  const auto* mad = static_cast<const std::uint8_t*>(umad_get_mad(umad));
  const Bytes bytes(mad, std::min(length, buffer_.size() - umad_size()));
  if (const int status = umad_status(umad); status != 0) {
    events_->send_failed(bytes, status);
    return;
  }
  const ib_mad_addr_t& addr = *umad_get_mad_addr(umad);
  Source source;
  source.slid = Lid{load_be<std::uint16_t>(reinterpret_cast<const std::uint8_t*>(&addr.lid))};
  source.sl = addr.sl;
  source.dlid_bits = addr.path_bits;
  source.pkey_index = addr.pkey_index;
  source.sqpn = load_be<std::uint32_t>(reinterpret_cast<const std::uint8_t*>(&addr.qpn));
  source.qkey = load_be<std::uint32_t>(reinterpret_cast<const std::uint8_t*>(&addr.qkey));
  source.has_grh = addr.grh_present != 0;
  if (source.has_grh) {
    std::copy_n(addr.gid, source.sgid.bytes.size(), source.sgid.bytes.begin());
    source.sgid_index = addr.gid_index;
    source.hop_limit = addr.hop_limit;
    source.traffic_class = addr.traffic_class;
    source.flow_label = load_be<std::uint32_t>(reinterpret_cast<const std::uint8_t*>(&addr.flow_label));
  }
  events_->received(bytes, source);
}

class UmadChannel final : public Channel {
 public:
  explicit UmadChannel(const sys::EndPort& end_port) : end_port_(end_port) {
    // Opened at once where there is only one, so that a lack of permission shows early.
    if (!end_port.gsi_umad.empty()) open(false);
    simulated_ = gsi_ && gsi_->simulated();
  }
  const sys::EndPort& end_port() const override { return end_port_; }
  void attach(ChannelEvents& events, async::Loop& loop) override {
    events_ = &events;
    loop_ = &loop;
    if (gsi_) gsi_->attach(events_, loop_);
    if (smi_) smi_->attach(events_, loop_);
  }
  void detach() override {
    if (gsi_) gsi_->attach(nullptr, nullptr);
    if (smi_) smi_->attach(nullptr, nullptr);
    events_ = nullptr;
  }
  void send(Bytes mad, const path::Path& path, Duration timeout) override { device(is_smp(mad[1])).send(mad, path.ib(), timeout); }
  std::uint64_t tid_mask() const override { return 0xffffffffU; }
  bool reports_timeouts() const override { return !simulated_; }
  /// The simulator and its client wait for each other when both have filled the other's socket, of 11 packets each.
  unsigned max_in_flight() const override { return simulated_ ? 20 : ~0U; }

 private:
  Device& device(bool smp) {
    auto& device = smp && end_port_.smi_umad != end_port_.gsi_umad ? smi_ : gsi_;
    if (!device) open(smp);
    return *device;
  }
  void open(bool smp) {
    const std::string& umad = smp ? end_port_.smi_umad : end_port_.gsi_umad;
    const sys::EndPort* port = smp ? end_port_.smi_port : end_port_.gsi_port;
    if (umad.empty() || port == nullptr) {
      throw Error(fmt::format("{} has no umad device for {}", end_port_.name(), smp ? "SMPs" : "GMPs"));
    }
    auto& device = smp && end_port_.smi_umad != end_port_.gsi_umad ? smi_ : gsi_;
    device = std::make_unique<Device>(*port, umad);
    if (events_ != nullptr) device->attach(events_, loop_);
  }

  const sys::EndPort& end_port_;
  std::unique_ptr<Device> gsi_, smi_;  // smi_ only where it is another device
  bool simulated_ = false;
  ChannelEvents* events_{};
  async::Loop* loop_{};
};

}  // namespace

std::unique_ptr<Channel> open_umad(const sys::EndPort& end_port) { return std::make_unique<UmadChannel>(end_port); }

}  // namespace ib::mad
