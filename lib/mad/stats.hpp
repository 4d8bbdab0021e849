// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Counters of the RPC engine. Every sent MAD counts under exactly one reason.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "mad/request.hpp"

namespace ib::mad {

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

}  // namespace ib::mad
