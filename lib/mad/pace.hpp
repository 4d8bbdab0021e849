// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// A limit of MADs a second, for programs that send for months beside everybody else. Requests wait for their turn before they are sent, so
// that their time-outs begin when they leave.
#pragma once

#include <cstdint>
#include <functional>

#include "async/loop.hpp"
#include "mad/transactor.hpp"

namespace ib::mad {

/// Gives turns to requests: so many a second. What was sent beside turns, the second tries of requests for instance, takes the turns that
/// come next.
class Pace {
 public:
  /// `sent` tells how many MADs have been sent so far. `loop` must outlive this object.
  Pace(async::Loop& loop, unsigned per_second, std::function<std::uint64_t()> sent);
  Pace(const Pace&) = delete;
  Pace& operator=(const Pace&) = delete;

  /// Returns when another MAD may be sent.
  Task<> turn();

 private:
  async::Loop& loop_;
  async::Duration period_;
  std::function<std::uint64_t()> sent_;
  async::Time next_{};     ///< when the next turn is
  std::uint64_t turns_{};  ///< that were given, and what was sent beside them
};

/// Sends what it is given when its turn has come.
class PacedTransactor final : public Transactor {
 public:
  /// Both must outlive this object.
  PacedTransactor(Transactor& below, Pace& pace);
  Task<Result<Reply>> try_call(const Request& request) override;

 private:
  Transactor& below_;
  Pace& pace_;
};

}  // namespace ib::mad
