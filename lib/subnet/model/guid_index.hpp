// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// A map from GUID to a 32-bit number in one flat table with linear probing. A sweep looks up a GUID for every MAD, and a
// node-based map for 50,000 nodes would use more memory than the nodes themselves.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "iba/types.hpp"

namespace ib::subnet {

inline constexpr std::uint32_t none = 0xffffffffU;  ///< no such node, or no such port

class GuidIndex {
 public:
  /// Maps `guid` to `value` unless it has a value already. Returns the resulting value of `guid`.
  std::uint32_t insert(Guid guid, std::uint32_t value) {
    if ((used_ + 1) * 3 > slots_.size() * 2) grow();
    Slot& slot = slots_[place(guid)];
    if (slot.value == none) {
      slot = {guid, value};
      ++used_;
    }
    return slot.value;
  }

  /// The value of `guid`, or none.
  std::uint32_t find(Guid guid) const { return slots_.empty() ? none : slots_[place(guid)].value; }
  std::size_t size() const { return used_; }

 private:
  struct Slot {
    Guid guid;
    std::uint32_t value = none;
  };

  // GUIDs of one vendor differ in few bits. The multiplication spreads these bits over the upper bits.
  std::size_t place(Guid guid) const {
    std::size_t at = static_cast<std::size_t>((guid.value * 0x9e3779b97f4a7c15U) >> shift_);
    while (slots_[at].value != none && slots_[at].guid != guid) at = (at + 1) & (slots_.size() - 1);
    return at;
  }

  void grow() {
    std::vector<Slot> old(slots_.empty() ? 64 : slots_.size() * 2);
    shift_ = slots_.empty() ? 58 : shift_ - 1;
    old.swap(slots_);
    for (const Slot& slot : old) {
      if (slot.value != none) slots_[place(slot.guid)] = slot;
    }
  }

  std::vector<Slot> slots_;  // the size is a power of two
  std::size_t used_{};
  unsigned shift_{};  // 64 − log2 of the size
};

}  // namespace ib::subnet
