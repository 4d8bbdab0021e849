// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// A preload behind libumad2sim.so, for fabrics as Debian has them, without ibtest-rmpp.so and ibtest-packets.so: what ibsim 0.12 answers
// becomes what 0.10 answers, and nothing else changes.
#include "ibsim_release.hpp"
#include "next.hpp"
#include "simulator_thread.hpp"

extern "C" __attribute__((visibility("default"))) int poll(pollfd* fds, nfds_t count, int timeout) {
  simulator_waits();
  return real_poll(fds, count, timeout);
}

extern "C" __attribute__((visibility("default"))) ssize_t read(int fd, void* buffer, std::size_t count) {
  constexpr std::size_t packet_size = ibtest_packet_header + ib::mad::packet_size;
  const ssize_t got = real_read(fd, buffer, count);
  if (count == packet_size && got == static_cast<ssize_t>(packet_size)) {
    as_ibsim_0_10(static_cast<std::uint8_t*>(buffer) + ibtest_packet_header);
  }
  return got;
}
