// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// What an Rpc reports about itself: its counters, and events for a Tracer, from which the messages of -d and -dd come. The engine
// formats nothing itself.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>
#include <utility>
#include <vector>

#include "mad/request.hpp"

namespace ib::mad {

/// Counters of the engine. Every sent MAD counts under exactly one reason.
struct Stats {
  std::vector<std::pair<Reason, std::uint64_t>> first_tries;  ///< by the reason of the request
  std::uint64_t retries_lost{};                               ///< sent again because no answer came in time
  std::uint64_t retries_busy{};                               ///< sent again because the node was busy
  std::uint64_t timeouts{};                                   ///< tries without an answer in time
  std::uint64_t request_segments{};                           ///< sent for requests in segments: all segments but the first,
                                                              ///< and the ACKs that turn a transfer around
  std::uint64_t segments{};                                   ///< received segments of answers
  std::uint64_t acks{};                                       ///< ACKs and ABORTs sent for these segments
  std::uint64_t replies{};                                    ///< answers that ended a call
  std::uint64_t late{};                                       ///< answers to calls that had ended
  std::uint64_t unexpected{};                                 ///< received MADs that answer no request of ours
  std::uint64_t invalid{};                                    ///< answers that contradict their request

  std::uint64_t sent() const {
    std::uint64_t total = retries_lost + retries_busy + request_segments + acks;
    for (const auto& [reason, count] : first_tries) total += count;
    return total;
  }
  void count_first_try(Reason reason) {
    for (auto& [name, count] : first_tries) {
      if (name.data() == reason.data() || name == reason) {
        ++count;
        return;
      }
    }
    first_tries.emplace_back(reason, 1);
  }
};

/// Receives the events of an Rpc. This one drops them.
class Tracer {
 public:
  virtual ~Tracer() = default;
  /// A call ended. `reply` is empty if none came.
  virtual void completed(Bytes /*request*/, const path::Path& /*path*/, Bytes /*reply*/) {}
  /// A request is about to be sent again.
  virtual void retried(Bytes /*request*/, const path::Path& /*path*/) {}
  /// A MAD came that no waiting call explains. `late`: it answers a request of ours whose call has ended.
  virtual void unexpected(Bytes /*mad*/, const path::Path& /*path*/, bool /*late*/) {}
  /// A packet of an RMPP transfer of the engine was received, or was sent.
  virtual void segment(Bytes /*mad*/, const path::Path& /*path*/, bool /*sent*/) {}
  virtual void requested(Bytes /*mad*/, const path::Path& /*path*/) {}
  /// A server has sent an answer.
  virtual void replied(Bytes /*mad*/, const path::Path& /*path*/) {}
};

/// Writes messages for a user who debugs. `detail` 1: one line for each call. `detail` 2: also the decoded requests and replies.
class LineTracer final : public Tracer {
 public:
  using Write = std::function<void(std::string_view text)>;  ///< takes one message: a line, or a line and the dump of a packet
  LineTracer(int detail, Write write, Keys keys = Keys::hidden) : detail_(detail), write_(std::move(write)), keys_(keys) {}
  void completed(Bytes request, const path::Path& path, Bytes reply) override;
  void retried(Bytes request, const path::Path& path) override;
  void unexpected(Bytes mad, const path::Path& path, bool late) override;
  void segment(Bytes mad, const path::Path& path, bool sent) override;
  void requested(Bytes mad, const path::Path& path) override;
  void replied(Bytes mad, const path::Path& path) override;

 private:
  void dump(std::string_view what, Bytes mad) const;

  int detail_;
  Write write_;
  Keys keys_;
};

}  // namespace ib::mad
