// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The containers of a model: an array that grows in place, and an index of GUIDs.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>
#include <type_traits>
#include <utility>
#include <vector>

#include "iba/types.hpp"

namespace ib::subnet {

template <class T>
class GrowingArray {
  static_assert(std::is_trivially_copyable_v<T> && alignof(T) <= alignof(std::max_align_t), "realloc() moves bytes");

 public:
  GrowingArray() = default;
  GrowingArray(const GrowingArray& other) {
    reserve(other.size_);
    std::uninitialized_copy_n(other.data_, other.size_, data_);
    size_ = other.size_;
  }
  GrowingArray(GrowingArray&& other) noexcept { swap(other); }
  GrowingArray& operator=(GrowingArray other) noexcept {
    swap(other);
    return *this;
  }
  ~GrowingArray() { std::free(data_); }

  std::size_t size() const { return size_; }
  T* data() { return data_; }
  const T* data() const { return data_; }
  const T* begin() const { return data_; }
  const T* end() const { return data_ + size_; }
  T& operator[](std::size_t at) { return data_[at]; }
  const T& operator[](std::size_t at) const { return data_[at]; }

  /// Reserves room for `count` elements. Throws std::bad_alloc, as grow() and emplace_back() do.
  void reserve(std::size_t count) {
    if (count <= capacity_) return;
    void* const data = count > static_cast<std::size_t>(-1) / sizeof(T) ? nullptr : std::realloc(data_, count * sizeof(T));
    if (data == nullptr) throw std::bad_alloc();
    data_ = static_cast<T*>(data);
    capacity_ = count;
  }
  /// Adds `count` elements, each made by T(). Invalidates references to elements.
  void grow(std::size_t count) {
    if (size_ + count > capacity_) reserve(std::max(size_ + count, 2 * capacity_));
    std::uninitialized_value_construct_n(data_ + size_, count);
    size_ += count;
  }
  T& emplace_back() {
    grow(1);
    return data_[size_ - 1];
  }

 private:
  void swap(GrowingArray& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    std::swap(capacity_, other.capacity_);
  }

  T* data_{};
  std::size_t size_{}, capacity_{};
};

// A map from GUID to a 32-bit number in one flat table with linear probing. A sweep looks up a GUID for every MAD, and a
// node-based map for 50,000 nodes would use more memory than the nodes themselves.

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
