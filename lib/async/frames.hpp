// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Memory of coroutine frames. A request of a survey passes through several frames, which live for one round trip and are for the most part
// larger than what malloc keeps at hand. Freed frames are kept for the next frame of about their size; the memory of the most frames that
// lived at once is never given back.
//
// The lists of free frames are one of the few mutable globals of this project: a frame is made before it is known which loop will run it.
// All coroutines of a process therefore live in one thread. Under AddressSanitizer nothing is kept, so that a use after free is seen.
#pragma once

#include <array>
#include <cstddef>
#include <new>

namespace ib::async {

/// Whether freed frames are kept.
#if defined(__SANITIZE_ADDRESS__)
inline constexpr bool keeps_frames = false;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
inline constexpr bool keeps_frames = false;
#else
inline constexpr bool keeps_frames = true;
#endif
#else
inline constexpr bool keeps_frames = true;
#endif

namespace detail {

inline constexpr std::size_t frame_step = 64, largest_frame = 8192;  // bytes; larger frames are not kept

struct FreeFrame {
  FreeFrame* next;
};

/// Frames of (index + 1) * frame_step bytes.
inline constinit std::array<FreeFrame*, largest_frame / frame_step> free_frames{};

constexpr std::size_t list_of(std::size_t size) { return (size - 1) / frame_step; }

}  // namespace detail

/// Memory for a frame of `size` bytes, aligned as operator new does. Throws std::bad_alloc.
[[gnu::noinline]] inline void* allocate_frame(std::size_t size) {
  if (!keeps_frames || size > detail::largest_frame) return ::operator new(size);
  detail::FreeFrame*& first = detail::free_frames[detail::list_of(size)];
  if (first == nullptr) return ::operator new((detail::list_of(size) + 1) * detail::frame_step);
  detail::FreeFrame* const frame = first;
  first = frame->next;
  return frame;
}

/// Takes back what allocate_frame(size) gave.
[[gnu::noinline]] inline void free_frame(void* frame, std::size_t size) noexcept {
  if (!keeps_frames || size > detail::largest_frame) return ::operator delete(frame);  // clang 16 knows it without the size only
  detail::FreeFrame*& first = detail::free_frames[detail::list_of(size)];
  first = ::new (frame) detail::FreeFrame{first};
}

}  // namespace ib::async
