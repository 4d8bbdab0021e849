// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// What the typed, generated code makes of some bytes, in a form that a test can compare with other sources.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "base/bytes.hpp"
#include "iba/types.hpp"

namespace ibtest {

/// A number, or the bytes of what is no number.
using Plain = std::variant<std::uint64_t, std::vector<std::uint8_t>>;
using Values = std::vector<std::pair<std::string, Plain>>;

struct Typed {
  Values values;                    ///< each scalar element with its path in IBA names
  std::vector<std::uint8_t> bytes;  ///< packed again
  bool same = false;                ///< unpacking those gives an equal value
};

struct Entry {
  const char* name;
  Typed (*make)(ib::Bytes);
};

/// All structures, in the order of ib::all_structs().
std::span<const Entry> entries();

template <class T>
Plain plain(const T& v) {
  if constexpr (std::is_same_v<T, ib::Gid>) {
    return std::vector<std::uint8_t>(v.bytes.begin(), v.bytes.end());
  } else if constexpr (std::is_same_v<T, ib::Guid> || std::is_same_v<T, ib::Lid> || std::is_same_v<T, ib::GidPrefix>) {
    return std::uint64_t{v.value};
  } else if constexpr (std::is_integral_v<T> || std::is_enum_v<T>) {
    return static_cast<std::uint64_t>(v);
  } else {
    return std::vector<std::uint8_t>(v.begin(), v.end());
  }
}

}  // namespace ibtest
