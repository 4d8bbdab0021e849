// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The other end of the kernel tests: serves VendorGet of a vendor class of range 2 (IBA 16.5) behind its own umad device,
// by raw reads and writes, so that what the library sends is seen as it arrived. It answers with the request's own bytes.
#pragma once

#include <infiniband/umad.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

#include "async/loop.hpp"
#include "mad/packet.hpp"
#include "path/path.hpp"
#include "sys/umad_port.hpp"

namespace ibtest {

inline constexpr std::uint8_t vendor_class = 0x32;
inline constexpr std::uint32_t vendor_oui = 0x001405;  // OpenIB's

class VendorServer final : public ib::async::PollSource {
 public:
  /// What it needs to serve the class: VendorGet only.
  static ib::sys::AgentRequest agent() {
    ib::sys::AgentRequest request;
    request.mgmt_class = vendor_class;
    request.oui = vendor_oui;
    request.methods[0] = std::uint64_t{1} << ib::mad::method::get;
    return request;
  }

  VendorServer(ib::async::Loop& loop, const ib::sys::EndPort& end_port) : port_(end_port, false) {
    port_.register_agent(agent());
    loop.watch(*this, port_.fd(), POLLIN);
  }
  ~VendorServer() override { unwatch(); }

  /// From now on answers nothing but what release() says.
  void hold() { hold_ = true; }
  /// Answers the first `count` of the requests that wait.
  void release(std::size_t count) {
    count = std::min(count, waiting_.size());
    for (std::size_t i = 0; i < count; ++i) answer(waiting_[i]);
    waiting_.erase(waiting_.begin(), waiting_.begin() + static_cast<std::ptrdiff_t>(count));
  }

  void ready(short) override {
    // A few at a turn: QP1 has 512 receive buffers and no flow control, and more answers at once than that may be lost.
    Umad umad{};
    for (int i = 0; i < 64 && port_.receive(umad); ++i) {
      ib_user_mad_t header{};
      std::memcpy(&header, umad.data(), sizeof(header));
      if (header.status != 0) continue;  // what became of a reply
      ++requests;
      requester = header.addr;
      waiting_.push_back(umad);
      if (!hold_) release(1);
    }
  }

  std::size_t requests{};
  ib_mad_addr_t requester{};  ///< of the last request, in network order

 private:
  using Umad = std::array<std::uint8_t, ib::sys::UmadPort::header_bytes + ib::mad::packet_size>;

  void answer(Umad& umad) {
    ib_user_mad_t header{};
    std::memcpy(&header, umad.data(), sizeof(header));
    header.timeout_ms = 0;  // a reply has no answer
    // The kernel reports the Q_Key as 0, and QP1 drops what has another than its own.
    ib::store_be(reinterpret_cast<std::uint8_t*>(&header.addr.qkey), ib::path::qp1_qkey);
    std::memcpy(umad.data(), &header, sizeof(header));
    umad[sizeof(header) + 3] |= ib::mad::method::response;
    port_.send(umad);
  }

  ib::sys::UmadPort port_;
  std::vector<Umad> waiting_;
  bool hold_{};
};

}  // namespace ibtest
