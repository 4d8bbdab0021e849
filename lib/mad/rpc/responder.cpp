// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB

#include <algorithm>
#include <utility>

#include "mad/rpc/call.hpp"

namespace ib::mad {

void Responder::hold(RpcCall& call) {
  call.ListHook<Responder>::unlink();
  held_.push_back(call);
}

void Responder::join(RpcCall& call) { running_.push_back(call); }

void Responder::leave(RpcCall& call) {
  call.ListHook<Responder>::unlink();
  if (alone_ != &call) return;
  alone_ = held_.pop_front();
  if (alone_ == nullptr) return;
  running_.push_back(*alone_);
  alone_->resume();
}

bool Responder::may_try(RpcCall& call) {
  if (std::exchange(wary_, false) && alone_ == nullptr) alone_ = &call;
  if (alone_ == nullptr || alone_ == &call) return true;
  hold(call);
  return false;
}

void Responder::answered(std::uint64_t number) {
  last_answered_ = std::max(last_answered_, number);
  alone_ = nullptr;
  wary_ = false;
  while (RpcCall* held = held_.pop_front()) {
    running_.push_back(*held);
    held->resume();
  }
}

bool Responder::lost(RpcCall& call, std::uint64_t number, bool optional) {
  if (alone_ == nullptr && !optional && last_answered_ < number) alone_ = &call;
  if (alone_ == nullptr || alone_ == &call) return false;
  hold(call);
  return true;
}

void Responder::ran_out(RpcCall& call, std::uint64_t first_try, std::uint64_t last_try) {
  if (last_answered_ > first_try && (last_answered_ > last_try || held_.empty())) return;
  silent_ = true;
  alone_ = nullptr;
  call.ListHook<Responder>::unlink();
  for (auto* list : {&held_, &running_}) {
    while (RpcCall* other = list->pop_front()) other->give_up();
  }
}

}  // namespace ib::mad
