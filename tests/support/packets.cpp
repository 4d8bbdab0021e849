// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// A preload that mends two faults of libumad2sim.so from behind it, where it reads packets from its socket to ibsim. It
// passes on 224 bytes of each MAD and 32 of whatever lies behind them in memory: the last bytes are kept here, for
// ibtest-rmpp.so, which stands before it, to put them back. And it dies of a packet for which no agent is registered,
// above all of one that comes when its program has just closed the device: such packets end here, and who closes a device waits until
// the packet on its way to it has arrived. A request for an agent that is only a client's does not reach it either: opensm, which has such
// agents for performance management and congestion control, dies of it. It is answered as a kernel does that has no agent for it. What
// ibsim 0.12 answers becomes what 0.10 answers (ibsim_release.hpp).
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <map>
#include <mutex>
#include <thread>

#include "ibsim_release.hpp"
#include "next.hpp"
#include "packets.hpp"
#include "simulator_thread.hpp"

namespace {

constexpr std::size_t packet_header = ibtest_packet_header;
using ib::mad::simulator_bytes;
constexpr std::size_t mad_size = ib::mad::packet_size;
constexpr std::size_t packet_size = packet_header + mad_size;

/// Whether ibsim returns a request to its sender because no agent took it: the fifth word of the header is then a status.
bool is_returned(const std::uint8_t* packet) {
  constexpr std::size_t status = 16, word = 4;
  return std::any_of(packet + status, packet + status + word, [](std::uint8_t byte) { return byte != 0; });
}

/// The socket to ibsim: packets come by another one.
std::atomic<int> socket_to_ibsim{-1};

/// Answers a GMP that is a Get or a Set with "unsupported method or attribute" (IBA 13.4.7). The packet's header has 32-bit words: DLID,
/// SLID, DQP, SQP.
void refuse(const std::uint8_t* packet) {
  constexpr std::size_t word = 4;
  const std::uint8_t* const mad = packet + packet_header;
  const bool is_asked = mad[3] == ib::mad::method::get || mad[3] == ib::mad::method::set;
  if (ib::mad::is_smp(mad[1]) || !is_asked) return;
  std::array<std::uint8_t, packet_size> answer{};
  std::copy_n(packet, packet_size, answer.begin());
  std::copy_n(packet + word, word, answer.begin());                 // to the sender's LID
  std::copy_n(packet + 3 * word, word, answer.begin() + 2 * word);  // and QP
  std::fill_n(answer.begin() + word, word, std::uint8_t{0});        // ibsim fills in the LID of this host
  answer[packet_header + 3] |= 0x80;
  answer[packet_header + 4] = 0;
  answer[packet_header + 5] = ib::mad::status::unsupported_method_attribute;
  while (real_write(socket_to_ibsim, answer.data(), answer.size()) < 0 && errno == EINTR) {
  }
}

class Packets {
 public:
  void agent(int fd, std::uint8_t mgmt_class, bool serves) {
    const std::lock_guard lock{mutex_};
    bool& is_server = classes_[fd][mgmt_class];
    is_server = is_server || serves;
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
  /// Keeps the end of the packet's MAD, which is now on its way. False if no agent here takes it.
  bool keep(const std::uint8_t* packet) {
    const std::lock_guard lock{mutex_};
    const std::uint8_t* const mad = packet + packet_header;
    const bool is_for_client = ib::mad::is_smp(mad[1]) || (mad[3] & 0x80) != 0 || is_returned(packet);
    const auto takes = [&](const auto& entry) {
      const auto agent = entry.second.find(mad[1]);
      return agent != entry.second.end() && (is_for_client || agent->second);
    };
    if (std::ranges::none_of(classes_, takes)) return false;
    std::copy_n(mad, mad_size, kept_[next_++ % kept_.size()].begin());
    reader_ = std::this_thread::get_id();
    is_passing_ = true;
    return true;
  }
  bool tail(const std::uint8_t* mad, std::uint8_t* tail) {
    const std::lock_guard lock{mutex_};
    for (std::size_t at = 1; at <= kept_.size(); ++at) {  // from the newest: it came a moment ago
      const Mad& kept = kept_[(next_ - at) % kept_.size()];
      if (std::memcmp(kept.data(), mad, simulator_bytes) != 0) continue;
      std::copy_n(kept.begin() + simulator_bytes, ibtest_tail_size, tail);
      return true;
    }
    return false;
  }

 private:
  using Mad = std::array<std::uint8_t, mad_size>;
  std::mutex mutex_;
  std::map<int, std::map<std::uint8_t, bool>> classes_;  // that have an agent, by descriptor, and whether it serves
  std::array<Mad, 512> kept_{};                          // the last ones; many more than wait to be read
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
  simulator_waits();
  packets().waits();
  return real_poll(fds, count, timeout);
}

extern "C" __attribute__((visibility("default"))) void ibtest_agent(int fd, std::uint8_t mgmt_class, bool serves) {
  packets().agent(fd, mgmt_class, serves);
}

extern "C" __attribute__((visibility("default"))) void ibtest_closed(int fd) { packets().closed(fd); }

extern "C" __attribute__((visibility("default"))) bool ibtest_tail(const std::uint8_t* mad, std::uint8_t* tail) {
  return packets().tail(mad, tail);
}

extern "C" __attribute__((visibility("default"))) ssize_t write(int fd, const void* buffer, std::size_t count) {
  if (count == packet_size) socket_to_ibsim = fd;
  return real_write(fd, buffer, count);
}

extern "C" __attribute__((visibility("default"))) ssize_t read(int fd, void* buffer, std::size_t count) {
  for (;;) {
    const ssize_t got = real_read(fd, buffer, count);
    if (count != packet_size || got != static_cast<ssize_t>(packet_size)) return got;
    auto* const packet = static_cast<std::uint8_t*>(buffer);
    as_ibsim_0_10(packet + packet_header);
    if (packets().keep(packet)) return got;
    if (!is_returned(packet)) refuse(packet);
    pollfd more{fd, POLLIN, 0};
    while (real_poll(&more, 1, -1) < 0) {
    }
  }
}
