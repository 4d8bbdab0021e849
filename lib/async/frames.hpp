// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Memory of coroutine frames. A request of a survey passes through several frames, which live for one round trip and are for the most part
// larger than what malloc keeps at hand. Freed frames are kept for the next frame of about their size; the memory of the most frames that
// lived at once is never given back.
//
// The lists of free frames are one of the few mutable globals of this project: a frame is made before it is known which loop will run it.
// All coroutines of a process therefore live in one thread. Under AddressSanitizer nothing is kept, so that a use after free is seen.
#pragma once

#include <cstddef>

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

/// Memory for a frame of `size` bytes, aligned as operator new does. Throws std::bad_alloc.
void* allocate_frame(std::size_t size);
/// Takes back what allocate_frame(size) gave.
void free_frame(void* frame, std::size_t size) noexcept;

}  // namespace ib::async
