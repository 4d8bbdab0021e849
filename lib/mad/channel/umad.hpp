// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The parts of the channel over umad: addresses in umad's form, and the system behind an open umad device, which is the kernel or a
// preloaded library that replaces it. The kernel names P_Keys and GIDs by their indexes in the tables of the port that carries the MAD. On
// planarized HCAs this port is one half of the end port.
#pragma once

#include <infiniband/umad.h>

#include <functional>

#include "base/unique_fd.hpp"
#include "mad/channel/channel.hpp"

namespace ib::mad {

/// The kernel's address for an SMP or a GMP from `end_port` on `path`. Throws Error if the port that carries the MAD does not
/// have the path's P_Key or SGID, or has the SGID at an index above 255.
ib_mad_addr_t umad_address(path::IbPath path, const sys::EndPort& end_port, bool smp);

/// The origin of a MAD that the kernel received at `end_port` from `address`.
Source umad_source(const ib_mad_addr_t& address, const sys::EndPort& end_port);

/// The system behind an open umad device: the kernel, or umad2sim (mad/channel/simulator.hpp).
class UmadHost {
 public:
  explicit UmadHost(int fd);

  /// Channel::reports_timeouts() and Channel::max_in_flight() of the device.
  bool reports_timeouts() const { return !is_simulated_; }
  unsigned max_in_flight() const;
  /// The longest duration of one poll() of the device; see async::Loop::watch(). Zero means no limit.
  async::Duration poll_slice() const;
  /// May change a MAD before it is sent.
  void prepare(MutableBytes mad) const;
  /// May change a MAD that was received. Returns how many of its bytes really arrived.
  std::size_t receive(MutableBytes mad) const;
  /// The program is about to answer requests that come to `end_port`. `add_agent` registers an agent that answers nothing for a
  /// class that has no agent yet. Called for each class that is served.
  void serve(const sys::EndPort& end_port, const std::function<void(std::uint8_t mgmt_class)>& add_agent);

 private:
  bool is_simulated_, passes_all_bytes_;
  UniqueFd issm_;  // requests arrive from a simulator only while it is open
};

}  // namespace ib::mad
