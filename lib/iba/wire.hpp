// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Bit access to wire data in network order: bit 0 is the most significant bit of byte 0. The generated code uses the fixed-size
// functions of base/bytes.hpp; the generic view uses get_bits and set_bits.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/bytes.hpp"

namespace ib::wire {

/// Reads `width` (1…64) bits at bit `offset`. Bits past the end of `bytes` read as zero.
constexpr std::uint64_t get_bits(Bytes bytes, std::size_t offset, unsigned width) {
  if (offset % 8 + width <= 64 && offset / 8 + 8 <= bytes.size()) {
    return load_bytes<8>(&bytes[offset / 8]) << offset % 8 >> (64 - width);
  }
  std::uint64_t value = 0;
  while (width > 0) {
    const auto in_byte = static_cast<unsigned>(offset % 8);
    const unsigned take = std::min(8U - in_byte, width);
    const unsigned byte = offset / 8 < bytes.size() ? bytes[offset / 8] : 0U;
    value = value << take | (byte >> (8U - in_byte - take) & ((1U << take) - 1U));
    offset += take;
    width -= take;
  }
  return value;
}

/// Writes the low `width` (1…64) bits of `value` at bit `offset`. Higher bits of `value` are ignored, neighbouring bits stay,
/// and bits past the end of `bytes` are dropped.
constexpr void set_bits(MutableBytes bytes, std::size_t offset, unsigned width, std::uint64_t value) {
  for (std::size_t end = offset + width; width > 0;) {
    const unsigned last = static_cast<unsigned>((end - 1) % 8) + 1;  // bits of this byte up to `end`
    const unsigned take = std::min(last, width);
    const unsigned shift = 8U - last;
    const unsigned mask = ((1U << take) - 1U) << shift;
    if ((end - 1) / 8 < bytes.size()) {
      std::uint8_t& byte = bytes[(end - 1) / 8];
      byte = static_cast<std::uint8_t>((byte & ~mask) | (static_cast<unsigned>(value << shift) & mask));
    }
    value = take < 64 ? value >> take : 0;
    end -= take;
    width -= take;
  }
}

/// The bytes of a structure.
template <class T>
std::array<std::uint8_t, T::wire_size> packed(const T& value) {
  std::array<std::uint8_t, T::wire_size> bytes{};
  value.pack(bytes);
  return bytes;
}

/// The bytes of a structure, to be kept among the bytes of other structures.
template <class T>
std::vector<std::uint8_t> packed_vector(const T& value) {
  std::vector<std::uint8_t> bytes(T::wire_size);
  value.pack(bytes);
  return bytes;
}

/// Packs into a buffer that may be shorter than the structure. The rest of the structure is dropped.
template <class T>
void pack_short(const T& value, MutableBytes out) {
  const auto full = packed(value);
  std::copy_n(full.begin(), std::min(out.size(), full.size()), out.begin());
}

/// Unpacks from a buffer that may be shorter than the structure. Missing bytes count as zero.
template <class T>
T unpack_short(Bytes in) {
  std::array<std::uint8_t, T::wire_size> full{};
  std::copy_n(in.begin(), std::min(in.size(), full.size()), full.begin());
  return T::unpack(full);
}

}  // namespace ib::wire
