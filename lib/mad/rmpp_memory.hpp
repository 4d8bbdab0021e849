// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The memory of all transfers that come in at one place: each takes its share as its segments arrive, and gives it back when it
// ends. So many senders together cost no more than one may.
#pragma once

#include <cstddef>
#include <utility>

#include "mad/rmpp.hpp"

namespace ib::mad {

class RmppMemory {
 public:
  explicit RmppMemory(std::size_t limit = rmpp_longest) : limit_(limit) {}
  RmppMemory(const RmppMemory&) = delete;
  RmppMemory& operator=(const RmppMemory&) = delete;

  std::size_t limit() const { return limit_; }
  std::size_t used() const { return used_; }

  /// What one transfer has of it. The memory must outlive its shares.
  class Share {
   public:
    /// Of `memory`, or where that is null of as much as there is.
    explicit Share(RmppMemory* memory) : memory_(memory) {}
    Share(Share&& other) noexcept : memory_(other.memory_), size_(std::exchange(other.size_, 0)) {}
    Share& operator=(Share&&) = delete;
    ~Share() { release(); }

    /// Makes the share `size` bytes, if it has fewer. False where that is more than there is; then nothing changes.
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
