// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// A limit for the memory of all incoming transfers together. Each transfer takes its share as its segments arrive, and returns
// it at its end. Many transfers together therefore never use more than one transfer may.
#pragma once

#include <cstddef>
#include <utility>

#include "mad/rmpp/rmpp.hpp"

namespace ib::mad {

/// The number of bytes that transfers may use together. Allocates nothing itself.
class RmppMemory {
 public:
  explicit RmppMemory(std::size_t limit = rmpp_longest) : limit_(limit) {}
  RmppMemory(const RmppMemory&) = delete;
  RmppMemory& operator=(const RmppMemory&) = delete;

  std::size_t limit() const { return limit_; }
  std::size_t used() const { return used_; }

  /// The share of one transfer. The RmppMemory must outlive its shares.
  class Share {
   public:
    /// An empty share of `memory`. Null means no limit.
    explicit Share(RmppMemory* memory) : memory_(memory) {}
    Share(Share&& other) noexcept : memory_(other.memory_), size_(std::exchange(other.size_, 0)) {}
    Share& operator=(Share&&) = delete;
    ~Share() { release(); }

    /// Grows the share to `size` bytes if it is smaller. If that exceeds the limit, returns false and changes nothing.
    bool grow(std::size_t size) {
      if (memory_ == nullptr || size <= size_) return true;
      if (size - size_ > memory_->limit_ - memory_->used_) return false;
      memory_->used_ += size - size_;
      size_ = size;
      return true;
    }
    void release() {
      if (memory_ != nullptr) memory_->used_ -= std::exchange(size_, 0);
    }

   private:
    RmppMemory* memory_;
    std::size_t size_ = 0;
  };

 private:
  const std::size_t limit_;
  std::size_t used_ = 0;
};

}  // namespace ib::mad
