// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "mad/rpc/responder.hpp"

#include <algorithm>
#include <utility>

namespace ib::mad {

void Responder::hold(Requester& requester) {
  requester.unlink();
  held_.push_back(requester);
}

void Responder::leave(Requester& requester) {
  requester.unlink();
  if (alone_ != &requester) return;
  alone_ = held_.pop_front();
  if (alone_ == nullptr) return;
  running_.push_back(*alone_);
  alone_->resume();
}

bool Responder::may_try(Requester& requester) {
  if (std::exchange(wary_, false) && alone_ == nullptr) alone_ = &requester;
  if (alone_ == nullptr || alone_ == &requester) return true;
  hold(requester);
  return false;
}

void Responder::answered(std::uint64_t number) {
  last_answered_ = std::max(last_answered_, number);
  alone_ = nullptr;
  wary_ = false;
  while (Requester* requester = held_.pop_front()) {
    running_.push_back(*requester);
    requester->resume();
  }
}

bool Responder::lost(Requester& requester, std::uint64_t number, bool optional) {
  if (alone_ == nullptr && !optional && last_answered_ < number) alone_ = &requester;
  if (alone_ == nullptr || alone_ == &requester) return false;
  hold(requester);
  return true;
}

void Responder::ran_out(Requester& requester, std::uint64_t first_try, std::uint64_t last_try) {
  if (last_answered_ > first_try && (last_answered_ > last_try || held_.empty())) return;
  silent_ = true;
  alone_ = nullptr;
  requester.unlink();
  for (auto* list : {&held_, &running_}) {
    while (Requester* other = list->pop_front()) other->give_up();
  }
}

}  // namespace ib::mad
