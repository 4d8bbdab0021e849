// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "async/frames.hpp"

#include <array>
#include <new>

namespace ib::async {
namespace {

constexpr std::size_t step = 64, largest = 8192;  // bytes; larger frames are not kept

struct FreeFrame {
  FreeFrame* next;
};

/// Frames of (index + 1) * step bytes.
constinit std::array<FreeFrame*, largest / step> free_frames{};

constexpr std::size_t list_of(std::size_t size) { return (size - 1) / step; }

}  // namespace

void* allocate_frame(std::size_t size) {
  if (!keeps_frames || size > largest) return ::operator new(size);
  FreeFrame*& first = free_frames[list_of(size)];
  if (first == nullptr) return ::operator new((list_of(size) + 1) * step);
  FreeFrame* const frame = first;
  first = frame->next;
  return frame;
}

void free_frame(void* frame, std::size_t size) noexcept {
  if (!keeps_frames || size > largest) return ::operator delete(frame);  // clang 16 knows it without the size only
  FreeFrame*& first = free_frames[list_of(size)];
  first = ::new (frame) FreeFrame{first};
}

}  // namespace ib::async
