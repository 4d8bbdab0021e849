// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Decides which request may be sent, and keeps the room that sent requests occupy: in the window of SMPs or of GMPs, and at one SMA. SMPs
// and GMPs have separate windows: other agents answer them, through other buffers, in other times.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <unordered_map>

#include "async/clock.hpp"
#include "base/list.hpp"
#include "mad/channel/channel.hpp"
#include "mad/rmpp/rmpp.hpp"
#include "mad/rpc/responder.hpp"

namespace ib::mad {

class RpcCall;
class RpcTry;

/// The greatest numbers of requests in flight at once.
struct RpcLimits {
  unsigned smps = 32;                        ///< from this port (VL15 has no flow control)
  unsigned smps_per_node = 4;                ///< to one SMA
  unsigned gmps = 128;                       ///< from this port
  std::size_t segment_bytes = rmpp_longest;  ///< of all answers in segments together
  /// The limits for the option -o N.
  static RpcLimits outstanding(unsigned n) { return {.smps = n, .smps_per_node = n < 4 ? n : 4, .gmps = n}; }
};

/// The number of requests of one kind that may be in flight at once. VL15 has no flow control, so a burst of SMPs that exceeds the buffers
/// of the SMAs on the path is lost. Nothing announces the size of these buffers, so the window finds it, by slow start and additive
/// increase in units of requests, as in TCP (RFC 5681). It grows with every answer: by one request up to the size at the last loss, more
/// slowly beyond. It halves on a loss, at most once for the requests of one window.
class Window {
 public:
  /// The window never exceeds `ceiling` (≥ 1). It also never falls below an eighth of `ceiling`, so that dead ports do not
  /// serialise a sweep.
  explicit Window(unsigned ceiling) : ceiling_(std::max(1U, ceiling)) {}

  unsigned size() const { return static_cast<unsigned>(size_); }
  unsigned in_flight() const { return in_flight_; }
  bool open() const { return in_flight_ < size(); }
  void enter() { ++in_flight_; }
  void leave() { --in_flight_; }

  void answered() {
    if (2 * in_flight_ < size()) return;  // the window was not full, so this answer does not prove that it may grow
    size_ = std::min(ceiling_, size_ + (size_ < threshold_ ? 1 : 1 / size_));
  }
  /// A request that was sent at `sent_at` got lost.
  void lost(async::Time sent_at, async::Time now) {
    if (sent_at <= last_halving_) return;  // sent before the last halving could have an effect
    last_halving_ = now;
    size_ = threshold_ = std::max(floor_, size_ / 2);
  }

 private:
  double ceiling_;
  double floor_ = std::max(1.0, ceiling_ / 8);
  double size_ = std::min(8.0, ceiling_);
  double threshold_ = ceiling_;
  unsigned in_flight_ = 0;
  async::Time last_halving_ = async::Time::min();
};

/// The requests that wait to be sent, and the windows.
class RequestQueue {
 public:
  using Waiting = List<RpcCall, RequestQueue>;
  /// The requests to one SMA that are in flight, and those that wait because there are too many.
  struct Node {
    unsigned in_flight{};
    Waiting waiting;
  };
  using Nodes = std::unordered_map<std::uint64_t, Node>;
  /// A process that empties buffers of this host is not expected to be stopped for longer.
  static constexpr async::Duration longest_stop = std::chrono::milliseconds(20);

  /// `most` is Channel::max_in_flight().
  RequestQueue(const RpcLimits& limits, unsigned most);

  /// Adds a request; at the front for a retry, because the call has waited for its turn before.
  void push(RpcCall& call, bool front);
  /// Removes and returns the next request that may be sent, or null. One whose node has too many requests or is suspected waits for the
  /// node.
  RpcCall* next(bool smp);
  /// Removes a request unsent. Returns whether another one that waited for the same node has entered the queue.
  bool remove(RpcCall& call);

  /// `attempt` is sent and takes its room.
  void enter(RpcTry& attempt);
  void leave_window(RpcTry& attempt);
  /// `attempt` gives its room back. The next request that waits for the node enters the queue.
  void leave(RpcTry& attempt);
  void answered(const RpcTry& attempt);
  void lost(const RpcTry& attempt, async::Time now);
  /// Whether a request that has no answer for many round trips may still be in buffers. A channel with a max_in_flight() has buffers of its
  /// own to protect, and the process that empties them may be stopped for a while. It empties them in order: an answer to a later request
  /// shows that it runs.
  bool may_be_in_buffers(const RpcTry& attempt, async::Time now) const;

  Window& window(bool smp) { return lane(smp).window; }
  const Window& window(bool smp) const { return lanes_[smp ? 1 : 0].window; }

 private:
  struct Lane {
    Window window;
    Waiting queue{};
    async::Time newest_answered{};  ///< when the latest try that was answered had been sent
  };
  Lane& lane(bool smp) { return lanes_[smp ? 1 : 0]; }
  bool may_send(RpcCall& call);

  unsigned most_per_node_;
  bool has_buffers_;
  std::array<Lane, 2> lanes_;  // of GMPs, of SMPs
  Nodes nodes_;
};

/// The pause after try `tries`, counted from 1. A lost try itself took a long time, so its pause only spreads bursts.
Duration delay_after(unsigned tries, bool busy);

/// The round trips of an engine: of SMPs, of GMPs, and of queries of the SA, which is one program for all.
class Patience {
 public:
  /// A try of `mgmt_class` was answered after `took`.
  void measure(std::uint8_t mgmt_class, Duration took) { smooth(round_trips_.at(agent_of(mgmt_class)), took, 8); }
  /// A segment came `took` after the ACK before it.
  void measure_ack(Duration took) { smooth(acks_, took, 8); }

  /// The time after which a request leaves the window. A request without an answer for many round trips is no longer in the
  /// buffers that the window protects: it was lost, or its node is slow. Otherwise a few dead ports would delay a whole sweep.
  Duration stale_after(std::uint8_t mgmt_class) const;
  /// The time after which the try that `call` has just sent counts as lost. MADs are unreliable datagrams. Most MADs without an answer for
  /// many round trips are lost, and a sweep that waits the whole timeout for each of them waits so at each level. The first two tries of a
  /// read are therefore repeated early. This does no harm to a slow node: its answer to an earlier try counts, and later tries have the
  /// whole timeout. A timeout that the user gave applies to every try. The SA has many clients: its requests are repeated less early, and
  /// only after its first answer. Requests of unknown classes with RMPP are not repeated early.
  Duration for_answer(const RpcCall& call) const;
  /// The time after which the last ACK, which was repeated `repeats` times, is repeated, if no segment comes. `sure` is a time after which
  /// even a slow sender has sent. It doubles, because the timers of some senders start again with every ACK.
  Duration for_segment(unsigned repeats, Duration sure) const;

 private:
  static std::size_t agent_of(std::uint8_t mgmt_class) { return is_smp(mgmt_class) ? 0 : mgmt_class == mgmt_class::sa ? 1 : 2; }

  std::array<Duration, 3> round_trips_{};  // of SMPs, of the SA, of other GMPs; zero before the first answer
  Duration acks_{};
};

}  // namespace ib::mad
