// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "mad/rpc/try_table.hpp"

#include <random>

#include "mad/rpc/call.hpp"

namespace ib::mad {

TryTable::TryTable(const Channel& channel) : channel_(channel), slots_(64) {
  std::random_device random;
  first_tid_ = tid_ = std::uint64_t{random()} << 32 | random();
}
TryTable::~TryTable() = default;

RpcTry& TryTable::add(Rpc& rpc) {
  if (free_.empty()) free_.push_back(all_.emplace_back(std::make_unique<RpcTry>(rpc)).get());
  if (2 * all_.size() > slots_.size()) {
    std::vector<RpcTry*> old(slots_.size() * 2);
    old.swap(slots_);
    for (RpcTry* attempt : old) {
      if (attempt != nullptr) slot(attempt->tid) = attempt;
    }
  }
  RpcTry& made = *free_.back();
  free_.pop_back();
  do {
    ++tid_;
  } while ((tid_ & 0xffffffffU) == 0 || slot(tid_) != nullptr);
  made.tid = tid_ & channel_.tid_mask();
  slot(tid_) = &made;
  return made;
}

void TryTable::remove(RpcTry& attempt) {
  slot(attempt.tid) = nullptr;
  free_.push_back(&attempt);
}

RpcTry* TryTable::find(Bytes mad) const {
  const HeaderView header(mad);
  RpcTry* const found = slots_[header.transaction_id() & (slots_.size() - 1)];
  const bool is_it = found != nullptr && ((found->tid ^ header.transaction_id()) & channel_.tid_mask()) == 0;
  return is_it && found->mgmt_class == header.mgmt_class() ? found : nullptr;
}

bool TryTable::is_late(Bytes mad) const {
  const std::uint64_t tid = HeaderView(mad).transaction_id(), age = (tid - first_tid_) & channel_.tid_mask() & 0xffffffffU;
  const RpcTry* const open = slots_[tid & (slots_.size() - 1)];
  const bool is_open = open != nullptr && ((open->tid ^ tid) & 0xffffffffU) == 0;
  return age != 0 && age <= tid_ - first_tid_ && !is_open;
}

}  // namespace ib::mad
