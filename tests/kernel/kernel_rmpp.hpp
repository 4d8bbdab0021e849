// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// A channel whose RMPP is the kernel's, for GMPs of subnet administration by GID: the other side that our own RMPP is tried
// against, for that was not written here. What it sends and hands out are whole MADs of any length.
#pragma once

#include <infiniband/umad.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <vector>

#include "mad/channel/channel.hpp"
#include "mad/rmpp/rmpp.hpp"
#include "path/path.hpp"
#include "sys/umad_port.hpp"

namespace ibtest {

class KernelRmpp final : public ib::mad::Channel, private ib::async::PollSource {
 public:
  explicit KernelRmpp(const ib::sys::EndPort& end_port) : Channel(end_port), port_(end_port, false), buffer_(1U << 20U) {}

  void serve(const ib::mad::Service& service) override { agent_ = open_agent(service.methods); }
  void send(ib::Bytes mad, const ib::path::Path& path, ib::async::Duration timeout) override {
    if (agent_ < 0) agent_ = open_agent({});
    ib_user_mad_t header{};
    header.agent_id = static_cast<std::uint32_t>(agent_);
    header.timeout_ms = static_cast<std::uint32_t>(std::chrono::ceil<std::chrono::milliseconds>(timeout).count());
    header.retries = ib::mad::RmppView::is_active(mad) ? 3 : 0;  // of segments
    const auto set = [](auto& member, auto value) { ib::store_be(reinterpret_cast<std::uint8_t*>(&member), value); };
    set(header.addr.qpn, path.ib().dqpn ? path.ib().dqpn->value : 1U);
    set(header.addr.qkey, std::uint32_t{ib::path::qp1_qkey});
    header.addr.grh_present = 1;
    std::ranges::copy(path.ib().dgid->bytes, header.addr.gid);
    header.addr.gid_index = static_cast<std::uint8_t>(ib::path::sgid_index(path.ib()));
    header.addr.hop_limit = 64;
    std::vector<std::uint8_t> umad(sizeof(header) + mad.size());
    std::memcpy(umad.data(), &header, sizeof(header));
    std::ranges::copy(mad, umad.begin() + sizeof(header));
    port_.send(umad);
  }

  bool reports_timeouts() const override { return true; }
  bool does_rmpp(std::uint8_t) const override { return true; }

 private:
  void attached() override { Channel::loop_->watch(*this, port_.fd(), POLLIN); }
  std::int64_t open_agent(const std::array<std::uint64_t, 2>& methods) {
    ib::sys::AgentRequest request;
    request.mgmt_class = ib::mad::mgmt_class::sa;
    request.class_version = 2;
    request.rmpp_version = 1;
    request.methods = methods;
    return port_.register_agent(request);
  }

  void ready(short) override {
    const auto received = port_.receive(buffer_);
    if (!received || *received > buffer_.size()) return;
    ib_user_mad_t header{};
    std::memcpy(&header, buffer_.data(), sizeof(header));
    const auto mad = ib::Bytes(buffer_).subspan(sizeof(header), *received - sizeof(header));
    if (header.status != 0) {
      events_->send_failed(mad, static_cast<int>(header.status));
      return;
    }
    ib::mad::Source source;
    source.sqpn = ib::load_be<std::uint32_t>(reinterpret_cast<const std::uint8_t*>(&header.addr.qpn));
    source.has_grh = true;
    std::copy_n(header.addr.gid, source.sgid.bytes.size(), source.sgid.bytes.begin());
    events_->received(mad, source);
  }

  ib::sys::UmadPort port_;
  std::vector<std::uint8_t> buffer_;
  std::int64_t agent_ = -1;
};

inline std::unique_ptr<ib::mad::Channel> open_kernel_rmpp(const ib::sys::EndPort& end_port) {
  return std::make_unique<KernelRmpp>(end_port);
}

}  // namespace ibtest
