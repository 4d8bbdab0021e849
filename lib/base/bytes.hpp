// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Byte views and big-endian access. All integers on the InfiniBand wire are big-endian (IBA 1.5). Packet code needs no other
// integer readers and writers.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>

namespace ib {

using Bytes = std::span<const std::uint8_t>;
using MutableBytes = std::span<std::uint8_t>;

/// The bytes of a text, and the text that bytes are.
inline Bytes as_bytes(std::string_view text) { return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()}; }
inline std::string_view as_text(Bytes bytes) { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }

/// Whether all bytes are zero.
constexpr bool is_zero(Bytes bytes) {
  return std::ranges::all_of(bytes, [](std::uint8_t byte) { return byte == 0; });
}

/// Element by element, as `<` of two vectors. That operator compares only the first bytes of unsigned integers on big-endian machines with
/// the library of g++ 12.
struct SequenceLess {
  template <class Sequence>
  bool operator()(const Sequence& a, const Sequence& b) const {
    return std::lexicographical_compare(a.begin(), a.end(), b.begin(), b.end());
  }
};

/// Reads `N` ≤ 8 big-endian bytes at `p`, which must be readable. Without a loop, because compilers make one instruction of it then.
template <std::size_t N>
constexpr std::uint64_t load_bytes(const std::uint8_t* p) {
  return [p]<std::size_t... At>(std::index_sequence<At...>) { return ((std::uint64_t{p[At]} << 8 * (N - 1 - At)) | ...); }
  (std::make_index_sequence<N>());
}

/// Writes the low `N` ≤ 8 bytes of `value` big-endian at `p`, which must be writable.
template <std::size_t N>
constexpr void store_bytes(std::uint8_t* p, std::uint64_t value) {
  [ p, value ]<std::size_t... At>(std::index_sequence<At...>) { ((p[At] = static_cast<std::uint8_t>(value >> 8 * (N - 1 - At))), ...); }
  (std::make_index_sequence<N>());
}

/// Reads the big-endian unsigned integer at `p`. The caller guarantees sizeof(T) readable bytes.
template <std::unsigned_integral T>
constexpr T load_be(const std::uint8_t* p) {
  return static_cast<T>(load_bytes<sizeof(T)>(p));
}

/// Writes `value` big-endian at `p`. The caller guarantees sizeof(T) writable bytes.
template <std::unsigned_integral T>
constexpr void store_be(std::uint8_t* p, T value) {
  store_bytes<sizeof(T)>(p, value);
}

}  // namespace ib
