// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// A preload that does for programs on the simulated fabric what the kernel does for agents with rmpp_version 1, and
// libumad2sim.so does not: it sends MADs of any length in segments, heeds the ACKs, and hands out answers in segments as
// one long MAD. Loaded before libumad2sim.so, it sees what a program writes to umad and reads from it; with
// ibtest-packets.so, behind that, it also mends what is lost between. Without it opensm's tables end after one MAD.
// ibtool, which sees that its umad is simulated, registers with rmpp_version 0 and is left alone.
//
// Its state machines are those of ibtool. poll() does the waiting: it keeps the timers, reads ahead, and returns when there
// is something for the program.
#include <dlfcn.h>
#include <poll.h>
#include <rdma/ib_user_mad.h>
#include <rdma/rdma_user_ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <compare>
#include <cstdarg>
#include <cstring>
#include <deque>
#include <map>
#include <mutex>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include "mad/rmpp/sides.hpp"
#include "next.hpp"
#include "packets.hpp"

namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;
using ib::Bytes;
using ib::mad::Packet;
using ib::mad::packet_size;
using ib::mad::RmppReceiver;
using ib::mad::RmppSender;
using ib::mad::RmppState;
using ib::mad::RmppView;
using ib::mad::simulator_bytes;

using Umad = ib_user_mad_hdr;  // what stands before a MAD
using Message = std::vector<std::uint8_t>;

constexpr auto response_time = 2s;  // as the kernel's
constexpr auto silence = 40s;       // of a sender, after which it is given up; as the kernel's
constexpr auto slice = 50;          // milliseconds between looks at the timers
/// The socket to ibsim takes 11 datagrams. A program that fills it while ibsim fills the socket of the program waits for ever.
constexpr unsigned window = 8;

int real_ioctl(int fd, unsigned long request, void* argument) {
  static const auto function = next<int (*)(int, unsigned long, ...)>("ioctl");
  return function(fd, request, argument);
}

/// A function of ibtest-packets.so; null without it.
template <class Function>
Function* packets(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_DEFAULT, name));
}
void note_agent(int fd, std::uint8_t mgmt_class, bool serves) {
  static auto* const function = packets<decltype(ibtest_agent)>("ibtest_agent");
  if (function != nullptr) function(fd, mgmt_class, serves);
}
void note_closed(int fd) {
  static auto* const function = packets<decltype(ibtest_closed)>("ibtest_closed");
  if (function != nullptr) function(fd);
}
/// Puts back what umad2sim lost of a MAD.
void mend(std::vector<std::uint8_t>& message) {
  static auto* const function = packets<decltype(ibtest_tail)>("ibtest_tail");
  std::array<std::uint8_t, ibtest_tail_size> tail{};
  if (function == nullptr || message.size() <= sizeof(ib_user_mad_hdr) + simulator_bytes) return;
  const auto mad = message.begin() + sizeof(ib_user_mad_hdr);
  if (function(&*mad, tail.data())) {
    std::copy_n(tail.begin(), std::min<std::ptrdiff_t>(ibtest_tail_size, message.end() - mad - simulator_bytes), mad + simulator_bytes);
  }
}

/// umad2sim numbers its umad devices so.
bool is_umad(int fd) { return fd >= 1024 && fd < 2048; }

/// One transfer: what both of its ends and its transaction ID are.
struct Key {
  int fd;
  std::uint8_t mgmt_class;
  std::uint16_t lid;
  std::uint32_t qpn;
  std::uint64_t tid;
  auto operator<=>(const Key&) const = default;
};

Key key_of(int fd, const Umad& umad, Bytes mad) { return {fd, mad[1], umad.lid, umad.qpn, ib::load_be<std::uint64_t>(&mad[8])}; }

bool is_response(Bytes mad) { return ib::mad::HeaderView(mad).is_response(); }

/// What of a transaction ID is the program's own; the rest names its agent.
std::uint32_t tid_of(Bytes mad) { return ib::load_be<std::uint32_t>(&mad[12]); }

class Kernel {
 public:
  void registered(int fd, const ib_user_mad_reg_req& agent) {
    std::array<std::uint8_t, sizeof agent.method_mask> methods{};
    std::memcpy(methods.data(), static_cast<const void*>(&agent.method_mask), methods.size());  // the mask is not aligned
    note_agent(fd, agent.mgmt_class, std::ranges::any_of(methods, [](std::uint8_t bits) { return bits != 0; }));
    const std::lock_guard lock{mutex_};
    if (agent.rmpp_version == 1) {
      agents_.insert({fd, agent.mgmt_class});
    } else {
      agents_.erase({fd, agent.mgmt_class});
    }
  }

  ssize_t write(int fd, const std::uint8_t* bytes, std::size_t count) {
    const std::lock_guard lock{mutex_};
    const Bytes mad = Bytes(bytes, count).subspan(sizeof(Umad));
    if (!is_response(mad) && agents_.contains({fd, mad[1]})) asked_.insert(tid_of(mad));
    // As in the kernel the rest of the RMPP header, which answers repeat of their requests, says nothing.
    if (!RmppView::is_active(mad) || !agents_.contains({fd, mad[1]})) return real_write(fd, bytes, count);
    Umad umad{};
    std::memcpy(&umad, bytes, sizeof umad);
    const Key key = key_of(fd, umad, mad);
    sending_.erase(key);
    const auto place = sending_.try_emplace(key, Sending{RmppSender({mad.begin(), mad.end()}), umad, {}}).first;
    send_segments(place);
    return static_cast<ssize_t>(count);
  }

  ssize_t read(int fd, void* buffer, std::size_t count) {
    const std::lock_guard lock{mutex_};
    std::deque<Message>& ready = ready_[fd];
    if (ready.empty()) read_one(fd);
    if (ready.empty()) {
      errno = EWOULDBLOCK;
      return -EWOULDBLOCK;  // as umad2sim says it
    }
    const Message& message = ready.front();
    std::memcpy(buffer, message.data(), std::min(count, message.size()));
    if (message.size() > count) {  // it stays
      errno = ENOSPC;
      return -1;
    }
    const auto size = static_cast<ssize_t>(message.size());
    ready.pop_front();
    return size;
  }

  int poll(pollfd* fds, int timeout) {
    const auto end = Clock::now() + std::chrono::milliseconds(timeout);
    for (;;) {
      {
        const std::lock_guard lock{mutex_};
        while (ready_[fds->fd].empty() && read_one(fds->fd)) {
        }
        expire();
        if (!ready_[fds->fd].empty()) {
          fds->revents = POLLIN;
          return 1;
        }
      }
      const auto left = timeout < 0 ? slice : std::chrono::ceil<std::chrono::milliseconds>(end - Clock::now()).count();
      if (left <= 0) return 0;
      const int result = real_poll(fds, 1, static_cast<int>(std::min<std::int64_t>(left, slice)));
      if (result < 0) return result;
    }
  }

 private:
  struct Sending {
    RmppSender sender;
    Umad umad;
    Clock::time_point due;
  };
  struct Receiving {
    RmppReceiver receiver;
    Umad umad;
    Clock::time_point due, last;
  };

  static void send(int fd, Umad umad, const Packet& packet) {
    umad.status = umad.timeout_ms = umad.retries = 0;
    umad.length = 0;
    std::array<std::uint8_t, sizeof(Umad) + packet_size> bytes{};
    std::memcpy(bytes.data(), &umad, sizeof umad);
    std::memcpy(bytes.data() + sizeof umad, packet.data(), packet_size);
    real_write(fd, bytes.data(), bytes.size());
  }

  void send_segments(std::map<Key, Sending>::iterator place) {
    Sending& sending = place->second;
    unsigned burst = 0;
    for (Packet packet{}; sending.sender.next(packet); sending.due = Clock::now() + response_time) {
      if (++burst % window == 0) std::this_thread::sleep_for(100us);
      send(place->first.fd, sending.umad, packet);
    }
    if (sending.sender.state() != RmppState::active) sending_.erase(place);
  }

  /// Reads what there is, if anything, and either deals with it or puts it by for the program.
  bool read_one(int fd) {
    Message message(sizeof(Umad) + packet_size);
    const ssize_t got = real_read(fd, message.data(), message.size());
    if (got < 0) return false;
    message.resize(static_cast<std::size_t>(got));
    mend(message);
    if (message.size() <= sizeof(Umad)) {
      ready_[fd].push_back(std::move(message));
    } else if (!is_for_another(fd, Bytes(message).subspan(sizeof(Umad))) && !take(fd, message)) {
      ready_[fd].push_back(std::move(message));
    }
    return true;
  }

  /// Whether a MAD is an answer to a program that has ended and used the same port. The kernel passes on only answers to requests of the
  /// program.
  bool is_for_another(int fd, Bytes mad) const {
    return is_response(mad) && agents_.contains({fd, mad[1]}) && !asked_.contains(tid_of(mad));
  }

  /// True for a packet of the protocol that the program must not see.
  bool take(int fd, const Message& message) {
    const Bytes mad = Bytes(message).subspan(sizeof(Umad));
    if (!RmppView::is_active(mad) || RmppView(mad).type() == ib::rmpp::Type::none || !agents_.contains({fd, mad[1]})) return false;
    Umad umad{};
    std::memcpy(&umad, message.data(), sizeof umad);
    const Key key = key_of(fd, umad, mad);
    if (umad.status != 0) {
      // It was sent from here and came back, because it reached no agent. It does not show its destination. The rest of its segments is not
      // needed either.
      if (RmppView(mad).type() == ib::rmpp::Type::data)
        std::erase_if(sending_, [&](const auto& entry) { return entry.first.fd == fd && entry.first.tid == key.tid; });
    } else if (RmppView(mad).type() == ib::rmpp::Type::data) {
      take_data(key, umad, mad);
    } else if (const auto sending = sending_.find(key); sending != sending_.end()) {
      sending->second.sender.take(mad);
      send_segments(sending);
    } else if (const auto receiving = receiving_.find(key); receiving != receiving_.end()) {
      receiving->second.receiver.take(mad);
    }
    return true;
  }

  void take_data(const Key& key, const Umad& umad, Bytes mad) {
    const auto fresh = [&] {
      return Receiving{RmppReceiver(key.mgmt_class, {.window = window, .longest = ib::mad::rmpp_longest}), umad, {}, {}};
    };
    auto place = receiving_.find(key);
    if (place == receiving_.end()) place = receiving_.emplace(key, fresh()).first;
    Receiving& receiving = place->second;
    const RmppState before = receiving.receiver.state();
    receiving.receiver.take(mad);
    receiving.last = Clock::now();
    send_acks(place);
    if (before != RmppState::active || receiving.receiver.state() != RmppState::done) return;
    Message whole(sizeof(Umad));
    Umad header = umad;
    const std::vector<std::uint8_t> bytes = receiving.receiver.release();
    header.length = static_cast<std::uint32_t>(sizeof(Umad) + bytes.size());
    std::memcpy(whole.data(), &header, sizeof header);
    whole.insert(whole.end(), bytes.begin(), bytes.end());
    ready_[key.fd].push_back(std::move(whole));
  }

  void send_acks(std::map<Key, Receiving>::iterator place) {
    Packet packet{};
    while (place->second.receiver.next(packet)) send(place->first.fd, place->second.umad, packet);
    place->second.due = Clock::now() + response_time;
  }

  void expire() {
    const auto now = Clock::now();
    for (auto i = sending_.begin(); i != sending_.end();) {
      const auto place = i++;
      if (place->second.due > now) continue;
      place->second.sender.timed_out();
      send_segments(place);
    }
    for (auto i = receiving_.begin(); i != receiving_.end();) {
      const auto place = i++;
      if (now - place->second.last > silence) {
        receiving_.erase(place);
      } else if (place->second.due <= now && place->second.receiver.state() == RmppState::active) {
        place->second.receiver.repeat_ack();
        send_acks(place);
      }
    }
  }

  std::mutex mutex_;
  std::set<std::pair<int, std::uint8_t>> agents_;  // descriptor and class of those with rmpp_version 1
  std::set<std::uint32_t> asked_;                  // transaction IDs of their requests
  std::map<Key, Sending> sending_;
  std::map<Key, Receiving> receiving_;
  std::map<int, std::deque<Message>> ready_;  // by descriptor; what the program may read
};

Kernel& kernel() {
  static auto* const the_kernel = new Kernel;  // never destroyed: threads may outlive the program's statics
  return *the_kernel;
}

}  // namespace

extern "C" __attribute__((visibility("default"))) ssize_t write(int fd, const void* buffer, std::size_t count) {
  if (!is_umad(fd) || count < sizeof(Umad)) return real_write(fd, buffer, count);
  return kernel().write(fd, static_cast<const std::uint8_t*>(buffer), count);
}

extern "C" __attribute__((visibility("default"))) ssize_t read(int fd, void* buffer, std::size_t count) {
  if (!is_umad(fd) || count < sizeof(Umad)) return real_read(fd, buffer, count);
  return kernel().read(fd, buffer, count);
}

extern "C" __attribute__((visibility("default"))) int close(int fd) {
  static const auto real_close = next<int (*)(int)>("close");
  if (is_umad(fd)) note_closed(fd);
  return real_close(fd);
}

#if !defined(__clang__)
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"  // the C library declares that poll() only writes to `fds`
#endif
extern "C" __attribute__((visibility("default"))) int poll(pollfd* fds, nfds_t count, int timeout) {
  if (count != 1 || !is_umad(fds->fd)) return real_poll(fds, count, timeout);
  return kernel().poll(fds, timeout);
}

extern "C" __attribute__((visibility("default"))) int ioctl(int fd, unsigned long request, ...) noexcept {
  va_list arguments;
  va_start(arguments, request);
  void* argument = va_arg(arguments, void*);
  va_end(arguments);
  const int result = real_ioctl(fd, request, argument);
  if (result == 0 && is_umad(fd) && request == IB_USER_MAD_REGISTER_AGENT)
    kernel().registered(fd, *static_cast<const ib_user_mad_reg_req*>(argument));
  return result;
}
