// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The system behind an open umad device: the kernel, or a preloaded library that replaces it. The defaults here are the
// behaviour of the kernel; simulator.cpp has the library.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "async/clock.hpp"
#include "base/bytes.hpp"
#include "sys/device.hpp"

namespace ib::mad {

/// The behaviour of the kernel. A subclass describes a preloaded library.
class UmadHost {
 public:
  UmadHost() = default;
  UmadHost(const UmadHost&) = delete;
  UmadHost& operator=(const UmadHost&) = delete;
  virtual ~UmadHost() = default;

  /// Channel::reports_timeouts() of the device.
  virtual bool reports_timeouts() const { return true; }
  /// Channel::max_in_flight() of the device.
  virtual unsigned max_in_flight() const { return ~0U; }
  /// The longest duration of one poll() of the device; see async::Loop::watch(). Zero means no limit.
  virtual async::Duration poll_slice() const { return async::Duration::zero(); }
  /// May change a MAD before it is sent.
  virtual void prepare(MutableBytes /*mad*/) const {}
  /// May change a MAD that was received. Returns how many of its bytes really arrived.
  virtual std::size_t receive(MutableBytes mad) const { return mad.size(); }
  /// The program is about to answer requests that come to `end_port`. `add_agent` registers an agent that answers nothing for a
  /// class that has no agent yet. Called for each class that is served.
  virtual void serve(const sys::EndPort& /*end_port*/, const std::function<void(std::uint8_t mgmt_class)>& /*add_agent*/) {}
};

/// The system behind the open umad device `fd`.
std::unique_ptr<UmadHost> find_umad_host(int fd);

}  // namespace ib::mad
