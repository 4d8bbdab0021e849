// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Byte views and big-endian access. All integers on the InfiniBand wire are big-endian (IBA 1.5). Packet code needs no other
// integer readers and writers.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>

namespace ib {

using Bytes = std::span<const std::uint8_t>;
using MutableBytes = std::span<std::uint8_t>;

/// Whether all bytes are zero.
constexpr bool is_zero(Bytes bytes) {
  return std::ranges::all_of(bytes, [](std::uint8_t byte) { return byte == 0; });
}

/// Reads the big-endian unsigned integer at `p`. The caller guarantees sizeof(T) readable bytes.
template <std::unsigned_integral T>
constexpr T load_be(const std::uint8_t* p) {
  T value = 0;
  for (std::size_t i = 0; i < sizeof(T); ++i) value = static_cast<T>(static_cast<T>(value << (sizeof(T) > 1 ? 8 : 0)) | p[i]);
  return value;
}

/// Writes `value` big-endian at `p`. The caller guarantees sizeof(T) writable bytes.
template <std::unsigned_integral T>
constexpr void store_be(std::uint8_t* p, T value) {
  for (std::size_t i = sizeof(T); i-- > 0;) {
    p[i] = static_cast<std::uint8_t>(value);
    if constexpr (sizeof(T) > 1) value = static_cast<T>(value >> 8);
  }
}

}  // namespace ib
