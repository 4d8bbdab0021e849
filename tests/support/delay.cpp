// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// A preload that gives the simulated fabric time and loss. ibsim answers in microseconds and reports a
// MAD that it drops at once; a real fabric does neither. Loaded behind libumad2sim.so, this library sees
// the datagrams that umad2sim writes to ibsim, keeps each until its time, or drops it for good, so that
// the program's own timeouts fire. Delays overlap: a thread sends what is due, in order.
//
//   IBTEST_DELAY_US=200       microseconds from the program's write to ibsim
//   IBTEST_DROP=0.05          the fraction of requests that is lost, chosen by IBTEST_SEED (default 1): of each request the same
//                             tries, in whatever order requests are sent
//   IBTEST_DEAD_PATH=1,19:1,4 directed-route requests that start with these output ports are all lost
//   IBTEST_SILENT=1,19@7:1,20@8  SMPs to the node at the end of these output ports, and those to its LID, are lost…
//   IBTEST_SILENT_AFTER=3     …after so many have reached it (default 0)
//   IBTEST_COUNT_FILE=FILE    at exit, a line of JSON with what was sent and lost (of that: ACKs of RMPP), and the program's
//                             peak memory in KiB, is appended to FILE
//   IBTEST_FULL_DESCRIPTION=1 every NodeDescription arrives with all of its 64 bytes used, no terminator
//   IBTEST_ENFORCES=1         every PortInfo says that its port enforces its P_Key table in both directions: ibsim keeps the tables of
//                             switch ports, but not these bits
#include <pthread.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <map>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "next.hpp"

namespace {

/// What umad2sim and ibsim exchange: five 32-bit words, padding, a length of 64 bits, and the MAD.
constexpr std::size_t kDatagram = 288;
constexpr std::size_t kMad = 32;
constexpr std::uint8_t kLidRouted = 0x01, kDirected = 0x81, kSubnAdm = 0x03;
constexpr std::uint16_t kNodeDescription = 0x10, kPortInfo = 0x15;
constexpr std::size_t kSmpData = 64;
constexpr std::size_t kEnforcementByte = 43;  // of PortInfo (IBA 14.2.5.6), where PartitionEnforcementInbound and -Outbound are…
constexpr std::uint8_t kEnforcement = 0x0c;   // …these bits

using Datagram = std::array<std::uint8_t, kDatagram>;
using Clock = std::uint64_t;  // nanoseconds of CLOCK_MONOTONIC

Clock now() {
  timespec t{};
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<Clock>(t.tv_sec) * 1'000'000'000U + static_cast<Clock>(t.tv_nsec);
}

/// Whether fd is connected to the abstract name `BASE:outN`.
bool is_simulator_socket(int fd) {
  sockaddr_un peer{};
  socklen_t size = sizeof(peer) - 1;
  if (getpeername(fd, reinterpret_cast<sockaddr*>(&peer), &size) != 0 || peer.sun_family != AF_UNIX) return false;
  return std::strstr(peer.sun_path + 1, ":out") != nullptr;
}

/// Whether fd is umad2sim's socket for MADs. It stays open while the program runs, so what a descriptor was found to be is kept.
bool carries_mads(int fd) {
  static std::atomic<int> known{-1};
  if (known == fd) return true;
  if (!is_simulator_socket(fd)) return false;
  known = fd;
  return true;
}

std::uint64_t scramble(std::uint64_t x) {  // splitmix64
  x += 0x9e3779b97f4a7c15U;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9U;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebU;
  return x ^ (x >> 31);
}

double number(const char* name, double otherwise) {
  const char* text = std::getenv(name);
  return text != nullptr ? std::strtod(text, nullptr) : otherwise;
}

using Route = std::vector<std::uint8_t>;

/// A node by its route and, where that is given, its LID.
struct Place {
  Route route;
  std::uint32_t lid = 0;
  unsigned reached = 0;
};

/// The places of `1,19:1,4@7`.
std::vector<Place> places(const char* name) {
  std::vector<Place> list;
  const char* text = std::getenv(name);
  if (text == nullptr || *text == 0) return list;
  list.emplace_back();
  bool is_lid = false;
  for (;;) {
    char* end = nullptr;
    const unsigned long number = std::strtoul(text, &end, 10);
    if (is_lid) {
      list.back().lid = static_cast<std::uint32_t>(number);
    } else {
      list.back().route.push_back(static_cast<std::uint8_t>(number));
    }
    if (*end == 0) return list;
    is_lid = *end == '@';
    if (*end == ':') list.emplace_back();
    text = end + 1;
  }
}

/// The peak resident size in KiB. getrusage() would not do: it includes the program before exec.
unsigned long peak_memory() {
  std::FILE* status = std::fopen("/proc/self/status", "r");
  unsigned long kib = 0;
  std::array<char, 256> line{};
  while (status != nullptr && std::fgets(line.data(), static_cast<int>(line.size()), status) != nullptr)
    if (std::sscanf(line.data(), "VmHWM: %lu", &kib) == 1) break;
  if (status != nullptr) std::fclose(status);
  return kib;
}

class Wire {
 public:
  Wire()
      : delay_{static_cast<Clock>(number("IBTEST_DELAY_US", 0) * 1000)},
        drop_{number("IBTEST_DROP", 0)},
        seed_{static_cast<std::uint64_t>(number("IBTEST_SEED", 1))},
        dead_{places("IBTEST_DEAD_PATH")},
        silent_{places("IBTEST_SILENT")},
        silent_after_{static_cast<unsigned>(number("IBTEST_SILENT_AFTER", 0))},
        fill_{number("IBTEST_FULL_DESCRIPTION", 0) != 0},
        enforces_{number("IBTEST_ENFORCES", 0) != 0} {}

  ssize_t send(int fd, const std::uint8_t* bytes) {
    const std::lock_guard lock{mutex_};
    ++sent_;
    ++by_attribute_[{bytes[kMad + 1], attribute(bytes)}];
    if (is_lost(bytes)) {
      ++lost_;
      lost_acks_ += is_ack(bytes);
      return static_cast<ssize_t>(kDatagram);
    }
    if (delay_ == 0) return real_write(fd, bytes, kDatagram);
    Held held{now() + delay_, fd, {}};
    std::memcpy(held.datagram.data(), bytes, kDatagram);
    queue_.push_back(held);
    if (!started_) start();
    if (queue_.size() == 1) pthread_cond_signal(&filled_);
    return static_cast<ssize_t>(kDatagram);
  }

  void receive(std::uint8_t* bytes) const {
    const std::uint8_t mgmt_class = bytes[kMad + 1];
    if ((mgmt_class != kLidRouted && mgmt_class != kDirected) || (bytes[kMad + 3] & 0x80U) == 0) return;
    if (enforces_ && attribute(bytes) == kPortInfo) bytes[kMad + kSmpData + kEnforcementByte] |= kEnforcement;
    if (!fill_ || attribute(bytes) != kNodeDescription) return;
    for (std::uint8_t* text = bytes + kMad + 64; text != bytes + kMad + 128; ++text)
      if (*text == 0) *text = '~';
  }

  void report() {
    const char* name = std::getenv("IBTEST_COUNT_FILE");
    if (name == nullptr || sent_ == 0) return;
    std::FILE* file = std::fopen(name, "a");
    if (file == nullptr) return;
    std::fprintf(file, "{\"sent\": %llu, \"lost\": %llu, \"lost_acks\": %llu, \"peak_kib\": %lu, \"attributes\": {",
                 static_cast<unsigned long long>(sent_), static_cast<unsigned long long>(lost_),
                 static_cast<unsigned long long>(lost_acks_), peak_memory());
    const char* comma = "";
    for (const auto& [key, count] : by_attribute_) {
      std::fprintf(file, "%s\"0x%02x/0x%04x\": %llu", comma, key.first, key.second, static_cast<unsigned long long>(count));
      comma = ", ";
    }
    std::fprintf(file, "}}\n");
    std::fclose(file);
  }

 private:
  struct Held {
    Clock due;
    int fd;
    Datagram datagram;
  };

  static std::uint16_t attribute(const std::uint8_t* bytes) { return static_cast<std::uint16_t>(bytes[kMad + 16] << 8 | bytes[kMad + 17]); }

  /// Whether `bytes`, a request, goes to a node that has fallen silent.
  bool goes_to_silent(const std::uint8_t* bytes) {
    const std::uint8_t mgmt_class = bytes[kMad + 1];
    if (mgmt_class != kDirected && mgmt_class != kLidRouted) return false;
    const auto lid = static_cast<std::uint32_t>(bytes[0] << 8 | bytes[1]);  // as umad has it: its 16 bits in network order come first
    for (Place& place : silent_) {
      const Route& route = place.route;
      const bool by_route =
          mgmt_class == kDirected && bytes[kMad + 7] == route.size() && std::memcmp(bytes + kMad + 129, route.data(), route.size()) == 0;
      const bool by_lid = mgmt_class == kLidRouted && place.lid != 0 && place.lid == lid;
      if ((by_route || by_lid) && ++place.reached > silent_after_) return true;
    }
    return false;
  }

  bool is_lost(const std::uint8_t* bytes) {
    if ((bytes[kMad + 3] & 0x80U) != 0) return false;  // only requests get lost; that is enough to lose an answer
    // IBA 14.2.1.2: the hop count is byte 7, the initial path starts at byte 128 and its first output port at 129.
    if (bytes[kMad + 1] == kDirected)
      for (const auto& [route, lid, reached] : dead_)
        if (bytes[kMad + 7] >= route.size() && std::memcmp(bytes + kMad + 129, route.data(), route.size()) == 0) return true;
    if (goes_to_silent(bytes)) return true;
    if (drop_ <= 0) return false;
    const std::uint64_t request = identity(bytes);
    return static_cast<double>(scramble(request ^ scramble(seed_ + tries_[request]++)) >> 11) * 0x1p-53 < drop_;
  }

  /// An ACK of RMPP in a MAD of the SA (IBA 13.6.2: byte 25 is RMPPType, 2 an ACK).
  static bool is_ack(const std::uint8_t* bytes) { return bytes[kMad + 1] == kSubnAdm && bytes[kMad + 25] == 2; }

  /// What all tries of a request have in common: all of its bytes but the transaction ID (IBA 13.4.2: bytes 8 to 15).
  static std::uint64_t identity(const std::uint8_t* bytes) {
    std::uint64_t hash = 0;
    for (std::size_t i = 0; i != kDatagram; ++i)
      if (i < kMad + 8 || i >= kMad + 16) hash = scramble(hash ^ bytes[i]);
    return hash;
  }

  void start() {
    started_ = true;
    std::thread([this] { run(); }).detach();
  }

  [[noreturn]] void run() {
    prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL);  // else the kernel rounds a sleep up by 50 µs
    std::vector<Held> due;
    for (;;) {
      Clock first = 0;
      {
        std::unique_lock lock{mutex_};
        while (queue_.empty()) pthread_cond_wait(&filled_, lock.mutex()->native_handle());
        first = queue_.front().due;
      }
      const timespec time{static_cast<time_t>(first / 1'000'000'000U), static_cast<long>(first % 1'000'000'000U)};
      while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, nullptr) == EINTR) {
      }
      {
        const std::lock_guard lock{mutex_};
        const auto end = std::ranges::upper_bound(queue_, now(), {}, &Held::due);
        due.assign(queue_.begin(), end);
        queue_.erase(queue_.begin(), end);
      }
      for (const Held& held : due) real_write(held.fd, held.datagram.data(), kDatagram);
    }
  }

  const Clock delay_;
  const double drop_;
  const std::uint64_t seed_;
  const std::vector<Place> dead_;
  std::vector<Place> silent_;
  const unsigned silent_after_;
  const bool fill_, enforces_;
  std::mutex mutex_;
  pthread_cond_t filled_ = PTHREAD_COND_INITIALIZER;
  std::deque<Held> queue_;
  bool started_ = false;
  std::uint64_t sent_ = 0, lost_ = 0, lost_acks_ = 0;
  std::map<std::uint64_t, std::uint64_t> tries_;  // by identity()
  std::map<std::pair<std::uint8_t, std::uint16_t>, std::uint64_t> by_attribute_;
};

Wire& wire() {
  static auto* const the_wire = new Wire;  // never destroyed: its thread outlives the program's statics
  return *the_wire;
}

__attribute__((destructor)) void at_exit() { wire().report(); }

}  // namespace

extern "C" __attribute__((visibility("default"))) ssize_t write(int fd, const void* buffer, std::size_t count) {
  if (count == kDatagram && carries_mads(fd)) return wire().send(fd, static_cast<const std::uint8_t*>(buffer));
  return real_write(fd, buffer, count);
}

extern "C" __attribute__((visibility("default"))) ssize_t read(int fd, void* buffer, std::size_t count) {
  const ssize_t got = real_read(fd, buffer, count);
  if (got == static_cast<ssize_t>(kDatagram) && count == kDatagram && carries_mads(fd)) wire().receive(static_cast<std::uint8_t*>(buffer));
  return got;
}
