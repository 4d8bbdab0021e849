// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// A Responder notices that a node falls silent. Code that sends many requests to one node keeps a Responder for the node and
// names it in each request. A silent node then costs only one chain of tries, however many requests wait for it:
//
//  - After a try is lost and no later try was answered, the node is suspected. Only the request of the lost try goes on; all
//    other requests are held.
//  - Any answer ends the suspicion, and the held requests go on.
//  - If the remaining request runs out of tries, the node is silent, and all other requests also end with MadTimeout.
//
// The order of tries is known by their numbers: the engine counts the tries that it sends.
// A Responder belongs to one path to a node. A node that gets requests by LID and by directed route has a Responder for each path.
#pragma once

#include <cstdint>

#include "async/clock.hpp"
#include "base/list.hpp"

namespace ib::mad {

/// Moves `time`, zero before the first measurement, towards `took` by one part of `parts`.
inline void smooth(async::Duration& time, async::Duration took, int parts) {
  time = time == async::Duration::zero() ? took : time + (took - time) / parts;
}

class RpcCall;

/// Tracks whether one node, on one path, still answers.
class Responder {
 public:
  Responder() = default;
  Responder(const Responder&) = delete;
  Responder& operator=(const Responder&) = delete;

  /// Whether the node is silent. Requests to a silent node end at once and are not sent.
  bool is_silent() const { return silent_; }
  /// Lets requests be sent to the node again.
  void give_another_chance() { silent_ = false; }
  /// The node does not answer on another path. Only one of the next requests is therefore sent at first.
  void suspect() { wary_ = true; }

  // The functions below are for the engine.
  void join(RpcCall& call);
  /// `call` has ended. If it was the one request that went on during a suspicion, a held request takes its place.
  void leave(RpcCall& call);
  /// Whether a try of `call` may be sent. If not, `call` is held.
  bool may_try(RpcCall& call);
  bool is_suspected() const { return alone_ != nullptr; }
  void answered(std::uint64_t number);
  /// A try was answered after `took`.
  void measure(async::Duration took) { smooth(rtt_, took, 4); }
  /// The smoothed time that the node takes to answer; zero before its first answer.
  async::Duration rtt() const { return rtt_; }
  /// The try `number` of `call` was lost. Returns true if `call` is now held. With `optional`, a missing answer proves
  /// nothing and raises no suspicion.
  bool lost(RpcCall& call, std::uint64_t number, bool optional);
  /// `call`, which is not optional, has no tries left. The node becomes silent if no try after the first one of `call` was
  /// answered, or if no try after its last one was answered and other requests are held. All other requests then end.
  void ran_out(RpcCall& call, std::uint64_t first_try, std::uint64_t last_try);

 private:
  void hold(RpcCall& call);

  List<RpcCall, Responder> running_, held_;
  RpcCall* alone_{};               // the request that goes on while the node is suspected
  std::uint64_t last_answered_{};  // the highest number of an answered try
  async::Duration rtt_{};
  bool wary_{}, silent_{};
};

}  // namespace ib::mad
