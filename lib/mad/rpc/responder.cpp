// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "mad/rpc/responder.hpp"

#include <algorithm>
#include <utility>

namespace ib::mad {

void Responder::hold(Asker& asker) {
  asker.unlink();
  held_.push_back(asker);
}

void Responder::leave(Asker& asker) {
  asker.unlink();
  if (alone_ != &asker) return;
  alone_ = held_.pop_front();
  if (alone_ == nullptr) return;
  asking_.push_back(*alone_);
  alone_->resume();
}

bool Responder::may_ask(Asker& asker) {
  if (std::exchange(wary_, false) && alone_ == nullptr) alone_ = &asker;
  if (alone_ == nullptr || alone_ == &asker) return true;
  hold(asker);
  return false;
}

void Responder::answered(std::uint64_t number) {
  last_answered_ = std::max(last_answered_, number);
  alone_ = nullptr;
  wary_ = false;
  while (Asker* asker = held_.pop_front()) {
    asking_.push_back(*asker);
    asker->resume();
  }
}

bool Responder::lost(Asker& asker, std::uint64_t number, bool optional) {
  if (alone_ == nullptr && !optional && last_answered_ < number) alone_ = &asker;
  if (alone_ == nullptr || alone_ == &asker) return false;
  hold(asker);
  return true;
}

void Responder::ran_out(Asker& asker, std::uint64_t first_try, std::uint64_t last_try) {
  if (last_answered_ > first_try && (last_answered_ > last_try || held_.empty())) return;
  silent_ = true;
  alone_ = nullptr;
  asker.unlink();
  for (auto* list : {&held_, &asking_}) {
    while (Asker* other = list->pop_front()) other->give_up();
  }
}

}  // namespace ib::mad
