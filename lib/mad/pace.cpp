// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "mad/pace.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

namespace ib::mad {
namespace {

constexpr std::chrono::milliseconds burst{5};  // timers are not finer than that on a busy loop

}  // namespace

Pace::Pace(async::Loop& loop, unsigned per_second, std::function<std::uint64_t()> sent)
    : loop_(loop), period_(async::Duration(std::chrono::seconds(1)) / std::max(per_second, 1U)), sent_(std::move(sent)), turns_(sent_()) {}

Task<> Pace::turn(Urgency urgency) {
  const std::uint64_t sent = sent_(), beside = sent - std::min(sent, turns_);
  turns_ += beside + 1;
  next_ = std::max(next_, loop_.now() - burst) + period_ * static_cast<async::Duration::rep>(beside);
  const bool is_urgent = urgency == Urgency::urgent;
  const async::Time mine = is_urgent ? std::max(next_urgent_, loop_.now() - burst) : next_;
  const async::Duration delay = delay_;
  next_ += period_;
  if (is_urgent) {
    next_urgent_ = mine + period_;
    delay_ += period_;
  }
  // A usual turn comes later by the urgent turns that were given since.
  const auto due = [&] { return is_urgent ? mine : mine + (delay_ - delay); };
  while (due() > loop_.now()) co_await loop_.sleep_for(due() - loop_.now());
}

Task<Result<Reply>> PacedTransactor::try_call(const Request& request) {
  return pace_ == nullptr ? below_.try_call(request) : call_in_turn(request);
}

Task<Result<Reply>> PacedTransactor::call_in_turn(const Request& request) {
  co_await pace_->turn(urgency_);
  co_return co_await below_.try_call(request);
}

}  // namespace ib::mad
