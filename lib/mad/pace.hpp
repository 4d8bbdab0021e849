// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// A limit of MADs a second, for programs that run for months beside other users of the fabric. A request waits for its turn before it is
// sent, so that its timeout begins when it is sent.
#pragma once

#include <cstdint>
#include <functional>

#include "async/loop.hpp"
#include "mad/transactor.hpp"

namespace ib::mad {

/// Gives turns to requests: a fixed number a second. MADs that were sent without a turn, for example the second tries of requests, use up
/// the following turns. Urgent requests go before all others that wait.
class Pace {
 public:
  /// `sent` returns the number of MADs sent so far. `loop` must outlive this object.
  Pace(async::Loop& loop, unsigned per_second, std::function<std::uint64_t()> sent);
  Pace(const Pace&) = delete;
  Pace& operator=(const Pace&) = delete;

  enum class Urgency : std::uint8_t { usual, urgent };
  /// Returns when another MAD may be sent.
  Task<> turn(Urgency urgency = Urgency::usual);

 private:
  async::Loop& loop_;
  async::Duration period_;
  std::function<std::uint64_t()> sent_;
  async::Time next_{}, next_urgent_{};  ///< when the next turn is
  async::Duration delay_{};             ///< of the usual turns by urgent ones, all together
  std::uint64_t turns_{};               ///< turns given, and MADs sent without a turn
};

/// A Transactor that passes each request on when its turn has come; without a Pace at once.
class PacedTransactor final : public Layer {
 public:
  /// `pace` may be null. Both must outlive this object.
  PacedTransactor(Transactor& below, Pace* pace, Pace::Urgency urgency = Pace::Urgency::usual)
      : Layer(below), pace_(pace), urgency_(urgency) {}
  Task<Result<Reply>> try_call(const Request& request) override;

 private:
  Task<Result<Reply>> call_in_turn(const Request& request);

  Pace* pace_;
  Pace::Urgency urgency_;
};

}  // namespace ib::mad
