// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Finds a sent MAD by its transaction ID. IDs are assigned in sequence: their multiples of the golden ratio lie far apart, so that probing
// ends at once. The low bits would be one long run, through which each removal has to go.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace ib::mad {

template <class T>
class TidTable {
 public:
  TidTable() : slots_(64) {}

  T* find(std::uint32_t tid) const {
    for (std::size_t i = home(tid);; i = next(i)) {
      const Slot& slot = slots_[i];
      if (slot.value == nullptr) return nullptr;
      if (slot.tid == tid) return slot.value;
    }
  }
  /// `tid` must not be in the table.
  void insert(std::uint32_t tid, T& value) {
    if (2 * ++count_ > slots_.size()) grow();
    place(tid, &value);
  }
  void erase(std::uint32_t tid) {
    std::size_t hole = home(tid);
    while (slots_[hole].value != nullptr && slots_[hole].tid != tid) hole = next(hole);
    if (slots_[hole].value == nullptr) return;
    --count_;
    // Close the gap: move back every entry that could not be found past an empty slot.
    for (std::size_t i = next(hole); slots_[i].value != nullptr; i = next(i)) {
      const std::size_t wanted = home(slots_[i].tid);
      if (distance(wanted, i) >= distance(hole, i)) {
        slots_[hole] = slots_[i];
        hole = i;
      }
    }
    slots_[hole].value = nullptr;
  }
  std::size_t size() const { return count_; }

 private:
  struct Slot {
    T* value{};
    std::uint32_t tid{};
  };
  std::size_t home(std::uint32_t tid) const { return (tid * 0x9e3779b9U) >> (32 - std::countr_zero(slots_.size())); }
  std::size_t next(std::size_t i) const { return (i + 1) & (slots_.size() - 1); }
  std::size_t distance(std::size_t from, std::size_t to) const { return (to - from) & (slots_.size() - 1); }
  void place(std::uint32_t tid, T* value) {
    std::size_t i = home(tid);
    while (slots_[i].value != nullptr) i = next(i);
    slots_[i] = {value, tid};
  }
  void grow() {
    std::vector<Slot> old(slots_.size() * 2);
    old.swap(slots_);
    for (const Slot& slot : old) {
      if (slot.value != nullptr) place(slot.tid, slot.value);
    }
  }

  std::vector<Slot> slots_;  // the size is a power of two
  std::size_t count_ = 0;
};

}  // namespace ib::mad
