// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// A preload that mends two faults of libumad2sim.so from behind it, where it reads packets from its socket to ibsim. It
// passes on 224 bytes of each MAD and 32 of whatever lies behind them in memory: the last bytes are kept here, for
// ibtest-rmpp.so, which stands before it, to put them back. And it dies of a packet for which no agent is registered,
// above all of one that comes when its program has just closed the device: such packets end here, and who closes a device waits until
// the packet on its way to it has arrived.
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <map>
#include <mutex>
#include <set>
#include <thread>

#include "next.hpp"
#include "packets.hpp"

namespace {

constexpr std::size_t packet_header = 32;  // what stands before a MAD on ibsim's socket
using ib::mad::simulator_bytes;
constexpr std::size_t mad_size = ib::mad::packet_size;
constexpr std::size_t packet_size = packet_header + mad_size;

class Packets {
 public:
  void agent(int fd, std::uint8_t mgmt_class) {
    const std::lock_guard lock{mutex_};
    classes_[fd].insert(mgmt_class);
  }
  void closed(int fd) {
    std::unique_lock lock{mutex_};
    classes_.erase(fd);
    arrived_.wait_for(lock, std::chrono::seconds(1), [this] { return !is_passing_; });
  }
  /// umad2sim's thread waits for the next packet: the last one is where it belongs.
  void waits() {
    const std::lock_guard lock{mutex_};
    if (!is_passing_ || std::this_thread::get_id() != reader_) return;
    is_passing_ = false;
    arrived_.notify_all();
  }
  /// Keeps the end of a MAD, which is now on its way; false if nobody asked for its class.
  bool keep(const std::uint8_t* mad) {
    const std::lock_guard lock{mutex_};
    if (std::ranges::none_of(classes_, [mad](const auto& entry) { return entry.second.contains(mad[1]); })) return false;
    std::copy_n(mad, mad_size, kept_[next_++ % kept_.size()].begin());
    reader_ = std::this_thread::get_id();
    is_passing_ = true;
    return true;
  }
  bool tail(const std::uint8_t* mad, std::uint8_t* tail) {
    const std::lock_guard lock{mutex_};
    for (const Mad& kept : kept_) {
      if (std::memcmp(kept.data(), mad, simulator_bytes) != 0) continue;
      std::copy_n(kept.begin() + simulator_bytes, ibtest_tail_size, tail);
      return true;
    }
    return false;
  }

 private:
  using Mad = std::array<std::uint8_t, mad_size>;
  std::mutex mutex_;
  std::map<int, std::set<std::uint8_t>> classes_;  // that have an agent, by descriptor
  std::array<Mad, 512> kept_{};                    // the last ones; many more than wait to be read
  std::size_t next_ = 0;
  std::condition_variable arrived_;
  std::thread::id reader_;   // umad2sim's thread
  bool is_passing_ = false;  // it has read a packet, and not yet handed it on
};

Packets& packets() {
  static auto* const the_packets = new Packets;  // never destroyed: umad2sim's thread outlives the program's statics
  return *the_packets;
}

}  // namespace

extern "C" __attribute__((visibility("default"))) int poll(pollfd* fds, nfds_t count, int timeout) {
  packets().waits();
  return real_poll(fds, count, timeout);
}

extern "C" __attribute__((visibility("default"))) void ibtest_agent(int fd, std::uint8_t mgmt_class) { packets().agent(fd, mgmt_class); }

extern "C" __attribute__((visibility("default"))) void ibtest_closed(int fd) { packets().closed(fd); }

extern "C" __attribute__((visibility("default"))) bool ibtest_tail(const std::uint8_t* mad, std::uint8_t* tail) {
  return packets().tail(mad, tail);
}

extern "C" __attribute__((visibility("default"))) ssize_t read(int fd, void* buffer, std::size_t count) {
  for (;;) {
    const ssize_t got = real_read(fd, buffer, count);
    if (count != packet_size || got != static_cast<ssize_t>(packet_size)) return got;
    if (packets().keep(static_cast<const std::uint8_t*>(buffer) + packet_header)) return got;
    pollfd more{fd, POLLIN, 0};
    while (real_poll(&more, 1, -1) < 0) {
    }
  }
}
